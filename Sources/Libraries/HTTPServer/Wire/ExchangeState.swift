/// The state of one request and its response: a stream of HTTP/2, or the current request of a connection of HTTP/1.1.
///
/// It has no effects: each event returns the action to take.
struct ExchangeState {
  /// The number of bytes of an unread body that are discarded to keep the connection.
  static let discardLimit = 64 * 1024

  private enum Response {
    case pending
    case begun
    /// It is complete, and may wait for the client to take it.
    case complete
    /// The socket has taken all of it.
    case sent
  }

  private var response = Response.pending
  private var discarded = 0
  private(set) var isReceiving = false
  private(set) var awaitsContinue = false
  private(set) var hasBegun = false

  /// A Boolean value that indicates whether the rest of the body is unusable.
  private(set) var hasFailed = false
  private(set) var isClosed = false

  /// A Boolean value that indicates whether the body's reader is slow, so that no more of it is read.
  private(set) var isBodyPaused = false
  private var wantsRead = false

  /// A Boolean value that indicates whether the rest of the body must arrive in time.
  var awaitsBody: Bool { isReceiving && !isBodyPaused && !awaitsContinue && !hasFailed }
  var owesResponse: Bool { response == .pending && hasBegun && !isClosed }
  var isResponding: Bool { response == .begun && !isClosed }
  var isSent: Bool { response == .sent }

  mutating func begin(hasBody: Bool, awaitsContinue: Bool) {
    hasBegun = true
    isReceiving = hasBody
    self.awaitsContinue = awaitsContinue
  }

  enum BodyAction {
    case deliver
    case discard
    /// More is sent than is discarded to keep the connection: a stream is reset with `NO_ERROR`, so that the client
    /// stops sending (RFC 9113, section 8.1), and a connection of HTTP/1.1 is closed.
    case stop
  }

  mutating func receive(bytes: Int) -> BodyAction {
    guard isReceiving, !isClosed else { return .discard }
    awaitsContinue = false
    if !hasFailed, response == .pending || response == .begun { return .deliver }
    discarded += bytes
    return discarded > Self.discardLimit && isSent ? .stop : .discard
  }

  mutating func pauseBody() { isBodyPaused = true }

  /// Returns a Boolean value that indicates whether input that was wanted during the pause is to be read.
  mutating func resumeBody() -> Bool {
    isBodyPaused = false
    defer { wantsRead = false }
    return wantsRead
  }

  /// Handles the demand for input. Returns a Boolean value that indicates whether it is to be read now.
  mutating func wantRead() -> Bool {
    wantsRead = isBodyPaused
    return !isBodyPaused
  }

  /// Ends the request. Returns a Boolean value that indicates whether it was still being received.
  mutating func receiveEnd() -> Bool {
    defer { isReceiving = false }
    awaitsContinue = false
    return isReceiving && !isClosed
  }

  /// Handles the reader's demand for the body. Returns a Boolean value that indicates whether `100 Continue` is to be
  /// sent.
  mutating func wantBody() -> Bool {
    guard awaitsContinue else { return false }
    awaitsContinue = false
    return response == .pending && !isClosed
  }

  mutating func beginResponse() { response = .begun }

  /// Ends the response, whose last byte is written.
  mutating func endResponse() { response = .complete }

  /// Handles that the socket has taken the response's last byte. Returns a Boolean value that indicates whether the
  /// stream is to be reset, so that the client stops sending.
  @discardableResult
  mutating func responseIsSent() -> Bool {
    response = .sent
    return isReceiving && !isClosed && (awaitsContinue || hasFailed || discarded > Self.discardLimit)
  }

  /// The action when the body does not arrive in time.
  enum FailureAction {
    /// The body ends with an error; the responder's response is sent.
    case failBody
    /// The response can't be completed.
    case cut
    case stop
    case none
  }

  /// Handles the timeout of the body.
  mutating func failInput() -> FailureAction {
    guard isReceiving, !isClosed else { return .none }
    hasFailed = true
    return switch response {
    case .pending: .failBody
    case .begun: .cut
    case .complete: .none
    case .sent: .stop
    }
  }

  mutating func close() { isClosed = true }
}
