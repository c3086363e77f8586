import Points
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The identities of the files of an open journal, which show when the files at its paths are others.
///
/// An unlinked or replaced file can still be written while it is open, and is lost with the process. While it is open
/// no other file has its inode number, so that the number and the device identify it.
final class JournalFiles: Sendable {
  private struct Identity: Hashable {
    let device: UInt64
    let number: UInt64

    init?(path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return nil }
      device = UInt64(truncatingIfNeeded: status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  private struct State {
    var identities: [String: Identity] = [:]
    var loss: String?
  }

  private let paths: [String]
  private let state = Mutex(State())

  /// Creates the identities of the files that have just been opened: the database and its write-ahead log.
  init(path: String) {
    paths = [path, path + "-wal"]
    _ = loss()
  }

  /// Returns a description of a file that is no longer the one that was opened; `nil` where there is none. Once there
  /// is one it stays, because writes in between are lost. Two calls of `stat`.
  func loss() -> String? {
    state.withLock { state in
      if state.loss != nil { return state.loss }
      for path in paths {
        let identity = Identity(path: path)
        if let former = state.identities[path] {
          if identity == former { continue }
          let event = identity == nil ? "removed" : "replaced"
          state.loss = "\(path) was \(event) while it was in use: nothing is written until the server is started again"
          return state.loss
        }
        state.identities[path] = identity
      }
      return nil
    }
  }
}
