import FuzzSupport
import JSONText

@main enum Main {
  static func main() { runFuzzer(fuzzJSON) }
}

/// A text of any bytes is refused or read; what is read is written so that it is read the same again.
private func fuzzJSON(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  guard let value = try? JSONReader.value(of: bytes) else { return 0 }
  var written: [UInt8] = []
  value.append(to: &written)
  guard let again = try? JSONReader.value(of: written) else { fatalError("what was written can't be read") }
  precondition(again == value, "what was written is read as something else")
  return 0
}
