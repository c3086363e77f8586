import Synchronization

/// The snapshot that readers take; a lock is held for as long as a reference takes to copy.
final class CurrentSnapshot: Sendable {
  private let snapshot: Mutex<Snapshot>

  init(_ snapshot: Snapshot) {
    self.snapshot = Mutex(snapshot)
  }

  /// The places of the moment.
  var value: Snapshot { snapshot.withLock { $0 } }

  /// Has readers take another from now on.
  func replace(with next: Snapshot) {
    // The former snapshot may be the last of its kind: it is let go outside the lock.
    let former = snapshot.withLock { snapshot in
      let former = snapshot
      snapshot = next
      return former
    }
    withExtendedLifetime(former) {}
  }
}
