/// The times at which an issuer's keys are fetched. It has no effects.
struct TokenKeySchedule {
  typealias Instant = ContinuousClock.Instant

  /// The bounds of the schedule.
  struct Limits {
    /// The longest time between two fetches where the issuer does not say how long its keys may be kept.
    var usualInterval = Duration.seconds(600)

    /// The shortest time between two fetches, whatever the issuer says.
    var shortestInterval = Duration.seconds(300)

    /// The longest time between two fetches, whatever the issuer says. A key that is withdrawn may be trusted for so
    /// long.
    var longestInterval = Duration.seconds(86_400)

    /// The shortest time between two fetches that are made because of tokens. Anyone may send such tokens.
    var shortestDemandInterval = Duration.seconds(30)

    /// The pause after the first failure in a row. It doubles with each failure.
    var firstPause = Duration.seconds(1)

    /// The longest pause after a failure.
    var longestPause = Duration.seconds(60)
  }

  /// The time at which the next fetch is due.
  private(set) var nextFetch: Instant

  /// The number of fetches in a row that failed.
  private(set) var failures = 0

  private let limits: Limits
  private var lastDemand: Instant?

  /// Creates a schedule whose first fetch is due.
  init(at now: Instant, limits: Limits = Limits()) {
    nextFetch = now
    self.limits = limits
  }

  /// Notes a fetch that succeeded.
  ///
  /// - Parameters:
  ///   - maximumAge: the time for which the issuer's keys may be kept; `nil` where the issuer sets none.
  ///   - jitter: a random number from 0 to 1, which shortens the interval by up to a tenth, so that servers that were
  ///     started together don't fetch together for ever.
  mutating func succeeded(maximumAge: Duration?, at now: Instant, jitter: Double) {
    let interval = min(max(maximumAge ?? limits.usualInterval, limits.shortestInterval), limits.longestInterval)
    failures = 0
    nextFetch = now + interval * (1 - jitter / 10)
  }

  /// Notes a fetch that failed.
  ///
  /// - Parameter jitter: a random number from 0 to 1, which shortens the pause by up to half.
  mutating func failed(at now: Instant, jitter: Double) {
    failures += 1
    let pause = min(limits.longestPause, limits.firstPause * (1 << min(failures - 1, 20)))
    nextFetch = now + pause * (1 - jitter / 2)
  }

  /// Returns a Boolean value that indicates whether the keys may be fetched because of a token, which they then are.
  mutating func allowsDemand(at now: Instant) -> Bool {
    if let lastDemand, now < lastDemand + limits.shortestDemandInterval { return false }
    lastDemand = now
    return true
  }

  /// Returns the whole seconds until the next fetch is due, 1 at least.
  func secondsUntilNextFetch(at now: Instant) -> Int {
    let pause = now.duration(to: nextFetch).components
    return max(1, Int(pause.seconds) + (pause.attoseconds > 0 ? 1 : 0))
  }
}
