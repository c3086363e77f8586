package import AccessControl
package import Logging

/// A way to fetch an issuer's keys.
package protocol TokenKeyFetcher: Sendable {
  /// The address for log lines; not a secret.
  var address: String { get }

  /// Fetches the keys, in bounded time and memory.
  ///
  /// - Throws: ``TokenKeyFetchError``.
  func fetch() async throws(TokenKeyFetchError) -> TokenKeyDocument
}

/// A key set as an issuer publishes it.
package struct TokenKeyDocument: Sendable {
  /// The bytes of the JSON text.
  package let json: [UInt8]

  /// The time for which it may be kept; `nil` where the issuer sets none.
  package let maximumAge: Duration?

  package init(json: [UInt8], maximumAge: Duration?) {
    self.json = json
    self.maximumAge = maximumAge
  }
}

/// The reason why keys can't be fetched, in words for operators.
package struct TokenKeyFetchError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The reason.
  package let description: String

  package init(_ description: String) { self.description = description }
}

/// The keys that an issuer publishes, fetched again in the background and when a token names an unknown one.
///
/// There is one fetch at a time, which all who need it wait for. While fetches fail, the keys in force stay.
package actor RemoteTokenKeys<Time: Clock>: TokenKeySource where Time.Instant == ContinuousClock.Instant {
  /// The counts that metrics are made of.
  package struct Counts: Hashable, Sendable {
    /// The number of keys in force.
    package var keys = 0
    /// The number of fetches that succeeded.
    package var successes = 0
    /// The number of fetches that failed.
    package var failures = 0
  }

  /// The maximum number of requests that wait for a fetch.
  static var maximumWaiting: Int { 256 }

  /// The counts as they are now.
  package private(set) var counts = Counts()

  private let fetcher: any TokenKeyFetcher
  private let time: Time
  private let logger: Logger
  private let install: @Sendable (TokenKeySet) -> Void
  private var schedule: TokenKeySchedule
  private var json: [UInt8]?
  private var lastError: TokenKeyFetchError?
  private var current: Task<Void, Never>?
  private var pause: Task<Void, Never>?
  private var waiting = 0
  private var isStopped = false

  /// Creates keys that have not been fetched yet.
  ///
  /// - Parameter install: puts keys in force. It is called for keys that differ from those of the last call.
  package init(
    _ fetcher: any TokenKeyFetcher, time: Time = ContinuousClock(), logger: Logger,
    install: @escaping @Sendable (TokenKeySet) -> Void
  ) {
    self.fetcher = fetcher
    self.time = time
    self.logger = logger
    self.install = install
    schedule = TokenKeySchedule(at: time.now)
  }

  /// Fetches the keys whenever that is due, until the task is cancelled; a fetch in progress is cancelled too.
  package func run() async {
    await withTaskCancellationHandler {
      while !isStopped {
        guard time.now < schedule.nextFetch else {
          await fetch()
          continue
        }
        let pause = Task { [time, due = schedule.nextFetch] in _ = try? await time.sleep(until: due, tolerance: nil) }
        self.pause = pause
        await pause.value
      }
    } onCancel: {
      Task { await stop() }
    }
  }

  private func stop() {
    isStopped = true
    current?.cancel()
    pause?.cancel()
  }

  /// Fetches the keys now, or waits for the end of the fetch in progress.
  package func fetch() async {
    let task =
      current
      ?? Task {
        await perform()
        current = nil
        // It may be due earlier than it was.
        pause?.cancel()
      }
    current = task
    await task.value
  }

  /// Fetches the keys now, by a fetch that begins now.
  ///
  /// - Returns: the number of keys in force.
  /// - Throws: ``TokenKeyFetchError`` where the keys stay as they were.
  package func reload() async throws(TokenKeyFetchError) -> Int {
    if let current { await current.value }
    await fetch()
    if let lastError { throw lastError }
    return counts.keys
  }

  /// Fetches the keys, unless a token had them fetched in the last half minute, and waits for the end.
  package func refresh() async -> TokenKeyFreshness {
    guard waiting < Self.maximumWaiting else { return .unknown(retryAfterSeconds: 1) }
    if current != nil || schedule.allowsDemand(at: time.now) {
      waiting += 1
      await fetch()
      waiting -= 1
    }
    return lastError == nil && json != nil
      ? .current : .unknown(retryAfterSeconds: schedule.secondsUntilNextFetch(at: time.now))
  }

  private func perform() async {
    do throws(TokenKeyFetchError) {
      let document = try await fetcher.fetch()
      try await use(document.json)
      schedule.succeeded(maximumAge: document.maximumAge, at: time.now, jitter: .random(in: 0...1))
      counts.successes += 1
      if lastError != nil { logger.notice("the token keys can be fetched again") }
      lastError = nil
    } catch {
      guard !Task.isCancelled else { return }
      schedule.failed(at: time.now, jitter: .random(in: 0...1))
      counts.failures += 1
      if lastError == nil {
        logger.error(
          "the token keys can't be fetched",
          metadata: ["url": "\(fetcher.address)", "reason": "\(error)", "keys": .stringConvertible(counts.keys)])
      }
      lastError = error
    }
  }

  /// Puts keys in force, if they differ from those in force.
  private func use(_ json: [UInt8]) async throws(TokenKeyFetchError) {
    guard json != self.json else { return }
    let keys: TokenKeySet
    do {
      keys = try await TokenKeySet(json: json)
    } catch {
      throw TokenKeyFetchError("\(error)")
    }
    install(keys)
    self.json = json
    counts.keys = keys.count
    logger.info(
      "the token keys were fetched",
      metadata: ["url": "\(fetcher.address)", "keys": .stringConvertible(keys.count)])
  }
}

/// The times at which an issuer's keys are fetched. It has no effects.
package struct TokenKeySchedule {
  package typealias Instant = ContinuousClock.Instant

  /// The bounds of the schedule.
  package struct Limits {
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
  package private(set) var nextFetch: Instant

  /// The number of fetches in a row that failed.
  private(set) var failures = 0

  private let limits: Limits
  private var lastDemand: Instant?

  /// Creates a schedule whose first fetch is due.
  package init(at now: Instant, limits: Limits = Limits()) {
    nextFetch = now
    self.limits = limits
  }

  /// Notes a fetch that succeeded.
  ///
  /// - Parameters:
  ///   - maximumAge: the time for which the issuer's keys may be kept; `nil` where the issuer sets none.
  ///   - jitter: a random number from 0 to 1, which shortens the interval by up to a tenth, so that servers that were
  ///     started together don't fetch together for ever.
  package mutating func succeeded(maximumAge: Duration?, at now: Instant, jitter: Double) {
    let interval = min(max(maximumAge ?? limits.usualInterval, limits.shortestInterval), limits.longestInterval)
    failures = 0
    nextFetch = now + interval * (1 - jitter / 10)
  }

  /// Notes a fetch that failed.
  ///
  /// - Parameter jitter: a random number from 0 to 1, which shortens the pause by up to half.
  package mutating func failed(at now: Instant, jitter: Double) {
    failures += 1
    let pause = min(limits.longestPause, limits.firstPause * (1 << min(failures - 1, 20)))
    nextFetch = now + pause * (1 - jitter / 2)
  }

  /// Returns a Boolean value that indicates whether the keys may be fetched because of a token, which they then are.
  package mutating func allowsDemand(at now: Instant) -> Bool {
    if let lastDemand, now < lastDemand + limits.shortestDemandInterval { return false }
    lastDemand = now
    return true
  }

  /// Returns the whole seconds until the next fetch is due, 1 at least.
  package func secondsUntilNextFetch(at now: Instant) -> Int {
    let pause = now.duration(to: nextFetch).components
    return max(1, Int(pause.seconds) + (pause.attoseconds > 0 ? 1 : 0))
  }
}
