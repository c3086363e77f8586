/// The state of a stream of HTTP/2, which carries one request and its response.
///
/// It has no effects: each event returns the action to take.
struct StreamState {
  private enum Answer {
    case owed
    case begun
    /// It is complete, and may wait for the client to take it.
    case made
    /// The socket has taken all of it.
    case sent
  }

  private var answer = Answer.owed
  private var discarded = 0

  /// A Boolean value that indicates whether more of the request's body is to come.
  private(set) var isReceiving = false

  /// A Boolean value that indicates whether the client sends its body only after `100 Continue`.
  private(set) var awaitsContinue = false

  /// A Boolean value that indicates whether the request's head was received.
  private(set) var hasBegun = false

  /// A Boolean value that indicates whether the rest of the body is unusable.
  private(set) var hasFailed = false

  /// A Boolean value that indicates whether the stream has ended.
  private(set) var isClosed = false

  /// A Boolean value that indicates whether the request has no response yet.
  var owesAnswer: Bool { answer == .owed && hasBegun && !isClosed }

  /// A Boolean value that indicates whether a response has begun and not ended.
  var isAnswering: Bool { answer == .begun && !isClosed }

  /// Begins the request, whose head was received.
  mutating func begin(hasBody: Bool, awaitsContinue: Bool) {
    hasBegun = true
    isReceiving = hasBody
    self.awaitsContinue = awaitsContinue
  }

  /// The action for a piece of the body.
  enum BodyAction {
    case deliver
    case discard
    /// The stream is reset with `NO_ERROR`, so that the client stops sending (RFC 9113, section 8.1).
    case stop
  }

  /// Handles a piece of the body.
  mutating func receive(bytes: Int) -> BodyAction {
    guard isReceiving, !isClosed else { return .discard }
    awaitsContinue = false
    if !hasFailed, answer == .owed || answer == .begun { return .deliver }
    discarded += bytes
    return discarded > ConnectionState.discardLimit && answer == .sent ? .stop : .discard
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
    return answer == .owed && !isClosed
  }

  /// Begins the response.
  mutating func beginResponse() { answer = .begun }

  /// Ends the response, whose last byte is written.
  mutating func endResponse() { answer = .made }

  /// Handles that the socket has taken the response's last byte. Returns a Boolean value that indicates whether the
  /// stream is to be reset, so that the client stops sending.
  mutating func responseIsSent() -> Bool {
    answer = .sent
    return isReceiving && !isClosed && (awaitsContinue || hasFailed || discarded > ConnectionState.discardLimit)
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
    return switch answer {
    case .owed: .failBody
    case .begun: .cut
    case .made: .none
    case .sent: .stop
    }
  }

  /// Ends the stream.
  mutating func close() { isClosed = true }
}
