import Synchronization

/// A tracker of the servers that a pool's connections lead to, which detects failovers.
///
/// With a URL of several hosts some connections may lead to a primary and others to a standby that lags behind. The
/// data version of one server then doesn't apply to the results of another.
final class ServerWatch: Sendable {
  typealias ConnectionID = PoolStateMachine.ConnectionID

  private struct State {
    var servers: [ConnectionID: ServerIdentity] = [:]
    var last: ServerIdentity?
    var epoch: UInt64 = 0
  }

  private let state = Mutex(State())

  /// The primary that all connections lead to, and its epoch; `nil` while there is no such server.
  ///
  /// If the epoch is the same at two moments, all statements between them went to that server: a connection to another
  /// server starts a new epoch, even if it has since been closed.
  var primary: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary, state.servers.values.allSatisfy({ $0 == last }) else { return nil }
      return (state.epoch, last)
    }
  }

  /// The server of the most recent connection and its epoch, if it is a primary.
  var latest: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary else { return nil }
      return (state.epoch, last)
    }
  }

  /// A Boolean value that indicates whether at least one connection is established, and all lead to standbys.
  var areStandbys: Bool {
    state.withLock { !$0.servers.isEmpty && $0.servers.values.allSatisfy { !$0.isPrimary } }
  }

  /// Records that a connection was established or routed to another server, before any caller has received a result
  /// from it.
  func connected(_ id: ConnectionID, to server: ServerIdentity) {
    state.withLock { state in
      state.servers[id] = server
      if server != state.last { state.epoch += 1 }
      state.last = server
    }
  }

  /// Records that a connection was closed.
  func closed(_ id: ConnectionID) {
    state.withLock { $0.servers[id] = nil }
  }
}
