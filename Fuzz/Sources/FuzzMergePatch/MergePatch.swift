import FuzzSupport
import JSONText

@main enum Main {
  static func main() { runFuzzer(fuzzMergePatch) }
}

/// Tests that a patch of any shape applies to a value of any shape, that applying it twice changes nothing more (RFC
/// 7396), and that the result is JSON.
private func fuzzMergePatch(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = UnsafeBufferPointer(start: data, count: count)
  // A byte that is never in UTF-8 stands between the two.
  let parts = bytes.split(separator: 0xFF, maxSplits: 1, omittingEmptySubsequences: false)
  guard parts.count == 2, let target = try? JSONReader.value(of: parts[0]),
    let patch = try? JSONReader.value(of: parts[1])
  else { return 0 }
  let once = target.merging(patch)
  precondition(once.merging(patch) == once, "a patch changes something when it is applied again")
  let written = once.text
  guard let again = try? JSONReader.value(of: written) else { fatalError("the merged value can't be parsed") }
  precondition(again == once, "the merged value is parsed as another")
  return 0
}
