/// Where one connection of HTTP/1.1 stands: which request is on, how much of it has come, how much of its answer has
/// gone, and whether the connection outlives it.
///
/// It does nothing itself: each event answers what is to be done. A request is on from its head until its answer is sent
/// and its body is over; only then the next head may come in.
struct ConnectionState {
  /// How many bytes of a body that nobody reads are thrown away for the sake of keeping the connection.
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
    /// Whether more of the request is to come.
    var isReceiving: Bool
    /// How many bytes of the body are to come, where the client said it.
    var remaining: Int?
    var awaitsContinue: Bool
    var persists: Bool
    var answer = Answer.owed
    var discarded = 0
  }

  private var phase = Phase.waiting
  private var isDraining = false
  private(set) var isInputClosed = false

  // MARK: What the state is

  /// Whether the next request may come in.
  var isWaiting: Bool { if case .waiting = phase { true } else { false } }

  /// Whether a request waits for its answer to begin.
  var owesAnswer: Bool { if case .exchanging(let exchange) = phase { exchange.answer == .owed } else { false } }

  /// Whether an answer has begun and not ended.
  var isAnswering: Bool { if case .exchanging(let exchange) = phase { exchange.answer == .begun } else { false } }

  /// Whether more of the current request's body is to come.
  var isReceiving: Bool { if case .exchanging(let exchange) = phase { exchange.isReceiving } else { false } }

  /// Whether the client holds its body back until it is told `100 Continue`.
  var awaitsContinue: Bool { if case .exchanging(let exchange) = phase { exchange.awaitsContinue } else { false } }

  /// Whether the last answer is sent and what still comes in is thrown away.
  var isLingering: Bool { if case .lingering = phase { true } else { false } }

  /// Whether nothing is to be done any more.
  var isClosed: Bool { if case .closed = phase { true } else { false } }

  /// Whether an idle connection should end.
  var isDrained: Bool { isDraining && isWaiting }

  // MARK: The request

  /// A request's head has come in.
  ///
  /// - Parameters:
  ///   - bodyLength: how long its body is; `nil` where its end marks it.
  ///   - persists: whether the client lets the connection go on after the answer.
  ///   - awaitsContinue: whether the client holds the body back.
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

  /// What becomes of a piece of the body.
  enum BodyAction {
    case deliver
    case discard
    case closeGracefully
  }

  /// A piece of the body has come in.
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

  /// What follows from a request's end.
  enum EndAction {
    case endBody
    case nextRequest
    case none
  }

  /// The whole request has come in.
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

  /// The reader wants the body. Answers whether the client must be told `100 Continue` for it.
  mutating func wantBody() -> Bool {
    guard case .exchanging(var exchange) = phase, exchange.awaitsContinue else { return false }
    exchange.awaitsContinue = false
    phase = .exchanging(exchange)
    return exchange.answer == .owed
  }

  // MARK: The answer

  /// The answer begins. Answers whether the connection goes on after it, which its head must tell.
  ///
  /// - Parameter hasQueued: whether another request has come in already; those are answered before the end.
  mutating func beginAnswer(hasQueued: Bool, wantsClose: Bool = false) -> Bool {
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

  /// What follows the end of an answer.
  enum AfterAnswer {
    case nextRequest
    case awaitRequestEnd
    case closeGracefully
  }

  /// The answer's last byte is handed to the socket.
  mutating func endAnswer(hasQueued: Bool) -> AfterAnswer {
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

  // MARK: What goes wrong

  /// What follows when the rest of the input can't be used.
  enum FailureAction {
    /// Answer with the problem and close.
    case answer
    /// The body ends with an error; the responder's answer goes out, then the connection is closed.
    case failBody
    /// The current request is whole: answer it first.
    case postpone
    case closeGracefully
    case none
  }

  /// The input broke the rules, or took too long.
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

  /// What follows when the client has sent its last byte.
  enum InputEndAction {
    /// The current request is whole: answer it.
    case finishAnswering
    /// Nothing is to come; what was answered may still be on its way.
    case closeGracefully
    /// Half a request can't be answered.
    case close
    /// The end has begun already.
    case finishClosing
  }

  /// The client has sent its last byte; it may still read.
  mutating func endInput(hasQueued: Bool) -> InputEndAction {
    isInputClosed = true
    switch phase {
    case .waiting: return hasQueued ? .finishAnswering : .closeGracefully
    case .exchanging(let exchange): return exchange.isReceiving ? .close : .finishAnswering
    case .lingering, .closed: return .finishClosing
    }
  }

  /// From now on connections end after the request that is on.
  mutating func drain() { isDraining = true }

  /// The connection is refused, or is to end without regard to what is on: what comes in is thrown away.
  mutating func linger() { phase = .lingering }

  /// The connection has ended.
  mutating func close() { phase = .closed }
}
