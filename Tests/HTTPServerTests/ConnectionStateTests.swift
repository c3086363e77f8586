import Testing

@testable import HTTPServer

@Suite struct ConnectionStateTests {
  /// A connection whose request has begun to come in.
  private static func receiving(
    bodyLength: Int? = 0,
    persists: Bool = true,
    awaitsContinue: Bool = false
  ) -> ConnectionState {
    var state = ConnectionState()
    state.begin(bodyLength: bodyLength, persists: persists, awaitsContinue: awaitsContinue)
    return state
  }

  /// A connection whose request has come in whole.
  private static func received(persists: Bool = true) -> ConnectionState {
    var state = receiving(persists: persists)
    _ = state.receiveEnd()
    return state
  }

  @Test func nextRequestFollowsACompletedResponse() {
    var state = ConnectionState()
    state.begin(bodyLength: 4, persists: true, awaitsContinue: false)
    let chunk = state.receive(bytes: 4)
    let end = state.receiveEnd()
    let owed = state.owesResponse
    let persists = state.beginResponse(hasQueued: false)
    let after = state.endResponse(hasQueued: false)

    #expect(chunk == .deliver)
    #expect(end == .endBody)
    #expect(owed)
    #expect(persists)
    #expect(after == .nextRequest)
    #expect(state.isWaiting)
  }

  @Test func connectionClosesAfterTheResponseIfTheClientAsked() {
    var state = Self.received(persists: false)
    let persists = state.beginResponse(hasQueued: true)
    let after = state.endResponse(hasQueued: true)

    #expect(!persists)
    #expect(after == .closeGracefully)
    #expect(state.isLingering)
  }

  @Test func connectionClosesAfterTheResponseIfTheResponderAsked() {
    var state = Self.received()
    let persists = state.beginResponse(hasQueued: false, wantsClose: true)

    #expect(!persists)
  }

  // MARK: Responses before the request's end

  @Test func shortRestOfABodyIsDiscardedAndTheConnectionKept() {
    var state = Self.receiving(bodyLength: ExchangeState.discardLimit)
    let persists = state.beginResponse(hasQueued: false)
    let after = state.endResponse(hasQueued: false)
    let chunk = state.receive(bytes: ExchangeState.discardLimit)
    let end = state.receiveEnd()

    #expect(persists)
    #expect(after == .awaitRequestEnd)
    #expect(chunk == .discard)
    #expect(end == .nextRequest)
  }

  @Test(arguments: [ExchangeState.discardLimit + 1, nil])
  func longOrUnknownRestOfABodyEndsTheConnection(bodyLength: Int?) {
    var state = Self.receiving(bodyLength: bodyLength)
    let persists = state.beginResponse(hasQueued: false)
    let after = state.endResponse(hasQueued: false)

    #expect(!persists)
    #expect(after == .closeGracefully)
  }

  @Test func bodyLongerThanAnnouncedEndsTheConnection() {
    var state = Self.receiving(bodyLength: 10)
    _ = state.beginResponse(hasQueued: false)
    _ = state.endResponse(hasQueued: false)
    let chunk = state.receive(bytes: ExchangeState.discardLimit + 1)

    #expect(chunk == .stop)
  }

  // MARK: 100 Continue

  @Test func continueIsSentOnlyOnce() {
    var state = Self.receiving(bodyLength: 10, awaitsContinue: true)
    let first = state.wantBody()
    let second = state.wantBody()
    let persists = state.beginResponse(hasQueued: false)

    #expect(first)
    #expect(!second)
    #expect(persists)
  }

  @Test func clientThatSendsItsBodyAtOnceReceivesNoContinue() {
    var state = Self.receiving(bodyLength: 10, awaitsContinue: true)
    _ = state.receive(bytes: 1)
    let told = state.wantBody()

    #expect(!told)
  }

  @Test func responseInsteadOfContinueEndsTheConnection() {
    var state = Self.receiving(bodyLength: 10, awaitsContinue: true)
    let persists = state.beginResponse(hasQueued: false)

    #expect(!persists)
  }

  @Test func noContinueIsSentAfterTheResponseHasBegun() {
    var state = Self.receiving(bodyLength: 10, awaitsContinue: true)
    _ = state.beginResponse(hasQueued: false)
    let told = state.wantBody()

    #expect(!told)
  }

  // MARK: Failure

  @Test func malformedInputIsRejectedWhileNoRequestIsCurrent() {
    var state = ConnectionState()
    let action = state.failInput(hasQueued: false)

    #expect(action == .reject)
    #expect(state.isLingering)
  }

  @Test func malformedInputWaitsForQueuedRequests() {
    var state = ConnectionState()
    let action = state.failInput(hasQueued: true)

    #expect(action == .postpone)
    #expect(state.isWaiting)
  }

  @Test func malformedInputEndsTheCurrentBody() {
    var state = Self.receiving(bodyLength: nil)
    let action = state.failInput(hasQueued: false)
    let persists = state.beginResponse(hasQueued: false)

    #expect(action == .failBody)
    #expect(!persists)
  }

  @Test func malformedInputAfterARequestWaitsForItsResponse() {
    var state = Self.received()
    let action = state.failInput(hasQueued: false)

    #expect(action == .postpone)
    #expect(state.owesResponse)
  }

  @Test func malformedRestOfABodyEndsTheConnection() {
    var state = Self.receiving(bodyLength: 10)
    _ = state.beginResponse(hasQueued: false)
    _ = state.endResponse(hasQueued: false)
    let action = state.failInput(hasQueued: false)

    #expect(action == .closeGracefully)
  }

  @Test func eventsAfterTheEndAreIgnored() {
    var lingering = ConnectionState()
    lingering.linger()
    var closed = Self.receiving(bodyLength: 10)
    closed.close()

    #expect(lingering.failInput(hasQueued: false) == .none)
    #expect(lingering.receive(bytes: 1) == .discard)
    #expect(lingering.receiveEnd() == .none)
    #expect(closed.failInput(hasQueued: false) == .none)
    #expect(!closed.owesResponse)
  }

  // MARK: The client's end

  @Test func idleConnectionEndsWithItsInput() {
    var state = ConnectionState()

    #expect(state.endInput(hasQueued: false) == .closeGracefully)
  }

  @Test func incompleteRequestFailsWithTheEndOfItsInput() {
    var state = Self.receiving(bodyLength: 10)

    #expect(state.endInput(hasQueued: false) == .failInput)
    #expect(state.failInput(hasQueued: false) == .failBody)
  }

  @Test func completeRequestsAreServedAfterTheEndOfInput() {
    var state = Self.received()
    let action = state.endInput(hasQueued: true)
    let first = state.beginResponse(hasQueued: true)
    let afterFirst = state.endResponse(hasQueued: true)
    state.begin(bodyLength: 0, persists: true, awaitsContinue: false)
    _ = state.receiveEnd()
    let second = state.beginResponse(hasQueued: false)
    let afterSecond = state.endResponse(hasQueued: false)

    #expect(action == .finishResponding)
    #expect([first, second] == [true, false])
    #expect([afterFirst, afterSecond] == [.nextRequest, .closeGracefully])
  }

  // MARK: Draining

  @Test func drainEndsTheConnectionAfterTheCurrentRequest() {
    var state = Self.received()
    state.drain()
    let persists = state.beginResponse(hasQueued: false)
    let after = state.endResponse(hasQueued: false)

    #expect(!persists)
    #expect(after == .closeGracefully)
  }

  @Test func drainDuringAResponseEndsTheConnectionAfterIt() {
    var state = Self.received()
    _ = state.beginResponse(hasQueued: false)
    state.drain()
    let after = state.endResponse(hasQueued: false)

    #expect(after == .closeGracefully)
  }

  @Test func idleConnectionClosesWhenDraining() {
    var state = ConnectionState()
    state.drain()

    #expect(state.nextDeadline(hasQueued: false) == .firstRequest)
    #expect(state.nextDeadline(hasQueued: true) == .idle)
  }

  @Test func drainWaitsForARequestThatIsOnItsWay() {
    var state = Self.received()
    _ = state.beginResponse(hasQueued: false)
    _ = state.endResponse(hasQueued: false)
    state.drain()

    #expect(state.nextDeadline(hasQueued: false) == .lastRequest)
  }

  // MARK: Deadlines

  @Test func idleConnectionAwaitsARequestAndABegunHeadItsRest() {
    var state = ConnectionState()
    let idle = state.nextDeadline(hasQueued: false)
    let begins = state.noteBegunHead()
    let again = state.noteBegunHead()
    let head = state.nextDeadline(hasQueued: false)
    state.receiveHead()

    #expect(idle == .idle)
    #expect(begins && !again)
    #expect(head == .header)
    #expect(state.nextDeadline(hasQueued: false) == .idle)
  }

  @Test func burstWithAWholePartBeginsNoHead() {
    var state = ConnectionState()
    state.receivePart()
    let reading = state.isReading
    state.endBurst()
    let afterPart = state.noteBegunHead()
    let afterNone = state.noteBegunHead()

    #expect(reading && !state.isReading)
    #expect(!afterPart)
    #expect(afterNone)
  }

  @Test func burstDuringARequestBeginsNoHead() {
    var state = Self.received()
    let begins = state.noteBegunHead()

    #expect(!begins)
    #expect(!state.hasBegunHead)
  }

  @Test func bodyIsAwaitedUnlessItsReaderIsSlowOrTheClientWaits() {
    var state = Self.receiving(bodyLength: 10)
    let awaited = state.nextDeadline(hasQueued: false)
    state.pauseBody()
    let paused = state.nextDeadline(hasQueued: false)
    state.resumeBody()
    let resumed = state.nextDeadline(hasQueued: false)
    let waiting = Self.receiving(bodyLength: 10, awaitsContinue: true).nextDeadline(hasQueued: false)

    #expect([awaited, paused, resumed, waiting] == [.body, .nothing, .body, .nothing])
  }

  @Test func clientThatClosedItsSideWhileAResponseIsOwedMayHaveGone() {
    var state = Self.received()
    let before = state.nextDeadline(hasQueued: false)
    _ = state.endInput(hasQueued: false)
    let after = state.nextDeadline(hasQueued: false)
    _ = state.beginResponse(hasQueued: false)

    #expect([before, after, state.nextDeadline(hasQueued: false)] == [.nothing, .hangUp, .nothing])
  }

  // MARK: Reading

  @Test func queuedPartsHoldReadingBack() {
    var state = ConnectionState()
    let now = state.wantRead(hasQueuedParts: false)
    let unwanted = state.resumeReading(hasQueuedParts: false)
    let held = state.wantRead(hasQueuedParts: true)
    let stillHeld = state.resumeReading(hasQueuedParts: true)
    let resumed = state.resumeReading(hasQueuedParts: false)
    let again = state.resumeReading(hasQueuedParts: false)

    #expect([now, unwanted, held, stillHeld, resumed, again] == [true, false, false, false, true, false])
  }

  @Test func slowReaderOfABodyHoldsReadingBack() {
    var state = Self.receiving(bodyLength: 10)
    state.pauseBody()
    let held = state.wantRead(hasQueuedParts: false)
    let stillHeld = state.resumeReading(hasQueuedParts: false)
    state.resumeBody()
    let resumed = state.resumeReading(hasQueuedParts: false)

    #expect([held, stillHeld, resumed] == [false, false, true])
  }

  @Test func pauseOfABodyEndsWithItsResponse() {
    var state = Self.receiving(bodyLength: 10)
    state.pauseBody()
    _ = state.wantRead(hasQueuedParts: false)
    _ = state.beginResponse(hasQueued: false)
    let after = state.endResponse(hasQueued: false)
    let resumed = state.resumeReading(hasQueuedParts: false)

    #expect(after == .awaitRequestEnd)
    #expect(resumed)
  }

  @Test func lingeringConnectionReadsWhatItDiscardsAndForgetsEarlierDemands() {
    var state = Self.receiving(bodyLength: 10)
    state.pauseBody()
    _ = state.wantRead(hasQueuedParts: true)
    state.linger()
    let resumed = state.resumeReading(hasQueuedParts: false)
    let now = state.wantRead(hasQueuedParts: true)

    #expect([resumed, now] == [false, true])
  }

  // MARK: Serving

  @Test func queueIsServedOnceAtATimeAndNotDuringACall() {
    var state = ConnectionState()
    let first = state.beginServingQueue()
    let nested = state.beginServingQueue()
    state.endServingQueue()
    state.beginDispatching()
    let duringCall = state.beginServingQueue()
    state.endDispatching()
    let last = state.beginServingQueue()

    #expect([first, nested, duringCall, last] == [true, false, false, true])
  }

  @Test func requestsAreCounted() {
    var state = Self.received()
    let first = state.requestsBegun
    _ = state.beginResponse(hasQueued: false)
    _ = state.endResponse(hasQueued: false)
    state.begin(bodyLength: 0, persists: true, awaitsContinue: false)

    #expect([first, state.requestsBegun] == [1, 2])
  }
}
