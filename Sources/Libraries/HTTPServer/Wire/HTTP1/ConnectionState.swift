/// The state of a connection of HTTP/1.1: its current request, what is read and served next, and whether the connection
/// persists.
///
/// It has no effects: each event returns the action to take. A request is current from its head until its response is
/// sent and its body has ended; only then the next head is accepted.
struct ConnectionState {
  private enum Phase {
    case waiting
    case exchanging
    case lingering
    case closed
  }

  private var phase = Phase.waiting
  /// The state of the current request, which matters while one is `exchanging`.
  private var exchange = ExchangeState()
  /// The number of bytes of its body that are to come, if the client announced it.
  private var remaining: Int?
  private var persists = true
  private var isDraining = false
  private(set) var isInputClosed = false

  /// A Boolean value that indicates whether a burst of parts is coming in, whose responses leave together at its end.
  private(set) var isReading = false
  private var hasPartsInBurst = false
  private var wantsRead = false

  /// A Boolean value that indicates whether a part of a request's head has come in.
  private(set) var hasBegunHead = false
  private var isServingQueue = false
  private var isDispatching = false

  /// The number of requests that have begun, which distinguishes a late demand for an earlier body from a current one.
  private(set) var requestsBegun = 0

  // MARK: Inspection

  var isWaiting: Bool { phase == .waiting }
  var owesResponse: Bool { phase == .exchanging && exchange.owesResponse }
  var isResponding: Bool { phase == .exchanging && exchange.isResponding }
  var isReceiving: Bool { phase == .exchanging && exchange.isReceiving }
  var awaitsContinue: Bool { phase == .exchanging && exchange.awaitsContinue }
  private var isBodyPaused: Bool { phase == .exchanging && exchange.isBodyPaused }

  /// A Boolean value that indicates whether the last response is sent and further input is discarded.
  var isLingering: Bool { phase == .lingering }
  var isClosed: Bool { phase == .closed }

  /// The event that must happen next in time, while all that was written is taken.
  ///
  /// - Parameter hasQueued: a Boolean value that indicates whether input waits for the end of the current request.
  func nextDeadline(hasQueued: Bool) -> Deadline.Kind {
    if isWaiting {
      if hasBegunHead { return .header }
      guard isDraining, !hasQueued else { return .idle }
      return requestsBegun > 0 ? .lastRequest : .firstRequest
    }
    if isReceiving { return exchange.awaitsBody ? .body : .nothing }
    return isInputClosed && owesResponse ? .hangUp : .nothing
  }

  // MARK: Reading

  mutating func receivePart() {
    isReading = true
    hasPartsInBurst = true
  }

  mutating func endBurst() { isReading = false }

  /// Handles the end of a burst whose parts were served. Without a whole part it was the beginning of a head. Returns a
  /// Boolean value that indicates whether the rest of a head is awaited from now on.
  mutating func noteBegunHead() -> Bool {
    defer { hasPartsInBurst = false }
    guard isWaiting, !hasPartsInBurst, !hasBegunHead else { return false }
    hasBegunHead = true
    return true
  }

  /// Handles a whole head, which is valid or not.
  mutating func receiveHead() { hasBegunHead = false }

  /// Handles the demand for input. Returns a Boolean value that indicates whether it is to be read now: not while parts
  /// are queued, or a body's reader is slow.
  mutating func wantRead(hasQueuedParts: Bool) -> Bool {
    guard isLingering || (!hasQueuedParts && !isBodyPaused) else {
      wantsRead = true
      return false
    }
    return true
  }

  /// Returns a Boolean value that indicates whether input that was wanted before is to be read now.
  mutating func resumeReading(hasQueuedParts: Bool) -> Bool {
    guard wantsRead, !hasQueuedParts, !isBodyPaused else { return false }
    wantsRead = false
    return true
  }

  mutating func pauseBody() { exchange.pauseBody() }

  mutating func resumeBody() { _ = exchange.resumeBody() }

  // MARK: Serving

  /// Returns a Boolean value that indicates whether the queue is to be served: what that calls may ask for it again.
  mutating func beginServingQueue() -> Bool {
    guard !isServingQueue, !isDispatching else { return false }
    isServingQueue = true
    return true
  }

  mutating func endServingQueue() { isServingQueue = false }

  /// Begins the call of the responder, which may return the response at once.
  mutating func beginDispatching() { isDispatching = true }

  mutating func endDispatching() { isDispatching = false }

  // MARK: The request

  /// Begins a request, whose head was received.
  ///
  /// - Parameters:
  ///   - bodyLength: the length of its body; `nil` if the body's own end marks it.
  ///   - persists: a Boolean value that indicates whether the client permits the connection to persist.
  ///   - awaitsContinue: a Boolean value that indicates whether the client sends the body only after `100 Continue`.
  mutating func begin(bodyLength: Int?, persists: Bool, awaitsContinue: Bool) {
    precondition(isWaiting, "a request began before the last one was over")
    phase = .exchanging
    requestsBegun += 1
    exchange = ExchangeState()
    exchange.begin(hasBody: true, awaitsContinue: awaitsContinue && bodyLength != 0)
    remaining = bodyLength
    self.persists = persists
  }

  mutating func receive(bytes: Int) -> ExchangeState.BodyAction {
    guard isReceiving else { return .discard }
    remaining = remaining.map { $0 - bytes }
    let action = exchange.receive(bytes: bytes)
    if action == .stop { phase = .lingering }
    return action
  }

  enum EndAction {
    case endBody
    case nextRequest
    case none
  }

  /// Ends the request, which was received whole.
  mutating func receiveEnd() -> EndAction {
    guard phase == .exchanging, exchange.receiveEnd() else { return .none }
    guard exchange.isSent else { return .endBody }
    phase = .waiting
    return .nextRequest
  }

  mutating func wantBody() -> Bool { phase == .exchanging && exchange.wantBody() }

  // MARK: The response

  /// Begins the response. Returns a Boolean value that indicates whether the connection persists after it, which its
  /// head must tell.
  ///
  /// - Parameter hasQueued: a Boolean value that indicates whether another request was received already; those are
  ///   served before the end.
  mutating func beginResponse(hasQueued: Bool, wantsClose: Bool = false) -> Bool {
    guard phase == .exchanging else { return false }
    exchange.beginResponse()
    if wantsClose || ((isDraining || isInputClosed) && !hasQueued) { persists = false }
    if isReceiving {
      let isShort = remaining.map { $0 <= ExchangeState.discardLimit } ?? false
      if awaitsContinue || !isShort { persists = false }
    }
    return persists
  }

  enum AfterResponse {
    case nextRequest
    case awaitRequestEnd
    case closeGracefully
  }

  /// Ends the response, whose last byte is written.
  mutating func endResponse(hasQueued: Bool) -> AfterResponse {
    guard phase == .exchanging else { return .closeGracefully }
    guard persists, hasQueued || !(isDraining || isInputClosed) else {
      phase = .lingering
      return .closeGracefully
    }
    guard exchange.isReceiving else {
      phase = .waiting
      return .nextRequest
    }
    exchange.responseIsSent()
    resumeBody()
    return .awaitRequestEnd
  }

  // MARK: Failure

  /// The action when the rest of the input is unusable.
  enum FailureAction {
    /// The problem is the response, and the connection is closed.
    case reject
    /// The body ends with an error; the responder's response is sent, then the connection is closed.
    case failBody
    /// Complete requests came before: they are served first.
    case postpone
    case closeGracefully
    case none
  }

  /// Handles input that is invalid or late.
  ///
  /// - Parameter hasQueued: a Boolean value that indicates whether another request was received before it.
  mutating func failInput(hasQueued: Bool) -> FailureAction {
    switch phase {
    case .waiting where hasQueued: return .postpone
    case .waiting:
      phase = .lingering
      return .reject
    case .exchanging:
      guard exchange.isReceiving else { return .postpone }
      guard !exchange.isSent else {
        phase = .lingering
        return .closeGracefully
      }
      _ = exchange.receiveEnd()
      persists = false
      return .failBody
    case .lingering, .closed:
      return .none
    }
  }

  /// The action when the client has sent its last byte.
  enum InputEndAction {
    /// The current request is complete: it is served.
    case finishResponding
    /// Nothing is to come; a response may still be on its way.
    case closeGracefully
    /// The current request is incomplete, which is a failure of the input.
    case failInput
    case finishClosing
  }

  /// Handles the client's last byte; the client may still read.
  mutating func endInput(hasQueued: Bool) -> InputEndAction {
    isInputClosed = true
    switch phase {
    case .waiting: return hasQueued ? .finishResponding : .closeGracefully
    case .exchanging: return exchange.isReceiving ? .failInput : .finishResponding
    case .lingering, .closed: return .finishClosing
    }
  }

  /// Ends the connection after the current request.
  mutating func drain() { isDraining = true }

  /// Discards further input: the connection is rejected, or ends without regard to the current request.
  mutating func linger() {
    phase = .lingering
    wantsRead = false
  }

  mutating func close() { phase = .closed }
}
