public import NIOCore
import Synchronization

/// The body of a response.
public enum HTTPResponseBody: Sendable {
  /// No body.
  case empty

  /// Bytes in memory, sent with their `Content-Length`.
  case bytes(ByteBuffer)

  /// Bytes that are produced while they are sent, in constant memory.
  ///
  /// With a length, `Content-Length` is sent and exactly as many bytes must be written. Without, the body is chunked
  /// (for a client of HTTP/1.0: it ends with the connection). When the closure throws or writes another number of bytes
  /// the connection is cut, so that the client can tell that the body is incomplete.
  case stream(length: Int? = nil, @Sendable (HTTPResponseWriter) async throws -> Void)

  /// The length in bytes; `nil` where it is not known before the body is sent.
  public var length: Int? {
    switch self {
    case .empty: 0
    case .bytes(let bytes): bytes.readableBytes
    case .stream(let length, _): length
    }
  }

  /// Returns the whole body, for responses that are produced in process.
  ///
  /// - Throws: the error of a stream's closure.
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

/// A writer of a streamed body.
public struct HTTPResponseWriter: Sendable {
  private let send: @Sendable (ByteBuffer) async throws -> Void

  /// Creates a writer that passes each buffer on, for responses that are produced in process.
  public init(_ send: @escaping @Sendable (ByteBuffer) async throws -> Void) {
    self.send = send
  }

  /// Writes the bytes, and returns when the connection takes more: a client that reads slowly slows the writer down.
  ///
  /// - Throws: ``HTTPConnectionClosed`` when the client has gone or the server has cut the connection.
  public func write(_ bytes: ByteBuffer) async throws {
    try await send(bytes)
  }
}

/// The connection ended before everything was written.
public struct HTTPConnectionClosed: Error, Hashable, Sendable {
  public init() {}
}
