/// Where one stream of HTTP/2 stands, which carries one request and its answer.
///
/// It does nothing itself: each event answers what is to be done.
struct StreamState {
  private enum Answer {
    case owed
    case begun
    /// It is handed on whole, and may wait for the client to take it.
    case made
    /// The client's side of the socket has it.
    case sent
  }

  private var answer = Answer.owed
  private var discarded = 0

  /// Whether more of the request's body is to come.
  private(set) var isReceiving = false

  /// Whether the client holds its body back until it is told `100 Continue`.
  private(set) var awaitsContinue = false

  /// Whether the head has come in.
  private(set) var hasBegun = false

  /// Whether the rest of the body can't be used.
  private(set) var hasFailed = false

  /// Whether the stream has ended.
  private(set) var isClosed = false

  /// Whether the request waits for its answer to begin.
  var owesAnswer: Bool { answer == .owed && hasBegun && !isClosed }

  /// Whether an answer has begun and not ended.
  var isAnswering: Bool { answer == .begun && !isClosed }

  /// The request's head has come in.
  mutating func begin(hasBody: Bool, awaitsContinue: Bool) {
    hasBegun = true
    isReceiving = hasBody
    self.awaitsContinue = awaitsContinue
  }

  /// What becomes of a piece of the body.
  enum BodyAction {
    case deliver
    case discard
    /// The client is told to stop, without complaint (RFC 9113, section 8.1).
    case stop
  }

  /// A piece of the body has come in.
  mutating func receive(bytes: Int) -> BodyAction {
    guard isReceiving, !isClosed else { return .discard }
    awaitsContinue = false
    if !hasFailed, answer == .owed || answer == .begun { return .deliver }
    discarded += bytes
    return discarded > ConnectionState.discardLimit && answer == .sent ? .stop : .discard
  }

  /// The whole request has come in. Answers whether that is news.
  mutating func receiveEnd() -> Bool {
    defer { isReceiving = false }
    awaitsContinue = false
    return isReceiving && !isClosed
  }

  /// The reader wants the body. Answers whether the client must be told `100 Continue` for it.
  mutating func wantBody() -> Bool {
    guard awaitsContinue else { return false }
    awaitsContinue = false
    return answer == .owed && !isClosed
  }

  /// The answer begins.
  mutating func beginAnswer() { answer = .begun }

  /// The answer's last byte is handed on.
  mutating func endAnswer() { answer = .made }

  /// The answer's last byte is taken. Answers whether the client is to be told to stop sending.
  mutating func answerIsSent() -> Bool {
    answer = .sent
    return isReceiving && !isClosed && (awaitsContinue || hasFailed || discarded > ConnectionState.discardLimit)
  }

  /// What follows when the body does not arrive in time.
  enum FailureAction {
    /// The body ends with an error; the responder's answer goes out.
    case failBody
    /// The answer can't be finished.
    case cut
    case stop
    case none
  }

  /// The body takes too long.
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

  /// The stream has ended.
  mutating func close() { isClosed = true }
}
