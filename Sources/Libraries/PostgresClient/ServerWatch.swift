import Synchronization

/// A tracker of the servers that a pool's connections lead to, which detects failovers.
///
/// With a URL of several hosts some connections may lead to a primary and others to a standby that lags behind. The
/// data version of one server then doesn't apply to the results of another.
package final class ServerWatch: Sendable {
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
  package var primary: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary, state.servers.values.allSatisfy({ $0 == last }) else { return nil }
      return (state.epoch, last)
    }
  }

  /// The server of the most recent connection and its epoch, if it is a primary.
  package var latest: (epoch: UInt64, server: ServerIdentity)? {
    state.withLock { state in
      guard let last = state.last, last.isPrimary else { return nil }
      return (state.epoch, last)
    }
  }

  /// A Boolean value that indicates whether at least one connection is established, and all lead to standbys.
  package var areStandbys: Bool {
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

/// The identity of a server process group: which server it is, and which of its starts.
package struct ServerIdentity: Hashable, Sendable {
  /// The postmaster's start time and the time of the last statistics reset, in microseconds since 1970, in base 36 with
  /// a hyphen between.
  ///
  /// The first part differs between servers and between starts. After a crash of a backend the postmaster closes all
  /// connections, recovers and resets the statistics, which changes the second part.
  package let life: String

  /// A Boolean value that indicates whether the server was the primary when the connection was made.
  package let isPrimary: Bool

  /// The reason for which a standby refuses writes and has no positions of changes.
  package static let standbyReason = "the database is a standby"

  /// The query for the identity: one row with one text, the same for all connections to one server and for all
  /// transactions.
  static let query = """
    SELECT concat_ws(
      ' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8,
      coalesce((extract(epoch FROM stats_reset) * 1000000)::int8, 0), pg_is_in_recovery()
    )
    FROM pg_stat_bgwriter
    """

  /// Creates an identity from a result of ``query``; `nil` for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let start = Int64(parts[0]), let reset = Int64(parts[1]) else { return nil }
    self.init(life: "\(String(start, radix: 36))-\(String(reset, radix: 36))", isPrimary: parts[2] == "f")
  }

  package init(life: String, isPrimary: Bool) {
    self.life = life
    self.isPrimary = isPrimary
  }
}
