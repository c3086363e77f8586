import Points
import Synchronization

/// The version of the data that was read last, and when it is to be read again.
final class VersionNotes: Sendable {
  /// How old a version may become before it is read again for those who do not wait for one. The longer, the more answers
  /// have a name that is no longer current when they are made, and so are sent twice before one is confirmed; none is
  /// ever confirmed wrongly.
  static let refreshInterval: Duration = .seconds(1)

  private struct State {
    var version: DataVersion?
    var nextReading: ContinuousClock.Instant?
  }

  private let state = Mutex(State())

  /// The last version, and whether the caller is to read it again: one caller in each interval is.
  func known(at now: ContinuousClock.Instant) -> (version: DataVersion?, isDue: Bool) {
    state.withLock { state in
      let isDue = state.nextReading.map { $0 <= now } ?? true
      if isDue { state.nextReading = now + Self.refreshInterval }
      return (state.version, isDue)
    }
  }

  /// A version has been read.
  func note(_ version: DataVersion, at now: ContinuousClock.Instant) {
    state.withLock { $0 = State(version: version, nextReading: now + Self.refreshInterval) }
  }
}
