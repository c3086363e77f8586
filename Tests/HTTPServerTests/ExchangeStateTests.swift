import Testing

@testable import HTTPServer

@Suite struct ExchangeStateTests {
  private static func receiving(awaitsContinue: Bool = false) -> ExchangeState {
    var state = ExchangeState()
    state.begin(hasBody: true, awaitsContinue: awaitsContinue)
    return state
  }

  @Test func inputThatIsWantedDuringAPauseIsReadAfterIt() {
    var state = Self.receiving()
    let now = state.wantRead()
    let unwanted = state.resumeBody()
    state.pauseBody()
    let held = state.wantRead()
    let resumed = state.resumeBody()
    let again = state.resumeBody()
    let last = state.wantRead()

    #expect([now, unwanted, held, resumed, again, last] == [true, false, false, true, false, true])
  }

  @Test func pauseWithoutADemandEndsWithoutARead() {
    var state = Self.receiving()
    state.pauseBody()
    let reads = state.resumeBody()

    #expect(!reads)
  }

  @Test func bodyIsAwaitedWhileItsReaderTakesIt() {
    var state = Self.receiving()
    let begun = state.awaitsBody
    state.pauseBody()
    let paused = state.awaitsBody
    _ = state.resumeBody()
    let resumed = state.awaitsBody
    _ = state.receiveEnd()

    #expect([begun, paused, resumed, state.awaitsBody] == [true, false, true, false])
  }

  @Test func bodyThatTheClientHoldsBackOrThatFailedIsNotAwaited() {
    var failed = Self.receiving()
    let action = failed.failInput()

    #expect(!Self.receiving(awaitsContinue: true).awaitsBody)
    #expect(action == .failBody)
    #expect(!failed.awaitsBody)
  }

  @Test func bodyThatIsLateAfterTheWholeResponseStopsTheStream() {
    var state = Self.receiving()
    state.beginResponse()
    let during = Self.failing(state)
    state.endResponse()
    let untaken = Self.failing(state)
    state.responseIsSent()

    #expect([during, untaken, Self.failing(state)] == [.cut, .none, .stop])
  }

  private static func failing(_ state: ExchangeState) -> ExchangeState.FailureAction {
    var state = state
    return state.failInput()
  }
}
