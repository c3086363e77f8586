import FuzzSupport
import JSONText

@main enum Main {
  static func main() { runFuzzer(fuzzMergePatch) }
}

/// A patch of any shape is applied to a value of any shape; applying it twice changes nothing more (RFC 7396), and what
/// comes of it is JSON.
private func fuzzMergePatch(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  // A byte that is never in UTF-8 stands between the two.
  let parts = bytes.split(separator: 0xFF, maxSplits: 1, omittingEmptySubsequences: false)
  guard parts.count == 2, let target = try? JSONReader.value(of: parts[0]),
    let patch = try? JSONReader.value(of: parts[1])
  else { return 0 }
  let once = target.merging(patch)
  precondition(once.merging(patch) == once, "a patch does something when it is applied again")
  var written: [UInt8] = []
  once.append(to: &written)
  guard let again = try? JSONReader.value(of: written) else { fatalError("what was merged can't be read") }
  precondition(again == once, "what was merged is read as something else")
  return 0
}
