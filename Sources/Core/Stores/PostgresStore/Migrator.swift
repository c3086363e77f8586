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

/// The differences between the known migrations and those that a database has run.
struct SchemaState: Sendable {
  /// A difference in one migration.
  enum Difference: Hashable, Sendable {
    /// The migration has not run.
    case pending(name: String)
    /// The migration ran with different contents.
    case changed(name: String)
    /// The migration has run, but is unknown to this program and does not allow a program of its age.
    case unknown(name: String)
    /// The migration has run and is newer than all known ones, but allows a program of this age.
    case newer(name: String)
    /// The migration has run, but is none of this program's, although it is not newer than they are.
    case foreign(name: String)
  }

  /// The query that compares both by name and checksum. PostgreSQL computes the checksums of these files and has stored
  /// those of the migrations that it ran.
  static let comparison = Statement(
    "schema",
    """
    SELECT coalesce(known.name, run.name), known.name IS NOT NULL, run.name IS NOT NULL, run.oldest_program
    FROM (
      SELECT name, sha256(convert_to(sql, 'UTF8')) AS checksum FROM unnest($1::text[], $2::text[]) AS files (name, sql)
    ) AS known
    FULL JOIN waymark_migrations AS run ON run.name = known.name
    WHERE known.checksum IS DISTINCT FROM run.checksum
    ORDER BY 1
    """
  )

  /// The differences, ordered by name.
  let differences: [Difference]

  static func parameters(for migrations: [Migration]) -> Parameters {
    Parameters {
      $0.add(migrations.map(\.name))
      $0.add(migrations.map(\.sql))
    }
  }

  /// Creates the state from the rows of ``comparison`` with these migrations.
  init(_ result: QueryResult, of migrations: [Migration]) throws(PointStoreError) {
    let newest = migrations.last?.number ?? 0
    var differences: [Difference] = []
    for row in result.rows {
      let name = try row.text(0)
      switch (try row.boolean(1), try row.boolean(2)) {
      case (true, false): differences.append(.pending(name: name))
      case (false, true):
        if Migration(name: name, sql: "").number <= newest {
          differences.append(.foreign(name: name))
        } else {
          differences.append(try row.integer(3) <= newest ? .newer(name: name) : .unknown(name: name))
        }
      default: differences.append(.changed(name: name))
      }
    }
    self.differences = differences
  }

  /// Creates the state of a database that has run no migrations.
  init(emptyDatabaseWith migrations: [Migration]) {
    differences = migrations.map { .pending(name: $0.name) }
  }

  /// The reason for which a program with these migrations is incompatible with the schema; `nil` where it is
  /// compatible.
  var incompatibility: String? {
    if let error { return error.description }
    for case .pending(let name) in differences { return "the database has not run \(name).sql: run `waymark migrate`" }
    return nil
  }

  /// The error of the first difference that running the pending migrations would not end.
  private var error: MigrationError? {
    for difference in differences {
      switch difference {
      case .changed(let name): return .changed(name: name)
      case .unknown(let name): return .unknown(name: name)
      case .foreign(let name): return .foreign(name: name)
      case .pending, .newer: break
      }
    }
    return nil
  }

  /// The names of the migrations that a newer program ran and that are compatible with this one.
  var newer: [String] {
    differences.compactMap { difference in
      if case .newer(let name) = difference { name } else { nil }
    }
  }

  /// Returns the pending migrations.
  ///
  /// - Throws: ``MigrationError`` when a migration was changed, is unknown or foreign, or a pending one comes before
  ///   one that has run.
  func pending(of migrations: [Migration]) throws(MigrationError) -> [Migration] {
    if let error { throw error }
    let pending = migrations.filter { differences.contains(.pending(name: $0.name)) }
    guard let first = pending.first else { return [] }
    let areLast = newer.isEmpty && migrations.drop(while: { $0 != first }).count == pending.count
    if !areLast { throw .outOfOrder(name: first.name) }
    return pending
  }
}
