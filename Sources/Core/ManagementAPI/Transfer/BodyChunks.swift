import Gzip
package import HTTPServer
package import NIOCore
import NIOHTTP1

/// The decoded bytes of a body, chunk by chunk. The next chunk is read from the client when the one before has been
/// used, so that memory is bounded whatever the body's length.
package struct BodyChunks: AsyncSequence, Sendable {
  private let body: HTTPRequestBody
  private let isGzip: Bool
  private let hash: RequestHash?

  /// Creates the chunks of a request's body.
  ///
  /// - Parameter hash: updated with each chunk of the body as it was sent.
  /// - Throws: `Problem` 415 where it has another content coding than gzip.
  package init(_ request: HTTPRequest, hash: RequestHash? = nil) throws(Problem) {
    self.hash = hash
    body = request.body
    let codings = request.headers[canonicalForm: "content-encoding"].map { $0.lowercased() }
      .filter { !$0.isEmpty && $0 != "identity" }
    guard codings.isEmpty || codings == ["gzip"] || codings == ["x-gzip"] else {
      throw Problem(
        .unsupportedMediaType, code: "unsupported-media-type",
        detail: "Content-Encoding must be gzip or absent", headers: ["accept-encoding": "gzip"])
    }
    isGzip = !codings.isEmpty
  }

  package func makeAsyncIterator() -> Iterator { Iterator(input: body.makeAsyncIterator(), isGzip: isGzip, hash: hash) }

  package struct Iterator: AsyncIteratorProtocol {
    /// The maximum number of decompressed bytes of a chunk.
    private static let outputBytes = 1 << 16

    fileprivate var input: HTTPRequestBody.Iterator
    fileprivate let isGzip: Bool
    fileprivate let hash: RequestHash?
    fileprivate var decoder: GzipDecoder?
    fileprivate var compressed = ByteBuffer()
    fileprivate var mayHoldMore = false

    /// Returns the next bytes; `nil` at the end.
    ///
    /// - Throws: `HTTPBodyError`, `GzipError`.
    package mutating func next() async throws -> ByteBufferView? {
      guard isGzip else { return try await nextInput()?.readableBytesView }
      let decoder: GzipDecoder
      if let made = self.decoder {
        decoder = made
      } else {
        decoder = try GzipDecoder()
        self.decoder = decoder
      }
      while true {
        if compressed.readableBytes > 0 || mayHoldMore {
          let (taken, output) = try compressed.withUnsafeReadableBytes { bytes in
            try decoder.decode(bytes, atMost: Self.outputBytes)
          }
          compressed.moveReaderIndex(forwardBy: taken)
          mayHoldMore = output.count == Self.outputBytes
          if !output.isEmpty { return ByteBuffer(bytes: output).readableBytesView }
        } else if let next = try await nextInput() {
          compressed = next
        } else {
          try decoder.finish()
          return nil
        }
      }
    }

    private mutating func nextInput() async throws -> ByteBuffer? {
      let chunk = try await input.next()
      if let chunk { hash?.update(chunk) }
      return chunk
    }
  }
}
