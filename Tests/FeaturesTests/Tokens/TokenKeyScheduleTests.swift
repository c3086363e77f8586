import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Tokens

@Suite struct TokenKeyScheduleTests {
  private let start = ContinuousClock.now

  @Test func theFirstFetchIsDueAtOnce() {
    #expect(TokenKeySchedule(at: start).nextFetch == start)
  }

  @Test(arguments: [
    (Duration?.none, Duration.seconds(600)), (.zero, .seconds(300)), (.seconds(900), .seconds(900)),
    (.seconds(1 << 31), .seconds(86_400)),
  ])
  func fetchIntervalIsTheIssuersWithinBounds(maximumAge: Duration?, expected: Duration) {
    var schedule = TokenKeySchedule(at: start)

    schedule.succeeded(maximumAge: maximumAge, at: start, jitter: 0)
    let longest = schedule.nextFetch
    schedule.succeeded(maximumAge: maximumAge, at: start, jitter: 1)
    let shortest = schedule.nextFetch

    #expect(longest == start + expected)
    #expect(shortest == start + expected * 0.9)
  }

  @Test func retryPauseDoublesUpToABoundAndResetsAfterASuccess() {
    var schedule = TokenKeySchedule(at: start)
    func pauses(_ count: Int) -> [Duration] {
      (0..<count).map { _ in
        schedule.failed(at: start, jitter: 0)
        return start.duration(to: schedule.nextFetch)
      }
    }

    let first = pauses(100)
    schedule.succeeded(maximumAge: nil, at: start, jitter: 0)
    let second = pauses(1)
    schedule.failed(at: start, jitter: 1)
    let halved = start.duration(to: schedule.nextFetch)

    let doubled: [Duration] = [1, 2, 4, 8, 16, 32, 60, 60].map { .seconds($0) }
    #expect(Array(first.prefix(8)) == doubled)
    #expect(first.last == .seconds(60))
    #expect(second == [.seconds(1)])
    // The second failure in a row: 2 s.
    #expect(halved == .seconds(1))
  }

  @Test func fetchesForTokensAreLimitedToOneIn30Seconds() {
    var schedule = TokenKeySchedule(at: start)
    schedule.succeeded(maximumAge: nil, at: start, jitter: 0)

    let allowed = (0..<90).filter { schedule.allowsDemand(at: start + .seconds($0)) }

    #expect(allowed == [0, 30, 60])
  }

  @Test func theTimeUntilTheNextFetchIsRoundedUpToSeconds() {
    var schedule = TokenKeySchedule(at: start)
    schedule.failed(at: start, jitter: 0)
    schedule.failed(at: start, jitter: 0.5)

    let seconds = [0, 400, 600, 1500, 5000].map { schedule.secondsUntilNextFetch(at: start + .milliseconds($0)) }

    #expect(seconds == [2, 2, 1, 1, 1])
  }
}
