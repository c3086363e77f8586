import Points
import SyntheticData
import Testing

@testable import PointIndex

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

@Suite struct WordDictionaryTests {
  /// Calls the closure with a dictionary, behind whose last byte no memory can be read.
  private static func withDictionary(of words: [[UInt8]], _ body: (WordDictionary) throws -> Void) throws {
    let bytes = words.flatMap { $0 }
    let pageSize = Int(getpagesize())
    let length = (bytes.count + pageSize - 1) / pageSize * pageSize
    let memory = try #require(
      mmap(nil, length + pageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON, -1, 0))
    defer { munmap(memory, length + pageSize) }
    try #require(mprotect(memory + length, pageSize, PROT_NONE) == 0)
    let start = memory + length - bytes.count
    start.copyMemory(from: bytes, byteCount: bytes.count)
    let starts = words.reduce(into: [0 as UInt32]) { $0.append($0[$0.count - 1] + UInt32($1.count)) }
    try starts.withUnsafeBufferPointer { starts in
      let letters = [UInt8](repeating: 1, count: words.count)
      try letters.withUnsafeBufferPointer { letters in
        try body(
          WordDictionary(
            count: words.count, starts: #require(starts.baseAddress), bytes: start.assumingMemoryBound(to: UInt8.self),
            byteCount: bytes.count, letters: #require(letters.baseAddress)))
      }
    }
  }

  /// Returns different words of few letters of up to four bytes, so that many have long beginnings in common, sorted.
  private static func words(_ count: Int, using random: inout SeededGenerator) -> [[UInt8]] {
    let letters = ["a", "b", "é", "к", "देव", "한", "𐍈", "z"]
    let words = (0..<count).map { _ in
      Array(
        (0..<Int.random(in: 1...9, using: &random)).map { _ in letters.randomElement(using: &random) ?? "" }.joined()
          .utf8)
    }
    return Set(words).sorted { $0.lexicographicallyPrecedes($1) }
  }

  @Test(arguments: [1, 2, 3, 40, 3_000])
  func wordsAreThoseOfALinearSearch(count: Int) throws {
    var random = SeededGenerator(seed: UInt64(count))
    let words = Self.words(count, using: &random)
    try Self.withDictionary(of: words) { dictionary in
      for _ in 0..<400 {
        let known = try #require(words.randomElement(using: &random))
        let other = try #require(Self.words(1, using: &random).first)
        let beginning = Array(known.prefix(Int.random(in: 0...known.count, using: &random)))
        let prefix = Bool.random(using: &random) ? beginning : Bool.random(using: &random) ? known + other : other
        let depth = Int.random(in: 0...prefix.count, using: &random)
        let lower = words.firstIndex { $0.starts(with: prefix[..<depth]) } ?? 0
        let upper = (words.lastIndex { $0.starts(with: prefix[..<depth]) }).map { $0 + 1 } ?? lower
        let expected = (lower..<upper).filter { words[$0].starts(with: prefix) }

        prefix[depth...].withUnsafeBufferPointer { bytes in
          let rest = WordDictionary.Prefix(bytes)
          #expect(Array(dictionary.words(in: lower..<upper, after: depth, beginningWith: rest)) == expected)
          #expect(
            dictionary.number(in: lower..<upper, after: depth, endingWith: rest)
              == expected.first { words[$0].count == prefix.count })
        }
      }
    }
  }

  @Test func wordsWithAScalarEndWhereAnotherBegins() throws {
    var random = SeededGenerator(seed: 1)
    let words = Self.words(2_000, using: &random)
    try Self.withDictionary(of: words) { dictionary in
      for first in words.indices {
        let (_, length) = words[first].withUnsafeBufferPointer { WordDictionary.scalar($0, at: 0) }
        let expected = words[first...].firstIndex { !$0.starts(with: words[first][..<length]) } ?? words.count

        #expect(dictionary.end(ofScalarIn: first..<words.count, after: 0, length: length) == expected)
      }
    }
  }
}
