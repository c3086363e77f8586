import Synchronization

/// Handles of metrics that were made before, by what they are for. To find one takes a lock for as long as a look-up takes.
final class HandleCache<Key: Hashable & Sendable, Handle: Sendable>: Sendable {
  private let handles = Mutex<[Key: Handle]>([:])

  /// The handle for a key, made where there is none yet.
  func handle(for key: Key, make: () -> Handle) -> Handle {
    handles.withLock { handles in
      if let handle = handles[key] { return handle }
      let handle = make()
      handles[key] = handle
      return handle
    }
  }
}
