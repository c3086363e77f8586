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

    #expect(state.isDrained)
  }
}
