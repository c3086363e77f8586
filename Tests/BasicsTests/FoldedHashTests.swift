import Basics
import Testing

/// Tests of the hash of tables in memory.
@Suite struct FoldedHashTests {
  private func hash(_ texts: String...) -> UInt64 {
    var hash = FoldedHash()
    for text in texts { hash.combine(text) }
    return hash.value
  }

  @Test func equalTextsHaveEqualHashesWhereverTheirBytesAre() {
    for length in 0...40 {
      let text = String(repeating: "é1", count: length)
      let sliced = String(("x" + text + "y").dropFirst().dropLast())

      #expect(hash(text, "b") == hash(sliced, "b"))
    }
  }

  @Test func eachByteOfATextCounts() {
    for length in 1...40 {
      let text = Array(repeating: UInt8(ascii: "a"), count: length)
      var hashes: Set = [hash(String(decoding: text, as: UTF8.self))]
      for index in text.indices {
        var other = text
        other[index] = UInt8(ascii: "b")
        hashes.insert(hash(String(decoding: other, as: UTF8.self)))
      }

      #expect(hashes.count == length + 1)
    }
  }

  @Test func theBoundariesBetweenTextsCount() {
    let hashes: Set = [hash("ab", "c"), hash("a", "bc"), hash("abc", ""), hash("", "abc"), hash("abc"), hash()]

    #expect(hashes.count == 6)
  }
}
