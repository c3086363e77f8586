import Points
import Synchronization

/// A cache of the data version that was read last.
final class VersionCache: Sendable {
  /// The age at which a version is refreshed for callers that do not wait for it. With a longer interval more responses
  /// carry a version that is out of date when they are made and are sent twice before one is revalidated; none is ever
  /// revalidated wrongly.
  static let refreshInterval: Duration = .seconds(1)

  private struct State {
    var version: DataVersion?
    var nextRefresh: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  /// Returns the last version, and whether the caller must refresh it; this is so for one caller in each interval.
  func current(at now: ContinuousClock.Instant) -> (version: DataVersion?, isDue: Bool) {
    state.withLock { state in
      let isDue = state.nextRefresh.map { $0 <= now } ?? true
      if isDue { state.nextRefresh = now + Self.refreshInterval }
      return (state.version, isDue)
    }
  }

  /// Stores a version that was read.
  func store(_ version: DataVersion, at now: ContinuousClock.Instant) {
    state.withLock { $0 = State(version: version, nextRefresh: now + Self.refreshInterval) }
  }
}
