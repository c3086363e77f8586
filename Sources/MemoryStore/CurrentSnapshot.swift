import Points
import Synchronization

/// The snapshot that readers take, and its version; a lock is held for as long as references take to copy.
final class CurrentSnapshot: Sendable {
  private struct State {
    var snapshot: Snapshot
    var generation: UInt64 = 0
    var version: DataVersion
  }

  private let state: Mutex<State>
  private let nextNotBefore: Timestamp?

  /// What tells the versions of this store from those of every other, be it of the same places in another process.
  private let origin: String

  /// Creates a holder of the first snapshot.
  ///
  /// - Parameters:
  ///   - now: when its places became what they are, as far as anyone knows.
  ///   - nextNotBefore: a time before which no later version is said to have been made, whatever the clock says.
  init(_ snapshot: Snapshot, at now: Timestamp, nextNotBefore: Timestamp? = nil) {
    self.nextNotBefore = nextNotBefore
    origin = String(UInt64.random(in: .min ... .max), radix: 36)
    state = Mutex(State(snapshot: snapshot, version: DataVersion(token: "\(origin)-0", changedAt: now)))
  }

  /// The places of the moment.
  var value: Snapshot { state.withLock { $0.snapshot } }

  /// The version of the places of the moment.
  var version: DataVersion { state.withLock { $0.version } }

  /// Has readers take another from now on.
  ///
  /// - Parameter now: when it was made. The version's time never goes back, whatever this clock does.
  func replace(with next: Snapshot, at now: Timestamp) {
    // The former snapshot may be the last of its kind: it is let go outside the lock.
    let former = state.withLock { state in
      let former = state.snapshot
      state.snapshot = next
      state.generation += 1
      let changedAt = max(now, state.version.changedAt ?? now, nextNotBefore ?? now)
      state.version = DataVersion(token: "\(origin)-\(state.generation)", changedAt: changedAt)
      return former
    }
    withExtendedLifetime(former) {}
  }
}
