public import Basics
public import NIOCore
public import NIOHTTP1
import Synchronization

/// A response.
///
/// The server adds `Content-Length` or `Transfer-Encoding`, `Date`, `Connection` and `X-Request-Id`.
public struct HTTPResponse: Sendable {
  /// The status.
  public var status: HTTPResponseStatus

  /// The header fields, in the order in which they are sent.
  public var headers: HTTPHeaders

  /// The body. Responses to `HEAD` and those of status 204 and 304 are sent without it.
  public var body: HTTPResponseBody

  /// The template of the route, such as `/items/{id}`, for metrics and logs; it is not sent.
  public var route: String?

  /// The context of the request, for logs; it is not sent.
  var context: RequestContext?

  public init(status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:], body: HTTPResponseBody = .empty) {
    self.status = status
    self.headers = headers
    self.body = body
  }

  /// The number of fields for which a response reserves capacity: its type, caching and CORS fields, a link.
  private static let usualFieldCount = 8

  /// Creates a response of bytes in memory with their media type.
  ///
  /// - Parameter link: the value of `Link`; `nil` for none.
  public init(status: HTTPResponseStatus = .ok, contentType: String, link: String? = nil, bytes: ByteBuffer) {
    // NIO's method that adds a field checks each character of the name.
    var fields: [(String, String)] = []
    fields.reserveCapacity(Self.usualFieldCount)
    fields.append(("content-type", contentType))
    if let link { fields.append(("link", link)) }
    self.init(status: status, headers: HTTPHeaders(fields), body: .bytes(bytes))
  }

  /// Creates a response of bytes in memory with their media type.
  public init(status: HTTPResponseStatus = .ok, contentType: String, bytes: [UInt8]) {
    self.init(status: status, contentType: contentType, bytes: ByteBuffer(bytes: bytes))
  }
}

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

  /// Bytes that are produced until the client or the server ends the response, with silence in between.
  ///
  /// It is not counted among the requests in progress, and its client is not cut because it takes little, unless memory
  /// is short.
  case live(@Sendable (HTTPResponseWriter) async throws -> Void)

  /// The length in bytes; `nil` if it is not known before the body is sent.
  public var length: Int? {
    switch self {
    case .empty: 0
    case .bytes(let bytes): bytes.readableBytes
    case .stream(let length, _): length
    case .live: nil
    }
  }

  /// A Boolean value that indicates whether the bytes are produced while they are sent.
  var isStreamed: Bool {
    switch self {
    case .empty, .bytes: false
    case .stream, .live: true
    }
  }

  var isLive: Bool {
    if case .live = self { true } else { false }
  }

  /// Returns the whole body, for responses that are produced in process.
  ///
  /// - Throws: the error of a stream's closure.
  public func collect() async throws -> ByteBuffer {
    switch self {
    case .empty: return ByteBuffer()
    case .bytes(let bytes): return bytes
    case .stream(_, let body), .live(let body):
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

/// The way of a streamed response from the responder's task to its sink.
struct ResponseStream<Sink: ResponseSink>: Sendable {
  let sink: NIOLoopBound<Sink>
  let eventLoop: any EventLoop

  /// Sends the whole response; returns when it has ended, whole or not.
  func send(
    _ response: HTTPResponse,
    length: Int?,
    body: @Sendable (HTTPResponseWriter) async throws -> Void
  ) async {
    guard
      await onEventLoop({ sink in sink.beginStream(response, length: length) })
    else { return }
    await sendBody(body)
  }

  /// Sends the body of a response that was begun; returns when it has ended, whole or not.
  func sendBody(_ body: @Sendable (HTTPResponseWriter) async throws -> Void) async {
    let result: Result<Void, any Error>
    do {
      try await body(HTTPResponseWriter { bytes in try await write(bytes) })
      result = .success(())
    } catch {
      result = .failure(error)
    }
    await end(result)
  }

  // Each idle stream has the frame of `sendBody`.
  @inline(never)
  private func end(_ result: Result<Void, any Error>) async { await onEventLoop { $0.endStream(result) } }

  private func write(_ bytes: ByteBuffer) async throws {
    if eventLoop.inEventLoop, try sink.value.writeStream(bytes) { return }
    try await withCheckedThrowingContinuation { continuation in
      if eventLoop.inEventLoop {
        sink.value.wait(continuation)
      } else {
        eventLoop.execute { sink.value.writeStream(bytes, continuation) }
      }
    }
  }

  private func onEventLoop<Value: Sendable>(_ body: @escaping @Sendable (Sink) -> Value) async -> Value {
    if eventLoop.inEventLoop { return body(sink.value) }
    return await withCheckedContinuation { continuation in
      eventLoop.execute { continuation.resume(returning: body(sink.value)) }
    }
  }
}

extension ResponseSink {
  /// Resumes the writer when more is taken.
  fileprivate func wait(_ writer: CheckedContinuation<Void, any Error>) {
    if isResponding { waitingWriters.append(writer) } else { writer.resume(throwing: HTTPConnectionClosed()) }
  }

  fileprivate func writeStream(_ bytes: ByteBuffer, _ writer: CheckedContinuation<Void, any Error>) {
    do {
      if try writeStream(bytes) { writer.resume() } else { wait(writer) }
    } catch {
      writer.resume(throwing: error)
    }
  }
}

extension ByteBuffer: ByteSink {
  /// Reserves room for so many more bytes.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {
    reserveCapacity(minimumWritableBytes: byteCount)
  }

  /// Appends one byte.
  @inlinable
  public mutating func write(_ byte: UInt8) {
    writeInteger(byte)
  }

  /// Appends bytes.
  @inlinable
  public mutating func write(_ bytes: UnsafeBufferPointer<UInt8>) {
    writeBytes(bytes)
  }

  /// Appends the bytes that a closure writes.
  @inlinable
  public mutating func write(atMost maximumCount: Int, _ body: (UnsafeMutablePointer<UInt8>) -> Int) {
    writeWithUnsafeMutableBytes(minimumWritableBytes: maximumCount) { bytes in
      guard let start = bytes.bindMemory(to: UInt8.self).baseAddress else { return 0 }
      let written = body(start)
      precondition(written <= maximumCount, "more bytes written than reserved")
      return written
    }
  }
}
