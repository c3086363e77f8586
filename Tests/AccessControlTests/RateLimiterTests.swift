import Synchronization
import Testing

@testable import AccessControl

@Suite struct RateLimiterTests {
  /// A time that a test sets, in nanoseconds.
  private final class Time: Sendable {
    private let value = Atomic<Int64>(1_000_000_000)
    var now: Int64 { value.load(ordering: .relaxed) }
    func pass(milliseconds: Int64) { value.wrappingAdd(milliseconds * 1_000_000, ordering: .relaxed) }
  }

  private let time = Time()

  private func limiter(requestsPerSecond: Double = 1, burst: Int = 5) -> RateLimiter {
    RateLimiter(RateLimit(requestsPerSecond: requestsPerSecond, burst: burst)) { [time] in time.now }
  }

  @Test func eachClientHasItsOwnLimit() {
    let limiter = limiter(burst: 2)

    let first = (0..<3).map { _ in limiter.admit("a").isAllowed }
    let second = limiter.admit("b")

    #expect(first == [true, true, false])
    #expect(second == .init(isAllowed: true, fullAt: second.fullAt, remaining: 1, resetSeconds: 1))
  }

  @Test func allowanceGrowsWithElapsedTime() {
    let limiter = limiter(burst: 1)
    #expect(limiter.admit("a").isAllowed)
    #expect(!limiter.admit("a").isAllowed)

    time.pass(milliseconds: 1000)

    #expect(limiter.wouldAdmit("a"))
    #expect(limiter.admit("a").isAllowed)
    #expect(!limiter.wouldAdmit("a"))
  }

  @Test func otherClientsNeverResetALimitedClient() {
    let limiter = limiter(burst: 5)
    for _ in 0..<5 { _ = limiter.admit("attacker") }

    for other in 0..<300_000 { _ = limiter.admit(other) }

    #expect(!limiter.admit("attacker").isAllowed)
  }

  @Test func clientsOverTheLimitHardlyAffectOthers() {
    let limiter = limiter(burst: 2)
    for client in 0..<10_000 { for _ in 0..<3 { _ = limiter.admit(client) } }

    let refused = (10_000..<11_000).count { !limiter.admit($0).isAllowed }

    // A seventh of the cells are full: of all four, one in two thousand.
    #expect(refused < 20)
  }

  @Test func concurrentThreadsNeverExceedTheBurst() async {
    let limiter = limiter(burst: 1000)

    let allowed = await withTaskGroup(of: Int.self) { group in
      for _ in 0..<8 { group.addTask { (0..<500).count { _ in limiter.admit("a").isAllowed } } }
      return await group.reduce(0, +)
    }

    #expect(allowed == 1000)
  }

  @Test func rateLimitFieldsAreStructuredFields() {
    let limiter = limiter(requestsPerSecond: 0.5, burst: 3)

    let fields = limiter.fields(for: limiter.admit("a"))

    #expect(fields.map(\.0) == ["ratelimit-policy", "ratelimit"])
    #expect(fields.map(\.1) == [#""default";q=3;w=6"#, #""default";r=2;t=2"#])
  }
}
