/// The state of a connection of HTTP/1.1: its current request, how much of it was received, how much of its response
/// was sent, and whether the connection persists after it.
///
/// It has no effects: each event returns the action to take. A request is current from its head until its response is
/// sent and its body has ended; only then the next head is accepted.
struct ConnectionState {
  /// The number of bytes of an unread body that are discarded to keep the connection.
  static let discardLimit = 64 * 1024

  private enum Phase {
    case waiting
    case exchanging(Exchange)
    case lingering
    case closed
  }

  private enum Answer {
    case owed
    case begun
    case sent
  }

  private struct Exchange {
    /// A Boolean value that indicates whether more of the request is to come.
    var isReceiving: Bool
    /// The number of bytes of the body that are to come, if the client announced it.
    var remaining: Int?
    var awaitsContinue: Bool
    var persists: Bool
    var answer = Answer.owed
    var discarded = 0
  }

  private var phase = Phase.waiting
  private var isDraining = false
  private(set) var isInputClosed = false

  // MARK: Inspection

  /// A Boolean value that indicates whether the next request is accepted.
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  /// A Boolean value that indicates whether the current request has no response yet.
  var owesAnswer: Bool { if case .exchanging(let exchange) = phase { exchange.answer == .owed } else { false } }

  /// A Boolean value that indicates whether a response has begun and not ended.
  var isAnswering: Bool { if case .exchanging(let exchange) = phase { exchange.answer == .begun } else { false } }

  /// A Boolean value that indicates whether more of the current request is to come.
  var isReceiving: Bool { if case .exchanging(let exchange) = phase { exchange.isReceiving } else { false } }

  /// A Boolean value that indicates whether the client sends its body only after `100 Continue`.
  var awaitsContinue: Bool { if case .exchanging(let exchange) = phase { exchange.awaitsContinue } else { false } }

  /// A Boolean value that indicates whether the last response is sent and further input is discarded.
  var isLingering: Bool { if case .lingering = phase { true } else { false } }

  /// A Boolean value that indicates whether the connection has ended.
  var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// A Boolean value that indicates whether an idle connection should end.
  var isDrained: Bool { isDraining && isWaiting }

  // MARK: The request

  /// Begins a request, whose head was received.
  ///
  /// - Parameters:
  ///   - bodyLength: the length of its body; `nil` where the body's own end marks it.
  ///   - persists: a Boolean value that indicates whether the client permits the connection to persist.
  ///   - awaitsContinue: a Boolean value that indicates whether the client sends the body only after `100 Continue`.
  mutating func begin(bodyLength: Int?, persists: Bool, awaitsContinue: Bool) {
    precondition(isWaiting, "a request began before the last one was over")
    phase = .exchanging(
      Exchange(
        isReceiving: true,
        remaining: bodyLength,
        awaitsContinue: awaitsContinue && bodyLength != 0,
        persists: persists
      )
    )
  }

  /// The action for a piece of the body.
  enum BodyAction {
    case deliver
    case discard
    case closeGracefully
  }

  /// Handles a piece of the body.
  mutating func receive(bytes: Int) -> BodyAction {
    guard case .exchanging(var exchange) = phase, exchange.isReceiving else { return .discard }
    exchange.awaitsContinue = false
    exchange.remaining = exchange.remaining.map { $0 - bytes }
    guard exchange.answer == .sent else {
      phase = .exchanging(exchange)
      return .deliver
    }
    exchange.discarded += bytes
    guard exchange.discarded <= Self.discardLimit else {
      phase = .lingering
      return .closeGracefully
    }
    phase = .exchanging(exchange)
    return .discard
  }

  /// The action at a request's end.
  enum EndAction {
    case endBody
    case nextRequest
    case none
  }

  /// Ends the request, which was received whole.
  mutating func receiveEnd() -> EndAction {
    guard case .exchanging(var exchange) = phase, exchange.isReceiving else { return .none }
    exchange.isReceiving = false
    exchange.awaitsContinue = false
    guard exchange.answer == .sent else {
      phase = .exchanging(exchange)
      return .endBody
    }
    phase = .waiting
    return .nextRequest
  }

  /// Handles the reader's demand for the body. Returns a Boolean value that indicates whether `100 Continue` is to be
  /// sent.
  mutating func wantBody() -> Bool {
    guard case .exchanging(var exchange) = phase, exchange.awaitsContinue else { return false }
    exchange.awaitsContinue = false
    phase = .exchanging(exchange)
    return exchange.answer == .owed
  }

  // MARK: The response

  /// Begins the response. Returns a Boolean value that indicates whether the connection persists after it, which its
  /// head must tell.
  ///
  /// - Parameter hasQueued: a Boolean value that indicates whether another request was received already; those are
  ///   served before the end.
  mutating func beginResponse(hasQueued: Bool, wantsClose: Bool = false) -> Bool {
    guard case .exchanging(var exchange) = phase else { return false }
    exchange.answer = .begun
    if wantsClose || ((isDraining || isInputClosed) && !hasQueued) { exchange.persists = false }
    if exchange.isReceiving {
      let isShort = exchange.remaining.map { $0 <= Self.discardLimit } ?? false
      if exchange.awaitsContinue || !isShort { exchange.persists = false }
    }
    phase = .exchanging(exchange)
    return exchange.persists
  }

  /// The action at a response's end.
  enum AfterResponse {
    case nextRequest
    case awaitRequestEnd
    case closeGracefully
  }

  /// Ends the response, whose last byte is written.
  mutating func endResponse(hasQueued: Bool) -> AfterResponse {
    guard case .exchanging(var exchange) = phase else { return .closeGracefully }
    guard exchange.persists, hasQueued || !(isDraining || isInputClosed) else {
      phase = .lingering
      return .closeGracefully
    }
    guard exchange.isReceiving else {
      phase = .waiting
      return .nextRequest
    }
    exchange.answer = .sent
    phase = .exchanging(exchange)
    return .awaitRequestEnd
  }

  // MARK: Failure

  /// The action when the rest of the input is unusable.
  enum FailureAction {
    /// The problem is the response, and the connection is closed.
    case answer
    /// The body ends with an error; the responder's response is sent, then the connection is closed.
    case failBody
    /// The current request is complete: it is served first.
    case postpone
    case closeGracefully
    case none
  }

  /// Handles input that is invalid or late.
  mutating func failInput() -> FailureAction {
    switch phase {
    case .waiting:
      phase = .lingering
      return .answer
    case .exchanging(var exchange):
      guard exchange.isReceiving else { return .postpone }
      guard exchange.answer != .sent else {
        phase = .lingering
        return .closeGracefully
      }
      exchange.isReceiving = false
      exchange.awaitsContinue = false
      exchange.persists = false
      phase = .exchanging(exchange)
      return .failBody
    case .lingering, .closed:
      return .none
    }
  }

  /// The action when the client has sent its last byte.
  enum InputEndAction {
    /// The current request is complete: it is served.
    case finishAnswering
    /// Nothing is to come; a response may still be on its way.
    case closeGracefully
    /// The current request is incomplete.
    case close
    /// The connection is closing already.
    case finishClosing
  }

  /// Handles the client's last byte; the client may still read.
  mutating func endInput(hasQueued: Bool) -> InputEndAction {
    isInputClosed = true
    switch phase {
    case .waiting: return hasQueued ? .finishAnswering : .closeGracefully
    case .exchanging(let exchange): return exchange.isReceiving ? .close : .finishAnswering
    case .lingering, .closed: return .finishClosing
    }
  }

  /// Ends the connection after the current request.
  mutating func drain() { isDraining = true }

  /// Discards further input: the connection is rejected, or ends without regard to the current request.
  mutating func linger() { phase = .lingering }

  /// Ends the connection.
  mutating func close() { phase = .closed }
}
