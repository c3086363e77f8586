import Foundation
import IndexedStore
package import PostgresClient
package import PostgresStore
package import ServerFeatures

/// The connection to PostgreSQL and its limits.
package struct DatabaseConfiguration: Hashable {
  /// A libpq URI or conninfo. It may hold a password: it is never logged.
  let conninfo: String

  /// The maximum number of connections at once, besides those of the index.
  let poolSize: Int

  let shares: ConnectionShares
  let statementTimeout: Duration
  let preparedStatements: PostgresConfiguration.PreparedStatements

  /// The longest wait of a request for a connection.
  let waitTime: Duration

  /// The folder of the migrations; `nil` for those of the program.
  package let migrationsPath: String?

  let index: IndexConfiguration

  /// The maximum number of edits that the store keeps.
  let maximumEdits: Int

  /// Creates the configuration of the settings, of which `DATABASE_URL` is required.
  package init(_ settings: Settings) throws(ConfigurationError) {
    guard let conninfo = settings[Setting.postgres.url] else {
      throw .conflict(
        Setting.postgres.url, "must be set to a libpq URI such as postgresql://user@host/database, or a conninfo string"
      )
    }
    self.conninfo = conninfo
    let analytics = settings[Setting.observability.analytics]?.lowercased()
    shares = try ConnectionShares(
      settings, keepsSearches: analytics == ServeConfiguration.AnalyticsKind.postgres.rawValue)
    poolSize = shares.total
    statementTimeout = try settings.duration(Setting.postgres.statementTimeout)
    preparedStatements = try settings.choice(Setting.postgres.preparedStatements)
    waitTime = try settings.duration(Setting.postgres.requestDeadline)
    index = try IndexConfiguration(settings)
    maximumEdits = try settings.integer(Setting.places.maximumEdits)
    migrationsPath = settings[Setting.places.migrationsPath]
  }
}

/// The shares of the connections to one database: those of requests, of exports and imports, and of the log of
/// searches. Together they are never more than `DATABASE_POOL_SIZE`. The index has connections besides.
struct ConnectionShares: Hashable {
  /// The maximum number of connections.
  let total: Int

  /// The connections of requests.
  let requests: Int

  /// The maximum number of connections of exports.
  let exports: Int

  /// The maximum number of connections of imports.
  let imports: Int

  /// The maximum number of connections of exports and imports together.
  let bulk: Int

  /// Creates the shares of the settings. Exports and imports have two connections each, of less than eight one each,
  /// and of two one together.
  ///
  /// - Parameter keepsSearches: whether the log of searches has a connection.
  /// - Throws: ``ConfigurationError``, also where no connection would be left for requests.
  init(_ settings: Settings, keepsSearches: Bool) throws(ConfigurationError) {
    let log = keepsSearches ? 1 : 0
    total = try settings.integer(Setting.postgres.poolSize, in: log + 2...1000)
    // At least one is left for requests.
    let room = total - log - 1
    let usual = min(2, max(1, (room + 1) / 4))
    exports = usual
    imports = usual
    bulk = min(exports + imports, room)
    requests = room + 1 - bulk
  }
}

extension DatabaseConfiguration {
  /// Returns the migrations of the configured folder, or of the program.
  package func migrations() throws(MigrationError) -> [Migration] {
    guard let migrationsPath else { return Migration.builtIn }
    return try Migration.all(inDirectory: migrationsPath)
  }

  /// Returns the store of the places, which connects when it is first used.
  ///
  /// - Throws: ``ConfigurationError``, or `MigrationError` if the migrations can't be read.
  package func makeStore() throws -> PostgresStore {
    try PostgresStore(
      configuration: PostgresConfiguration(self), migrations: migrations(), maximumEdits: maximumEdits)
  }
}

extension PostgresConfiguration {
  /// Creates the configuration of the settings.
  package init(_ database: DatabaseConfiguration) throws(ConfigurationError) {
    do {
      let milliseconds = database.statementTimeout / .milliseconds(1)
      try self.init(url: database.conninfo, statementTimeoutMilliseconds: Int(milliseconds))
    } catch {
      throw .conflict(Setting.postgres.url, "is \(error)")
    }
    preparedStatements = database.preparedStatements
    waitTimeoutMilliseconds = Int(database.waitTime / .milliseconds(1))
    poolSize = database.shares.requests
    exportConnections = database.shares.exports
    importConnections = database.shares.imports
    bulkConnections = database.shares.bulk
  }
}

/// The use of an index in memory of the places in PostgreSQL.
struct IndexConfiguration: Hashable {
  /// The values of `POINT_INDEX`.
  enum Use: String, CaseIterable {
    case auto
    case on
    case off
  }

  /// The values of `READ_CONSISTENCY`.
  enum Consistency: String, CaseIterable {
    case strict
    case bounded
  }

  let use: Use

  /// The folder in which the index is kept; `nil` for none.
  let path: String?

  let freshness: ReadFreshness

  /// The default of `READ_STALE_S` with `READ_CONSISTENCY=bounded`: longer than a restart of PostgreSQL takes.
  private static let staleSecondsOfBoundedReads = 60

  /// The longest time at a start for which the server is not ready because the index is not complete, or the areas are
  /// not in memory.
  let readinessLimit: Duration

  /// Returns the maximum number of bytes of an index; `nil` where any size is allowed.
  ///
  /// A quarter of the memory is left for responses and connections. While an index is built, it needs twice its size,
  /// and the former one is kept where it may still be read.
  func memoryLimit(of memory: AvailableMemory) -> Int? {
    guard use == .auto else { return nil }
    return memory.bytes / 4 * 3 / (freshness.staleLifetime > .zero ? 3 : 2)
  }

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError``, also for a setting that would have no effect.
  init(_ settings: Settings) throws(ConfigurationError) {
    let postgres = Setting.postgres
    use = try settings.choice(Setting.postgres.index)
    path = settings[Setting.places.indexPath]
    let consistency = try settings.choice(Setting.postgres.consistency)
    let maximumAge = try settings.duration(Setting.postgres.maximumStaleness)
    if consistency == .strict, settings[Setting.postgres.maximumStaleness] != nil {
      throw .conflict(Setting.postgres.maximumStaleness, "needs READ_CONSISTENCY=bounded")
    }
    let staleLifetime = try settings.integer(
      postgres.staleLifetime, default: consistency == .strict ? 0 : Self.staleSecondsOfBoundedReads)
    readinessLimit = .seconds(try settings.integer(Setting.postgres.readinessLimit))
    if use == .off {
      let ofIndex = [
        Setting.places.indexPath.setting, postgres.consistency.setting, postgres.staleLifetime.setting,
      ]
      for setting in ofIndex where settings[setting] != nil {
        throw .conflict(setting, "is for the index, but POINT_INDEX is off")
      }
    }
    freshness = ReadFreshness(
      consistency == .strict ? .strict : .bounded(maximumAge: maximumAge),
      staleLifetime: .seconds(staleLifetime))
  }
}
