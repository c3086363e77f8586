import FuzzSupport
import JSONText

@main enum Main {
  static func main() { runFuzzer(fuzzJSON) }
}

/// Tests that a text of any bytes is rejected or parsed, and that a parsed value round-trips.
private func fuzzJSON(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  guard let value = try? JSONReader.value(of: bytes) else { return 0 }
  let written = value.text
  guard let again = try? JSONReader.value(of: written) else { fatalError("the written text can't be parsed") }
  precondition(again == value, "the written text is parsed as another value")
  return 0
}
