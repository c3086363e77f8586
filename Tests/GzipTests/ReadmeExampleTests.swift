import Gzip
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func bytesOfTheExampleRoundTrip() throws {
    let bytes = Array("Hello, Hello, Hello".utf8)
    let encoder = try GzipEncoder()
    var gzip: [UInt8] = []
    bytes.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)

    let decoder = try GzipDecoder()
    let decoded = try gzip.withUnsafeBytes { try decoder.decode($0, atMost: 1 << 16).output }
    try decoder.finish()

    #expect(gzip.starts(with: [0x1F, 0x8B]))
    #expect(decoded == bytes)
  }
}
