public import Points
import Synchronization

/// The current snapshot of a set of places and its version, shared by any number of readers and one writer.
///
/// A reader takes the snapshot and searches it without locks; it never waits for a writer. The writer builds the next
/// snapshot with ``PointSnapshot/applying(_:)``, or a new one from all places, and puts it in place of the current one.
/// The lock is held while references are copied, never during a search.
public final class PointIndex: Sendable {
  private struct State {
    var snapshot: PointSnapshot
    var version: DataVersion
  }

  private let state: Mutex<State>

  /// Creates an index with its first snapshot.
  public init(_ snapshot: PointSnapshot, version: DataVersion) {
    state = Mutex(State(snapshot: snapshot, version: version))
  }

  /// The current snapshot.
  public var snapshot: PointSnapshot { state.withLock { $0.snapshot } }

  /// The version of the current snapshot.
  public var version: DataVersion { state.withLock { $0.version } }

  /// The current snapshot together with its version.
  public var current: (snapshot: PointSnapshot, version: DataVersion) {
    state.withLock { ($0.snapshot, $0.version) }
  }

  /// Replaces the current snapshot. Searches that have taken the former one finish on it.
  public func replace(with next: PointSnapshot, version: DataVersion) {
    let nextState = State(snapshot: next, version: version)
    // The last reference to the former snapshot may be this one: it is released after the lock.
    let former = state.withLock { state in
      defer { state = nextState }
      return state
    }
    withExtendedLifetime(former) {}
  }
}
