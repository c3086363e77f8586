import Basics
import Logging
import NIOCore
import NIOHTTP1

/// The state of a current request, of HTTP/1.1 and HTTP/2 alike: from its head to the end of its response, and to the
/// end of its own body where that is later. It lives on the connection's event loop.
final class Exchange {
  let id: String
  let isHead: Bool
  let isHTTP10: Bool
  let body: RequestBodyStream?

  /// The request until it is passed to the responder: its body, if it is short, comes first.
  var undispatched: HTTPRequest?

  /// A Boolean value that indicates whether the response is one of ``HTTPResponseBody/live(_:)``.
  var isLive = false

  /// The responder at work.
  var task: Task<Void, Never>?
  private var report: CompletedRequest?
  private var streamRemaining: Int?

  /// Creates the state of a request that begins.
  ///
  /// - Parameters:
  ///   - body: its body; `nil` if none follows the head.
  ///   - bodyLength: the announced length of the body.
  init(
    id: String, method: HTTPMethod, target: RequestTarget, headers: RequestFields, isHTTP10: Bool = false,
    body: RequestBodyStream?, bodyLength: Int?, remoteAddress: SocketAddress?, server: ServerContext
  ) {
    self.id = id
    // A comparison with == would be one of strings.
    if case .HEAD = method { isHead = true } else { isHead = false }
    self.isHTTP10 = isHTTP10
    self.body = body
    report = CompletedRequest(id: id, method: method)
    let limit = server.configuration.limits.bodyBytes
    undispatched = HTTPRequest(
      HTTPRequest.Head(
        method: method, target: target, headers: headers, id: id, remoteAddress: remoteAddress, logger: server.logger,
        server: server),
      body: body.map { .stream($0, announcedLength: bodyLength, limit: limit) } ?? .empty)
  }

  /// Creates the state of a request that is rejected before it could be parsed, and has been reported as that.
  init(rejected id: String) {
    self.id = id
    (isHead, isHTTP10, body, report) = (false, false, nil, nil)
  }

  /// Records the response, whose head is being sent.
  func begin(_ response: HTTPResponse) { report?.begin(response) }

  /// Records that a response of another status is sent in place of the one that was begun.
  func replaceStatus(with status: HTTPResponseStatus) { report?.status = status }

  func add(bodyBytes: Int) { report?.bodyBytes += bodyBytes }

  /// Reports the request, once.
  func end(isWhole: Bool, to responder: any HTTPResponder) {
    guard var report = report.take() else { return }
    report.end(isWhole: isWhole)
    responder.requestCompleted(report)
  }

  /// Ends the request's body, of which nothing more can be read.
  func failBody(_ error: HTTPBodyError) { body?.finish(.failure(error)) }

  // MARK: Streamed bodies

  /// Records the length of a streamed body; `nil` if it is not known.
  func beginStream(length: Int?) { streamRemaining = length }

  /// Counts a chunk of a streamed body against its length.
  func addStreamed(bytes: Int) throws(StreamLengthMismatch) {
    guard let remaining = streamRemaining else { return }
    guard bytes <= remaining else { throw StreamLengthMismatch() }
    streamRemaining = remaining - bytes
  }

  /// Checks that a streamed body has ended without an error and with all its bytes.
  func checkStreamEnd(_ result: Result<Void, any Error>) throws {
    try result.get()
    if let streamRemaining, streamRemaining > 0 { throw StreamLengthMismatch() }
  }

  // MARK: Log

  func logInvalid(_ response: HTTPResponse, to logger: Logger) {
    self.logger(logger).error(
      "a response can't be sent: its status or a header field is not valid",
      metadata: ["status": .stringConvertible(response.status.code), "headers": "\(response.headers)"])
  }

  func logBreak(_ error: any Error, to logger: Logger) {
    self.logger(logger).error("a response broke off", metadata: ["error": "\(String(reflecting: error))"])
  }

  private func logger(_ logger: Logger) -> Logger {
    var logger = logger
    logger[metadataKey: "request-id"] = .string(id)
    return logger
  }
}

/// A streamed body had another length than its response announced.
struct StreamLengthMismatch: Error {}

enum RequestID {
  static let headerName: StaticString = "x-request-id"

  /// Returns the client's own id, if it may be repeated in headers and logs.
  static func accepted(from headers: RequestFields) -> String? {
    guard let id = headers.first(name: "\(headerName)"), isAcceptable(id) else { return nil }
    return id
  }

  /// Returns a Boolean value that indicates whether an id is 1–128 characters out of `A–Z a–z 0–9 . _ -`.
  static func isAcceptable(_ id: String) -> Bool { id.utf8.withContiguousBytes { isAcceptable($0) } }

  static func isAcceptable(_ id: UnsafeBufferPointer<UInt8>) -> Bool {
    (1...128).contains(id.count)
      && id.allSatisfy { byte in
        byte.isASCIIAlphanumeric || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "_")
          || byte == UInt8(ascii: "-")
      }
  }

  static func random() -> String { text(of: UInt64.random(in: .min ... .max)) }

  /// Returns thirteen characters of base 32: short enough that a `String` allocates nothing.
  static func text(of number: UInt64) -> String {
    let digits: StaticString = "0123456789abcdefghjkmnpqrstvwxyz"
    return String(unsafeUninitializedCapacity: 13) { buffer in
      for index in 0..<13 {
        buffer[index] = digits.utf8Start[Int(truncatingIfNeeded: number >> UInt64(60 - 5 * index)) & 31]
      }
      return 13
    }
  }
}

/// A connection's generator of ids: a random start and then a bijection of a counter, so that an id costs no system
/// call.
struct RequestIDGenerator {
  private var state = UInt64.random(in: .min ... .max)

  /// Returns the next id.
  mutating func next() -> String {
    state &+= 1
    return RequestID.text(of: SplitMix64.mix(state))
  }
}
