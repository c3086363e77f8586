public import NIOCore
import NIOHTTP1

/// A request's body: a sequence of buffers, read once.
///
/// Reading lets the client send on: at most a few tens of kilobytes wait here unread. What is unread when the response
/// is sent is discarded, or the connection is closed after the response where it is much.
public struct HTTPRequestBody: Sendable, AsyncSequence {
  /// A chunk of the body.
  public typealias Element = ByteBuffer

  /// The reason why reading stopped.
  public typealias Failure = HTTPBodyError

  private enum Source: Sendable {
    case empty
    case bytes(ByteBuffer)
    case stream(RequestBodyStream)
  }

  private let source: Source

  /// The length in bytes that the client announced; `nil` where it announced none, 0 for an empty body.
  public let announcedLength: Int?

  /// The maximum number of bytes; `nil` is any number. A longer body throws ``HTTPBodyError/tooLarge(limit:)``.
  public var limit: Int?

  /// The body of a request without one.
  public static let empty = HTTPRequestBody(source: .empty, announcedLength: 0, limit: nil)

  /// Returns a body of bytes in memory, for requests that are created in process.
  public static func bytes(_ bytes: ByteBuffer, limit: Int? = nil) -> HTTPRequestBody {
    HTTPRequestBody(source: .bytes(bytes), announcedLength: bytes.readableBytes, limit: limit)
  }

  static func stream(_ stream: RequestBodyStream, announcedLength: Int?, limit: Int?) -> HTTPRequestBody {
    HTTPRequestBody(source: .stream(stream), announcedLength: announcedLength, limit: limit)
  }

  private init(source: Source, announcedLength: Int?, limit: Int?) {
    self.source = source
    self.announcedLength = announcedLength
    self.limit = limit
  }

  /// Checks that the client announced no more than ``limit`` bytes, before any of them is read.
  ///
  /// - Throws: ``HTTPBodyError/tooLarge(limit:)``.
  public func checkAnnouncedLength() throws(HTTPBodyError) {
    if let limit, let announcedLength, announcedLength > limit { throw .tooLarge(limit: limit) }
  }

  /// Returns the whole body, up to its ``limit``.
  ///
  /// - Throws: ``HTTPBodyError``; at once when the announced length is too much.
  public func collect() async throws(HTTPBodyError) -> ByteBuffer {
    try checkAnnouncedLength()
    if case .bytes(let bytes) = source { return bytes }
    var whole = ByteBuffer()
    var chunks = makeAsyncIterator()
    while let chunk = try await chunks.next(isolation: #isolation) {
      if whole.readableBytes == 0 {
        whole = chunk
      } else {
        whole.writeImmutableBuffer(chunk)
      }
    }
    return whole
  }

  /// Returns the whole body, up to a limit that replaces its own.
  ///
  /// - Throws: ``HTTPBodyError``; at once when the announced length is too much.
  public func collect(upTo limit: Int) async throws(HTTPBodyError) -> ByteBuffer {
    var body = self
    body.limit = limit
    return try await body.collect()
  }

  /// Returns an iterator. A body can be read once; a second iterator continues where the first one stopped.
  public func makeAsyncIterator() -> Iterator { Iterator(body: self) }

  /// An iterator over the chunks of a body.
  public struct Iterator: AsyncIteratorProtocol {
    private let body: HTTPRequestBody
    private var taken = 0
    private var isFinished = false

    fileprivate init(body: HTTPRequestBody) {
      self.body = body
    }

    /// Returns the next chunk, which is never empty; `nil` at the end.
    ///
    /// - Throws: ``HTTPBodyError``.
    public mutating func next(
      isolation actor: isolated (any Actor)? = #isolation
    ) async throws(HTTPBodyError) -> ByteBuffer? {
      guard !isFinished else { return nil }
      switch body.source {
      case .empty:
        return nil
      case .bytes(let bytes):
        isFinished = true
        return bytes.readableBytes == 0 ? nil : try checked(bytes)
      case .stream(let stream):
        if taken == 0 { try body.checkAnnouncedLength() }
        guard let chunk = try await stream.next() else {
          isFinished = true
          return nil
        }
        return try checked(chunk)
      }
    }

    private mutating func checked(_ chunk: ByteBuffer) throws(HTTPBodyError) -> ByteBuffer {
      taken += chunk.readableBytes
      if let limit = body.limit, taken > limit {
        isFinished = true
        throw .tooLarge(limit: limit)
      }
      return chunk
    }
  }
}

/// The reason why a request's body could not be read to its end.
public enum HTTPBodyError: Error, Hashable, Sendable {
  /// The body is longer than the limit, in bytes.
  case tooLarge(limit: Int)

  /// The client sent too slowly.
  case timedOut

  /// The client went away, or broke the rules of HTTP, before the body's end.
  case disconnected

  /// The task that reads it was cancelled.
  case cancelled

  /// The response's problem.
  public var problem: Problem {
    switch self {
    case .tooLarge(let limit):
      Problem(.payloadTooLarge, code: "body-too-large", detail: "the body may have at most \(limit) bytes")
    case .timedOut:
      Problem(.requestTimeout, code: "request-timeout", detail: "the body did not arrive in time")
    case .disconnected, .cancelled:
      Problem(.badRequest, code: "malformed-body", detail: "the body ended early")
    }
  }
}
