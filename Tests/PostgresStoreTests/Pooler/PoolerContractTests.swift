import Points
import PostgresStore
import TestSupport
import Testing

/// What every store does, by way of PgBouncer.
@Suite(.timeLimit(.minutes(10))) struct PoolerContractTests {
  @Test(arguments: [TemporaryPooler.Mode.session, .transaction], PointStoreContract.all)
  func contractIsKeptThroughAPooler(_ mode: TemporaryPooler.Mode, _ behaviour: PointStoreContract) async throws {
    let pooler = try await SharedPoolers.instance.pooler(mode)
    try await behaviour.check { rows in
      let store = try await pooler.server.makeDatabase().migratedStore(through: pooler)
      try await store.importRows(rows)
      return store
    }
  }

  @Test(arguments: [TemporaryPooler.Mode.session, .transaction], WriteContract.all)
  func contractOfWritesIsKeptThroughAPooler(_ mode: TemporaryPooler.Mode, _ behaviour: WriteContract) async throws {
    let pooler = try await SharedPoolers.instance.pooler(mode)
    try await behaviour.check { rows in
      let store = try await pooler.server.makeDatabase().migratedStore(through: pooler)
      try await store.importRows(rows)
      return store
    }
  }
}

/// A pooler of each mode, started for whoever comes first, in front of a server of their own: what a pooler keeps open
/// would take connections from other tests.
private actor SharedPoolers {
  static let instance = SharedPoolers()

  private var starting: [TemporaryPooler.Mode: Task<TemporaryPooler, any Error>] = [:]

  func pooler(_ mode: TemporaryPooler.Mode) async throws -> TemporaryPooler {
    let task =
      starting[mode]
      ?? Task {
        let server = try await TemporaryServer.start(maximumConnections: 500)
        // Fewer than a store has, where that is possible: so the server's connections change hands.
        return try await TemporaryPooler.start(mode, to: server, serverConnections: mode == .session ? 16 : 3)
      }
    starting[mode] = task
    return try await task.value
  }
}
