import NIOCore
import Synchronization

/// What follows the head of an answer.
public enum HTTPResponseBody: Sendable {
  /// Nothing.
  case empty

  /// Bytes in memory, sent with their `Content-Length`.
  case bytes(ByteBuffer)

  /// Bytes that are made while they are sent, in constant memory.
  ///
  /// With a length, `Content-Length` is sent and exactly as many bytes must be written. Without, the body is chunked
  /// (to a client of HTTP/1.0: it ends with the connection). When the closure throws or writes another number of bytes
  /// the connection is cut, so that the client can tell that the body is not whole.
  case stream(length: Int? = nil, @Sendable (HTTPResponseWriter) async throws -> Void)

  /// How many bytes the body has, where that is known before it is sent.
  public var length: Int? {
    switch self {
    case .empty: 0
    case .bytes(let bytes): bytes.readableBytes
    case .stream(let length, _): length
    }
  }

  /// The whole body in memory, for answers made in process.
  ///
  /// - Throws: what a stream's closure throws.
  public func collect() async throws -> ByteBuffer {
    switch self {
    case .empty: return ByteBuffer()
    case .bytes(let bytes): return bytes
    case .stream(_, let body):
      let collected = Mutex(ByteBuffer())
      try await body(HTTPResponseWriter { bytes in collected.withLock { _ = $0.writeImmutableBuffer(bytes) } })
      return collected.withLock { $0 }
    }
  }
}
