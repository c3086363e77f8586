import JSONText
public import Points

/// What was searched for, in the table `searches` of a store's database.
///
/// It has one connection of its own, made when it is first needed, so that neither writing nor reporting takes one from
/// requests; while a report is made, what is to be written waits.
public final class PostgresSearchLog: Sendable {
  /// How many categories are kept of one search; whoever asks for more than a table of them is not asking for places.
  static let maximumCategories = 16

  /// Its thread is this one's too, and ends with it.
  private let store: PostgresStore
  let pool: ConnectionPool

  /// Creates a log beside a store; it connects when it is asked something.
  public init(_ store: PostgresStore) {
    self.store = store
    let configuration = store.configuration
    var limits = PoolStateMachine.Limits()
    limits.connections = 1
    limits.waiters = 16
    limits.waitTime = .milliseconds(configuration.waitTimeoutMilliseconds)
    limits.answerTime = .milliseconds(
      configuration.statementTimeoutMilliseconds + configuration.silenceToleranceMilliseconds)
    // What is lost when the server crashes is the last moment of searches; nobody waits for the disk for that.
    let settings = StatementSettings(
      timeoutMilliseconds: configuration.statementTimeoutMilliseconds, isDurable: false)
    pool = ConnectionPool(
      on: store.thread,
      connector: Connector(
        connectionInfo: configuration.connectionInfo, settings: settings,
        preparedStatements: configuration.preparedStatements),
      limits: limits)
  }

  deinit {
    // Whoever calls the log holds it, so nobody waits.
    store.thread.submit { [pool] in pool.assumeIsolated { $0.shutDown() } }
  }

  /// Closes the connection; calls under way fail, and so do later ones.
  public func shutDown() async { await pool.shutDown() }
}

extension PostgresSearchLog: SearchLog {
  /// Keeps the searches in one statement.
  public func append(_ searches: [TimedSearch]) async throws(PointStoreError) {
    guard !searches.isEmpty else { return }
    _ = try await pool.run(SearchStatements.append, Self.parameters(for: searches), isRead: false)
  }

  /// Forgets the searches before a time, some thousands in each transaction.
  public func pruneSearches(before time: Timestamp) async throws(PointStoreError) -> Int {
    var pruned = 0
    while true {
      let parameters = Parameters { $0.add(time) }
      let count = try await pool.run(SearchStatements.prune, parameters, isRead: false).affectedRows
      pruned += count
      if count < SearchStatements.prunedAtOnce { return pruned }
    }
  }

  private static func parameters(for searches: [TimedSearch]) -> Parameters {
    var categories: [(number: Int64, name: String)] = []
    for (index, entry) in searches.enumerated() {
      for name in entry.search.categories.sorted().prefix(maximumCategories) {
        categories.append((Int64(index + 1), name.text))
      }
    }
    return Parameters {
      $0.add(searches.map(\.time.microsecondsSinceEpoch))
      $0.add(searches.map { $0.search.cell.map { Int64($0.latitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { $0.search.cell.map { Int64($0.longitudeHundredths) } ?? SearchStatements.noCell })
      $0.add(searches.map { Int64($0.search.found) })
      $0.add(searches.map { microseconds(of: $0.search.duration) })
      $0.add(categories.map { $0.number })
      $0.add(categories.map { $0.name })
    }
  }

  /// A duration as the table holds it, 35 minutes at most.
  private static func microseconds(of duration: Duration) -> Int64 {
    max(0, min(Int64(Int32.max), Int64(min(duration, .seconds(3600)) / .microseconds(1))))
  }
}
