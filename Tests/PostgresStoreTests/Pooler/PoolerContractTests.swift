import Points
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing

/// The contracts of all stores, through PgBouncer.
@Suite(.timeLimit(.minutes(10))) struct PoolerContractTests {
  @Test(arguments: [TemporaryPooler.Mode.session, .transaction], PointStoreContract.all)
  func contractIsKeptThroughAPooler(_ mode: TemporaryPooler.Mode, _ behaviour: PointStoreContract) async throws {
    try await behaviour.check { rows in try await Self.store(with: rows, through: mode) }
  }

  @Test(arguments: [TemporaryPooler.Mode.session, .transaction], WriteContract.all)
  func contractOfWritesIsKeptThroughAPooler(_ mode: TemporaryPooler.Mode, _ behaviour: WriteContract) async throws {
    try await behaviour.check { rows in try await Self.store(with: rows, through: mode) }
  }

  private static func store(with rows: [ImportRow], through mode: TemporaryPooler.Mode) async throws -> PostgresStore {
    let pooler = try await SharedPoolers.instance.pooler(mode)
    let store = try await pooler.server.makeDatabase().migratedStore(through: pooler)
    try await store.importRows(rows)
    return store
  }
}

/// A pooler of each mode, started on demand, in front of a server of their own: a pooler's open connections would take
/// those of other tests.
private actor SharedPoolers {
  static let instance = SharedPoolers()

  private var starting: [TemporaryPooler.Mode: Task<TemporaryPooler, any Error>] = [:]

  func pooler(_ mode: TemporaryPooler.Mode) async throws -> TemporaryPooler {
    let task =
      starting[mode]
      ?? Task {
        let server = try await TemporaryServer.start(maximumConnections: 500)
        // Fewer connections than a store has, where possible, so that clients share the server connections.
        return try await TemporaryPooler.start(mode, to: server, serverConnections: mode == .session ? 16 : 3)
      }
    starting[mode] = task
    return try await task.value
  }
}
