import PostgresStore

/// How PostgreSQL is reached.
struct DatabaseConfiguration: Hashable {
  /// A libpq URI or conninfo. It may hold a password: it is never logged.
  let conninfo: String

  /// The same of a replica that searches go to; `nil` where there is none.
  let replicaConninfo: String?

  /// The maximum number of connections at once, to each of the two, whatever they are for.
  let poolSize: Int

  /// The shares of them.
  let shares: ConnectionShares

  /// How long a statement may take.
  let statementTimeout: Duration

  /// The choice whether statements are prepared.
  let preparedStatements: PostgresConfiguration.PreparedStatements

  /// How long a request may wait for a connection.
  let waitTime: Duration

  /// The folder of the migrations.
  let migrationsPath: String

  /// Reads the settings; `DATABASE_URL` must be set.
  init(_ settings: Settings) throws(ConfigurationError) {
    guard let conninfo = settings["DATABASE_URL"] else {
      throw .init(
        variable: "DATABASE_URL", value: nil,
        expectation: "must be set to a libpq URI such as postgresql://user@host/database, or a conninfo string")
    }
    self.conninfo = conninfo
    replicaConninfo = settings["DATABASE_REPLICA_URL"]
    shares = try ConnectionShares(settings, keepsSearches: settings["ANALYTICS"]?.lowercased() == "postgres")
    poolSize = shares.total
    statementTimeout = try settings.milliseconds("DATABASE_STATEMENT_TIMEOUT_MS", default: 5000)
    preparedStatements = try settings.choice("DATABASE_PREPARED_STATEMENTS", default: .automatic)
    waitTime = try settings.milliseconds("REQUEST_DEADLINE_MS", default: 2000)
    migrationsPath = settings["MIGRATIONS_PATH"] ?? Self.migrationsBesidePackage()
  }
}
