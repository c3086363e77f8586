import Points
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of an open journal: whether those at its paths are still the ones that it writes to.
///
/// A file that is unlinked or replaced goes on to be written for as long as it is open, and is lost with the process. While
/// it is open no other file can have its number, so that the number and the device tell it from every other.
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

  /// Takes note of a journal's files, which have just been opened: the database and its write-ahead log.
  init(path: String) {
    paths = [path, path + "-wal"]
    _ = loss()
  }

  /// Returns what became of the files where they are no longer those that were opened; once it is said it stays so, for
  /// what was written in between is lost. Two calls of `stat`.
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
