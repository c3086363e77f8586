import Testing

@testable import AccessControl

@Suite struct RateLimitTests {
  private static let second: Int64 = 1_000_000_000

  /// Sends requests at these times and returns which were admitted.
  private func decide(_ limit: RateLimit, atMilliseconds times: [Int64]) -> [Bool] {
    var fullAt: Int64 = 0
    return times.map { time in
      let decision = limit.decide(fullAt: fullAt, now: Self.second + time * 1_000_000)
      fullAt = decision.fullAt
      return decision.isAllowed
    }
  }

  @Test func burstIsAllowedThenTheSustainedRateApplies() {
    let limit = RateLimit(requestsPerSecond: 10, burst: 3)

    let allowed = decide(limit, atMilliseconds: [0, 0, 0, 0, 99, 100, 100, 200])

    #expect(allowed == [true, true, true, false, false, true, false, true])
  }

  @Test func allowanceOfAnIdleClientNeverExceedsTheBurst() {
    let limit = RateLimit(requestsPerSecond: 10, burst: 3)

    let allowed = decide(limit, atMilliseconds: [0, 3_600_000, 3_600_000, 3_600_000, 3_600_000])

    #expect(allowed == [true, true, true, true, false])
  }

  @Test func rejectedRequestsAreNotCounted() {
    let limit = RateLimit(requestsPerSecond: 10, burst: 1)

    let allowed = decide(limit, atMilliseconds: [0, 20, 40, 60, 80, 100])

    #expect(allowed == [true, false, false, false, false, true])
  }

  @Test(arguments: [(0.5, 2000), (0.001, 1_000_000), (2.5, 400), (1_000_000, 1)])
  func rateMayBeAFraction(perSecond: Double, milliseconds: Int64) {
    let limit = RateLimit(requestsPerSecond: perSecond, burst: 1)

    #expect(decide(limit, atMilliseconds: [0, milliseconds - 1, milliseconds]).last == true)
    #expect(milliseconds == 1 || decide(limit, atMilliseconds: [0, milliseconds - 1]) == [true, false])
  }

  @Test func resetTimeIsRoundedUpToWholeSeconds() {
    let limit = RateLimit(requestsPerSecond: 0.4, burst: 2)

    let first = limit.decide(fullAt: 0, now: Self.second)
    let second = limit.decide(fullAt: first.fullAt, now: Self.second)
    let third = limit.decide(fullAt: second.fullAt, now: Self.second)

    #expect([first.remaining, second.remaining, third.remaining] == [1, 0, 0])
    #expect([first.resetSeconds, second.resetSeconds, third.resetSeconds] == [3, 5, 3])
    #expect(limit.windowSeconds == 5)
  }

  @Test func largestLimitDoesNotOverflow() {
    let limit = RateLimit(requestsPerSecond: 0.001, burst: 1_000_000)

    let decision = limit.decide(fullAt: 0, now: Self.second)

    #expect(decision.isAllowed)
    #expect(decision.remaining == 999_999)
    #expect(limit.windowSeconds == 1_000_000_000)
  }
}
