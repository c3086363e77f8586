import Points
package import PostgresClient

/// A runner of migrations: it runs the pending ones in order, each in a transaction, and records each with its
/// checksum.
///
/// Concurrent migrators run one after the other, and the second finds nothing left to do.
package struct Migrator: Sendable {
  /// The number of the advisory lock that migrators hold; arbitrary.
  private static let lock: Int64 = 0x7761_796D_6172_6B01

  private static let tableExists = "SELECT to_regclass('waymark_migrations') IS NOT NULL"

  private static let createTable = """
    CREATE TABLE waymark_migrations (
      name text COLLATE "C" PRIMARY KEY,
      checksum bytea NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      oldest_program bigint NOT NULL
    )
    """

  private static let record = """
    INSERT INTO waymark_migrations (name, checksum, oldest_program)
    VALUES ($1::text, sha256(convert_to($2::text, 'UTF8')), $3::int8)
    """

  /// Commits, and immediately begins the next transaction.
  private static let commit = "COMMIT AND CHAIN"

  private let configuration: PostgresConfiguration
  private let migrations: [Migration]

  package init(configuration: PostgresConfiguration, migrations: [Migration]) {
    self.configuration = configuration
    self.migrations = migrations
  }

  /// Returns the names of the migrations that ``migrate()`` would run, without changing anything.
  ///
  /// - Throws: ``MigrationError``.
  package func plan() async throws(MigrationError) -> [String] {
    try await withSession { session throws(MigrationError) in
      try await state(session).pending(of: migrations).map(\.name)
    }
  }

  /// Returns the names of the migrations that a newer program ran and that are compatible with this one.
  ///
  /// - Throws: ``MigrationError``.
  package func newer() async throws(MigrationError) -> [String] {
    try await withSession { session throws(MigrationError) in try await state(session).newer }
  }

  /// Runs the pending migrations.
  ///
  /// - Returns: the names of the migrations that were run.
  /// - Throws: ``MigrationError``; the migrations before the failed one have been run then.
  package func migrate() async throws(MigrationError) -> [String] {
    try await withSession { session throws(MigrationError) in
      // The lock is held until it is released below or the server session ends. A pooler keeps a server session for its
      // client while a transaction is open, and closes it if the client leaves one open. So the transactions follow
      // each other without a gap.
      try await translatingErrors { () async throws(DatabaseError) in
        try await session.run(script: "BEGIN")
        try await session.run("SELECT pg_advisory_lock($1::int8)", Parameters { $0.add(Self.lock) })
      }
      let pending = try await state(session).pending(of: migrations)
      if !pending.isEmpty {
        try await translatingErrors { () async throws(DatabaseError) in
          if try await !tableExists(session) { try await session.run(script: Self.createTable) }
          try await session.run(script: Self.commit)
        }
      }
      for migration in pending { try await run(migration, session) }
      try await translatingErrors { () async throws(DatabaseError) in
        try await session.run("SELECT pg_advisory_unlock($1::int8)", Parameters { $0.add(Self.lock) })
        try await session.run(script: "COMMIT")
      }
      return pending.map(\.name)
    }
  }

  private func run(_ migration: Migration, _ session: Session) async throws(MigrationError) {
    do throws(DatabaseError) {
      try await session.run(script: migration.sql)
      try await session.run(
        Self.record,
        Parameters {
          $0.add(migration.name)
          $0.add(migration.sql)
          $0.add(Int64(migration.oldestProgram))
        }
      )
      try await session.run(script: Self.commit)
    } catch {
      throw .failed(name: migration.name, reason: Self.reason(error) + Self.advice(error))
    }
  }

  private static func advice(_ error: DatabaseError) -> String {
    guard case .rejected(let error) = error else { return "" }
    if error.sqlState == "42501", !error.message.contains("\"postgis\"") {
      return """
        ; the role that migrates needs CREATE on the schema and owns the tables: `waymark migrate --dry-run` says more
        """
    }
    guard error.message.contains("\"postgis\"") else { return "" }
    return "; PostGIS must be installed on the server, and a superuser must run CREATE EXTENSION postgis"
  }

  private func state(_ session: Session) async throws(MigrationError) -> SchemaState {
    do {
      guard try await tableExists(session) else { return SchemaState(emptyDatabaseWith: migrations) }
      return try SchemaState(
        try await session.run(SchemaState.comparison.sql, SchemaState.parameters(for: migrations)), of: migrations)
    } catch DatabaseError.rejected(let error) {
      throw .rejected(reason: error.summary + Self.advice(.rejected(error)))
    } catch let error as DatabaseError {
      throw .unavailable(reason: Self.reason(error))
    } catch {
      throw .unavailable(reason: "\(error)")
    }
  }

  private func tableExists(_ session: Session) async throws(DatabaseError) -> Bool {
    let result = try await session.run(Self.tableExists)
    return (try? result.rows.first?.boolean(0)) ?? false
  }

  private func withSession<Value: Sendable>(
    _ body: (Session) async throws(MigrationError) -> Value
  ) async throws(MigrationError) -> Value {
    guard let thread = PollingThread() else { throw .unavailable(reason: "the system could not create a thread") }
    defer { thread.stop() }
    let session = try await translatingErrors { () async throws(DatabaseError) in
      try await Session.open(on: thread, configuration)
    }
    let result: Result<Value, MigrationError>
    do {
      result = .success(try await body(session))
    } catch {
      result = .failure(error)
    }
    await session.close()
    return try result.get()
  }

  @discardableResult
  private func translatingErrors<Value>(
    _ body: () async throws(DatabaseError) -> Value
  ) async throws(MigrationError) -> Value {
    do {
      return try await body()
    } catch .rejected(let error) {
      throw .rejected(reason: error.summary + Self.advice(.rejected(error)))
    } catch {
      throw .unavailable(reason: Self.reason(error))
    }
  }

  private static func reason(_ error: DatabaseError) -> String {
    error.reason(ofCancellation: "the migration was cancelled")
  }
}
