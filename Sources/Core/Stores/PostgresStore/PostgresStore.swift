package import Points
package import PostgresClient
import Synchronization

/// A store of places in PostgreSQL with PostGIS.
///
/// Calls share a connection pool. While the server is unreachable they fail immediately; once it is back they succeed
/// again without a restart. The database need not be reachable when the store is created.
package final class PostgresStore: Sendable {
  let pool: ConnectionPool
  let thread: PollingThread
  let configuration: PostgresConfiguration
  let versionCache = VersionCache()
  let sharedCounts: SharedCounts<CountKey, QueryResult>
  let changeNotifier = ChangeNotifier()
  /// The server whose sequence of versions has been moved up to the clock; see ``followClock(again:)``.
  let followedServer = Mutex<FollowedServer?>(nil)
  let keyShares = Mutex(KeyShares())
  private let migrations: [Migration]
  package let damagedRows: DamagedRows?
  /// The maximum number of edits of fields and of deletions.
  let maximumEdits: Int

  /// Creates a store, which connects on the first call.
  ///
  /// - Parameters:
  ///   - migrations: the migrations that the database must have run for the store to be ready.
  ///   - damagedRows: the log of rows that can't be decoded.
  ///   - maximumEdits: the maximum number of edits. Concurrent writes may exceed it by the number of theirs.
  /// - Throws: ``PointStoreError`` when the system can't create a thread.
  package init(
    configuration: PostgresConfiguration, migrations: [Migration], damagedRows: DamagedRows? = nil,
    maximumEdits: Int = PlaceEdits.defaultMaximumCount
  ) throws(PointStoreError) {
    guard let thread = PollingThread() else { throw .unavailable(reason: "the system could not create a thread") }
    self.thread = thread
    self.configuration = configuration
    self.migrations = migrations
    self.damagedRows = damagedRows
    self.maximumEdits = maximumEdits
    pool = ConnectionPool(
      on: thread, configuration, connections: configuration.poolSize, waiters: configuration.maximumWaiters)
    sharedCounts = SharedCounts(waitTimeout: .milliseconds(configuration.waitTimeoutMilliseconds))
  }

  deinit {
    // Callers retain the store, so no call is in progress here.
    let (pool, thread) = (pool, thread)
    thread.submit { pool.assumeIsolated { $0.shutDown() } }
    thread.stop()
  }

  /// Closes all connections; current and later calls fail.
  package func shutDown() async { await pool.shutDown() }

  /// The load of the connection pool.
  package func poolLoad() async -> PoolLoad { await pool.load }

  /// Runs a read-only statement, which is retried once after a connection failure.
  func read(_ statement: Statement, _ parameters: Parameters) async throws(PointStoreError) -> QueryResult {
    try await pool.query(statement, parameters, isRead: true)
  }

  /// Runs a statement that writes, in a transaction of its own, and returns once that is committed. It is never retried
  /// after a connection failure, because it may have been executed.
  func write(_ statement: Statement, _ parameters: Parameters) async throws(PointStoreError) -> QueryResult {
    try await pool.query(statement, parameters, isRead: false)
  }

  /// Runs a read-only statement, which is retried once after a connection failure.
  func read(_ query: (Statement, Parameters)) async throws(PointStoreError) -> QueryResult {
    try await pool.query(query.0, query.1, isRead: true)
  }
}

extension PostgresStore {
  /// Returns the places that fit into a page, with all of their tags.
  private func fittingRows(
    _ query: PointQuery
  ) async throws(PointStoreError) -> FoundRows {
    var query = query
    var included: [PointID] = []
    while true {
      let found =
        if let proximity = query.proximity {
          try await NearestSearch(
            store: self, query: query, proximity: proximity, including: included
          ).found()
        } else {
          try await listed(including: included, query)
        }
      switch found.step(including: included) {
      case .page(let count): return found.prefix(count)
      case .search(let limit, let ids): (query.limit, included) = (limit, ids)
      }
    }
  }
}

extension PostgresStore: PointStore {
  package var index: (any StoreIndex)? { nil }

  /// Returns one page of places; see ``Points/PointStore/page(matching:)``.
  ///
  /// A page of nearest places costs the same at any depth, except for the first pages, which cost less.
  package func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    guard !query.needsIndex else { throw .indexRequired }
    return try await fittingRows(query).page()
  }

  /// Checks that the database responds and that its schema is compatible: it has run exactly the store's migrations, or
  /// also newer ones that allow a program of this age. A standby is read-only.
  ///
  /// - Throws: ``PointStoreError``; for an incompatible schema it names the command to run.
  @discardableResult package func checkReadiness() async throws(PointStoreError) -> StoreReadiness {
    // A readiness check must not depend on the load.
    let result = try await pool.query(
      SchemaState.comparison, SchemaState.parameters(for: migrations), isRead: true, isUrgent: true)
    if let reason = try SchemaState(result, of: migrations).incompatibility { throw .schemaMismatch(reason: reason) }
    return try await isStandby() ? .readOnly(reason: ServerIdentity.standbyReason) : .ready
  }

  private static let recovery = Statement("recovery", "SELECT pg_is_in_recovery()")

  private func isStandby() async throws(PointStoreError) -> Bool {
    let result = try await pool.query(Self.recovery, Parameters(), isRead: true, isUrgent: true)
    guard let row = result.rows.first else { throw .unexpected(reason: "the query for the server returned no row") }
    let isStandby = try row.boolean(0)
    if !isStandby { await pool.foundPrimary() }
    return isStandby
  }
}
