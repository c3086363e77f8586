public import Points
import Synchronization

/// Places in PostgreSQL with PostGIS.
///
/// Calls run on a pool of connections, each used by one call at a time. While the server can't be reached they fail at
/// once, and once it is back they succeed again, without a restart. A store can be made before its database is there.
public final class PostgresStore: Sendable {
  let pool: ConnectionPool
  let bulk: BulkConnections
  let thread: PollingThread
  let configuration: PostgresConfiguration
  let versions = VersionNotes()
  /// The server whose sequence of versions has been moved up to the clock; see ``followClock(again:)``.
  let followedServer = Mutex<FollowedServer?>(nil)
  private let migrations: [Migration]

  /// Creates a store; it connects when it is asked something.
  ///
  /// - Parameter migrations: those that the database must have run for the store to be ready.
  /// - Throws: ``PointStoreError`` when the system has no thread to give.
  public init(configuration: PostgresConfiguration, migrations: [Migration]) throws(PointStoreError) {
    guard let thread = PollingThread() else { throw .unavailable(reason: "the system has no thread to give") }
    self.thread = thread
    self.configuration = configuration
    self.migrations = migrations
    var limits = PoolStateMachine.Limits()
    limits.connections = configuration.poolSize
    limits.waiters = configuration.maximumWaiters
    limits.waitTime = .milliseconds(configuration.waitTimeoutMilliseconds)
    limits.answerTime = .milliseconds(
      configuration.statementTimeoutMilliseconds + configuration.silenceToleranceMilliseconds
    )
    let connector = Connector(
      connectionInfo: configuration.connectionInfo,
      settings: StatementSettings(timeoutMilliseconds: configuration.statementTimeoutMilliseconds),
      preparedStatements: configuration.preparedStatements
    )
    pool = ConnectionPool(on: thread, connector: connector, limits: limits)
    bulk = BulkConnections(
      on: thread,
      limits: BulkQueue.Limits(
        exports: configuration.exportConnections,
        imports: configuration.importConnections,
        together: configuration.bulkConnections,
        waiters: configuration.maximumBulkWaiters
      ),
      waitTime: limits.waitTime
    )
  }

  deinit {
    // Whoever calls the store holds it, so nobody waits.
    let (pool, thread) = (pool, thread)
    thread.submit { pool.assumeIsolated { $0.shutDown() } }
    thread.stop()
  }

  /// Closes all connections; calls under way fail, and so do later ones.
  public func shutDown() async {
    bulk.shutDown()
    await pool.shutDown()
  }

  /// What the connections do at the moment.
  public func poolLoad() async -> PoolLoad { await pool.load }

  /// The state of exports and imports.
  public var bulkLoad: BulkLoad { bulk.load }

  /// Asks something that changes nothing.
  func read(_ statement: Statement, _ parameters: Parameters) async throws(PointStoreError) -> QueryResult {
    try await pool.run(statement, parameters, isRead: true)
  }

  /// Changes something, in a transaction of its own. Returns once that is committed; is never asked a second time where
  /// the connection broke off, for it may have been done.
  func write(_ statement: Statement, _ parameters: Parameters) async throws(PointStoreError) -> QueryResult {
    try await pool.run(statement, parameters, isRead: false)
  }

  /// Asks something that changes nothing.
  func read(_ query: (Statement, Parameters)) async throws(PointStoreError) -> QueryResult {
    try await pool.run(query.0, query.1, isRead: true)
  }
}

extension PostgresStore {
  /// Returns the places that fit into a page, with all of their tags.
  private func fittingRows(
    _ columns: PointColumns,
    _ query: PointQuery
  ) async throws(PointStoreError) -> FoundRows {
    var query = query
    var included: [PointID] = []
    while true {
      let found =
        if let proximity = query.proximity {
          try await NearestSearch(
            store: self, query: query, proximity: proximity, columns: columns, including: included
          ).found()
        } else {
          try await listed(columns, including: included, query)
        }
      switch found.step(including: included) {
      case .page(let count): return found.prefix(count)
      case .search(let limit, let ids): (query.limit, included) = (limit, ids)
      }
    }
  }
}

extension PostgresStore: PointStore {
  /// One page of places; see ``Points/PointStore/page(matching:)``.
  ///
  /// A page of nearest places costs the same at any depth but the first ones, which are cheaper.
  public func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
    try await fittingRows(.all, query).page()
  }

  /// The same page; fewer columns are read, and their texts stay in what the database sent.
  public func summaries(matching query: PointQuery) async throws(PointStoreError) -> SummaryPage {
    try await fittingRows(.summary, query).summaryPage
  }

  /// Returns when the database answers and its schema works with the migrations that this store was made with: it has run
  /// just those, or besides them newer ones that allow a program as old as this one.
  ///
  /// - Throws: ``PointStoreError``, where the schema is another one naming the command that mends it.
  public func checkReadiness() async throws(PointStoreError) {
    // Whether the store is well is not to depend on how many others ask.
    let result = try await pool.run(
      SchemaState.comparison, SchemaState.parameters(for: migrations), isRead: true, isUrgent: true)
    if let complaint = try SchemaState(result, of: migrations).complaint { throw .schemaMismatch(reason: complaint) }
  }
}
