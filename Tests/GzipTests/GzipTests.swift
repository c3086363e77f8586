import Gzip
import Testing

@Suite struct GzipTests {
  private func encoded(_ bytes: [UInt8]) throws -> [UInt8] {
    let encoder = try GzipEncoder()
    var gzip: [UInt8] = []
    bytes.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    return gzip
  }

  /// Returns the text of gzip that comes in chunks, with so much room for each output.
  private func decoded(_ gzip: [UInt8], chunkSize: Int = 1 << 20, room: Int = 1 << 16) throws -> [UInt8] {
    let decoder = try GzipDecoder()
    var text: [UInt8] = []
    var rest = gzip[...]
    while !rest.isEmpty {
      let chunk = rest.prefix(chunkSize)
      var (taken, output) = try chunk.withUnsafeBytes { try decoder.decode($0, atMost: room) }
      text += output
      while output.count == room, taken == chunk.count {
        output = try decoder.decode(UnsafeRawBufferPointer(start: nil, count: 0), atMost: room).output
        text += output
      }
      rest = rest.dropFirst(taken)
    }
    try decoder.finish()
    return text
  }

  @Test(arguments: [(1 << 20, 1 << 16), (1, 1 << 16), (1000, 7)])
  func encodedBytesRoundTripWhateverTheChunks(chunkSize: Int, room: Int) throws {
    let bytes = (0..<20_000).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) }

    let text = try decoded(try encoded(bytes), chunkSize: chunkSize, room: room)

    #expect(text == bytes)
  }

  @Test func membersThatFollowOneAnotherAreOneText() throws {
    let gzip = try encoded([1, 2]) + encoded([]) + encoded([3])

    #expect(try decoded(gzip) == [1, 2, 3])
    #expect(try decoded(gzip, chunkSize: 1) == [1, 2, 3])
  }

  @Test func truncatedGzipIsAnError() throws {
    let gzip = try encoded(Array("a text".utf8))

    #expect(throws: GzipError.truncated) { try decoded(Array(gzip.dropLast())) }
    #expect(throws: GzipError.truncated) { try decoded([]) }
  }

  @Test func invalidGzipIsRejected() throws {
    var damaged = try encoded(Array("a text".utf8))
    damaged[damaged.count - 5] ^= 1

    #expect(throws: GzipError.malformed) { try decoded(Array("name,lat,long".utf8)) }
    #expect(throws: GzipError.malformed) { try decoded(damaged) }
  }

  @Test func decompressionBombIsRejected() throws {
    let bomb = try encoded([UInt8](repeating: 0, count: GzipDecoder.freeBytes + (1 << 20)))

    #expect(throws: GzipError.tooMuch) { try decoded(bomb) }
  }
}
