import Synchronization

/// Whether all connections of a pool lead to one server that takes writes, and since when.
///
/// A URL of several hosts may lead some connections to a primary and others to a replica that is behind it. What one
/// server says of the version of the data then means nothing for what another one answers.
final class ServerWatch: Sendable {
  typealias ConnectionID = PoolStateMachine.ConnectionID

  private struct State {
    var servers: [ConnectionID: ServerIdentity] = [:]
    var last: ServerIdentity?
    var epoch: UInt64 = 0
  }

  private let state = Mutex(State())

  /// The primary that every connection leads to, and a number that stands for it; `nil` while there is no such server.
  ///
  /// Where the number is the same at two moments, everything that was asked from the first to the second went to that server: a
  /// connection to another one has another number follow, also when it is gone again.
  var primary: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary, state.servers.values.allSatisfy({ $0 == last }) else { return nil }
      return (state.epoch, last)
    }
  }

  /// The server that the last connection leads to, and its number, where it takes writes.
  var latest: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary else { return nil }
      return (state.epoch, last)
    }
  }

  /// A connection has been made or led to another server, by which no caller was answered yet.
  func connected(_ id: ConnectionID, to server: ServerIdentity) {
    state.withLock { state in
      state.servers[id] = server
      if server != state.last { state.epoch += 1 }
      state.last = server
    }
  }

  /// A connection is gone.
  func closed(_ id: ConnectionID) {
    state.withLock { $0.servers[id] = nil }
  }
}
