import Points
package import PostgresClient

/// A check that a database can be reached, has what the service needs, and grants the necessary privileges.
///
/// It changes nothing and uses two connections.
package struct DatabaseCheck: Sendable {
  /// The uses for which a role is checked.
  package enum Use: Hashable, Sendable {
    /// Reading and writing places.
    case serving
    /// Recording searches (`ANALYTICS=postgres`).
    case analytics
    /// Running the pending migrations.
    case migrating
  }

  /// One finding about the database, for an operator.
  package enum Finding: Sendable {
    /// The database is as required.
    case fine(String)
    /// The service works with restrictions.
    case warning(String)
    /// The service will not work.
    case problem(String)
  }

  /// The error of an unreachable database. It contains no secrets.
  package struct Unreachable: Error, CustomStringConvertible {
    /// The reason.
    package let description: String
  }

  private static let overview = """
    SELECT current_setting('server_version'), current_user::text, current_database()::text,
      coalesce(current_schema()::text, ''), pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
      (SELECT extversion FROM pg_extension WHERE extname = 'postgis'),
      EXISTS (SELECT FROM pg_available_extensions WHERE name = 'postgis'),
      (SELECT rolsuper FROM pg_roles WHERE rolname = current_user)
        OR EXISTS (
          SELECT FROM pg_available_extension_versions
          WHERE name = 'postgis' AND (trusted OR NOT superuser)
            AND has_database_privilege(current_database(), 'CREATE')),
      coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
      has_database_privilege(current_database(), 'TEMPORARY'),
      to_regclass('waymark_migrations') IS NOT NULL
    """

  /// The query for those of relations that are tables and that another role owns, which migrations can't alter.
  private static let tablesOfOtherRoles = """
    SELECT relation.relname::text, pg_get_userbyid(relation.relowner)::text
    FROM unnest($1::text[]) AS known (name)
    JOIN pg_class AS relation ON relation.oid = to_regclass(known.name)
    WHERE relation.relkind <> 'S' AND NOT pg_has_role(current_user, relation.relowner, 'USAGE')
    ORDER BY relation.relname
    """

  private let configuration: PostgresConfiguration
  private let migrations: [Migration]

  package init(configuration: PostgresConfiguration, migrations: [Migration]) {
    self.configuration = configuration
    self.migrations = migrations
  }

  /// Returns the findings for the uses.
  ///
  /// - Throws: ``Unreachable``.
  package func findings(for uses: Set<Use>) async throws(Unreachable) -> [Finding] {
    guard let thread = PollingThread() else { throw Unreachable(description: "the system could not create a thread") }
    defer { thread.stop() }
    let session = try await open(on: thread)
    let result: Result<[Finding], Unreachable>
    do {
      result = .success(try await findings(uses, session, thread))
    } catch let error as Unreachable {
      result = .failure(error)
    } catch {
      result = .failure(Unreachable(description: "\(error)"))
    }
    await session.close()
    return try result.get()
  }

  private func open(on thread: PollingThread) async throws(Unreachable) -> Session {
    do {
      return try await Session.open(on: thread, configuration)
    } catch {
      throw Unreachable(description: Self.reason(error))
    }
  }

  private func query(
    _ session: Session, _ sql: String, _ parameters: Parameters = Parameters()
  ) async throws(Unreachable) -> QueryResult {
    do {
      return try await session.run(sql, parameters)
    } catch {
      throw Unreachable(description: Self.reason(error))
    }
  }

  private func findings(
    _ uses: Set<Use>, _ session: Session, _ thread: PollingThread
  ) async throws -> [Finding] {
    let row = try await query(session, Self.overview).rows[0]
    let (user, database, schema) = (try row.text(1), try row.text(2), try row.text(3))
    var findings = [Finding.fine("connected as \(user) to \(database), PostgreSQL \(try row.text(0))")]

    if try row.boolean(4) {
      let reason = "the server is a standby and therefore read-only"
      findings.append(
        uses.contains(.migrating) ? .problem(reason) : .warning("\(reason): there is no index, and writes are refused"))
    } else if try row.boolean(5) {
      findings.append(.problem("transactions of \(user) are read-only (default_transaction_read_only)"))
    }
    findings.append(try postgis(row, user, isMigrating: uses.contains(.migrating)))
    if schema.isEmpty {
      findings.append(.problem("\(user) has USAGE on no schema of search_path: GRANT USAGE ON SCHEMA … TO \(user)"))
    }
    if uses.contains(.migrating) {
      findings += try await migrating(row, user, schema, session)
    }
    if uses.contains(.serving) {
      findings += try await privileges(uses, row, user, session)
      findings.append(try await pooler(session, thread))
    }
    return findings
  }

  private func postgis(_ row: QueryResult.Row, _ user: String, isMigrating: Bool) throws -> Finding {
    if let version = row.optionalText(6) { return .fine("PostGIS \(version)") }
    guard try row.boolean(7) else {
      return .problem("PostGIS is not installed on the server: install its package there")
    }
    let mayCreate = try row.boolean(8)
    if isMigrating, mayCreate { return .fine("PostGIS is not in the database; the migration adds it") }
    return .problem(
      mayCreate
        ? "PostGIS is not in the database: `waymark migrate` adds it"
        : "PostGIS is not in the database, and \(user) may not add it: a superuser must run CREATE EXTENSION postgis")
  }

  private func migrating(
    _ row: QueryResult.Row, _ user: String, _ schema: String, _ session: Session
  ) async throws -> [Finding] {
    var findings: [Finding] = []
    if !schema.isEmpty, try !row.boolean(9) {
      findings.append(
        .problem("\(user) has no CREATE on the schema \(schema): GRANT CREATE ON SCHEMA \(schema) TO \(user)"))
    }
    let relations = (MissingPrivileges.serving + MissingPrivileges.analytics).map(\.relation)
    for table in try await query(session, Self.tablesOfOtherRoles, Parameters { $0.add(relations) }).rows {
      findings.append(
        .problem(
          "\(user) does not own the table \(try table.text(0)), which migrations alter: \(try table.text(1)) does"))
    }
    return findings
  }

  // MARK: Privileges

  private func privileges(
    _ uses: Set<Use>, _ row: QueryResult.Row, _ user: String, _ session: Session
  ) async throws -> [Finding] {
    let wanted = MissingPrivileges.serving + (uses.contains(.analytics) ? MissingPrivileges.analytics : [])
    let missing = try await query(
      session, MissingPrivileges.statement.sql, MissingPrivileges.parameters(for: wanted))
    var findings: [Finding] = []
    var mayReadMigrations = try row.boolean(11)
    for row in missing.rows {
      let (relation, isSequence, privilege) = (try row.text(0), try row.boolean(1), try row.text(2))
      if relation == "waymark_migrations" { mayReadMigrations = false }
      let object = "the \(isSequence ? "sequence" : "table") \(relation)"
      let grant = isSequence ? "SEQUENCE \(relation)" : relation
      findings.append(
        .problem("\(user) has no \(privilege) on \(object): GRANT \(privilege) ON \(grant) TO \(user)"))
    }
    if try !row.boolean(10) {
      let grant = "GRANT TEMPORARY ON DATABASE … TO \(user)"
      findings.append(.problem("\(user) has no TEMPORARY on the database, which imports need: \(grant)"))
    }
    findings.insert(contentsOf: try await schema(row, mayReadMigrations, session), at: 0)
    if findings.allSatisfy({ if case .problem = $0 { false } else { true } }) {
      findings.append(.fine("\(user) has all necessary privileges"))
    }
    return findings
  }

  private func schema(_ row: QueryResult.Row, _ mayRead: Bool, _ session: Session) async throws -> [Finding] {
    guard try row.boolean(11) else {
      return [.problem("the database has no tables of this program: run `waymark migrate`")]
    }
    guard mayRead else { return [] }
    let result = try await query(session, SchemaState.comparison.sql, SchemaState.parameters(for: migrations))
    let state = try SchemaState(result, of: migrations)
    if let reason = state.incompatibility { return [.problem(reason)] }
    return [.fine("the schema is current")]
  }

  // MARK: Poolers

  /// The pooling mode, which determines when a pooler assigns a server connection to another client.
  private enum PoolerMode {
    case none
    case session
    case transaction
    case statement
  }

  private func pooler(_ session: Session, _ thread: PollingThread) async throws -> Finding {
    let isAlwaysPreparing = configuration.preparedStatements == .always
    switch try await poolerMode(session, thread) {
    case .none: return .fine("each connection has a session of its own")
    case .session where isAlwaysPreparing:
      return .fine("a pooler gives each connection a session of its own (PgBouncer's pool_mode = session)")
    case .session:
      return .warning(
        """
        a pooler stands between (PgBouncer's pool_mode = session), so that no statement is prepared, which costs speed: \
        set DATABASE_PREPARED_STATEMENTS=on, or connect to PostgreSQL itself
        """)
    case .transaction where isAlwaysPreparing:
      return .warning(
        """
        a pooler shares connections between transactions (PgBouncer's pool_mode = transaction), in which prepared \
        statements last only from PgBouncer 1.21 on, with max_prepared_statements: otherwise set \
        DATABASE_PREPARED_STATEMENTS=auto
        """)
    case .transaction:
      return .warning(
        """
        a pooler shares connections between transactions (PgBouncer's pool_mode = transaction), so that no statement is \
        prepared, which costs speed: connect to PostgreSQL itself, or use pool_mode = session and \
        DATABASE_PREPARED_STATEMENTS=on
        """)
    case .statement:
      return .problem(
        """
        a pooler allows no transactions of several statements (PgBouncer's pool_mode = statement), which migrations, \
        imports and exports are: use pool_mode = transaction, or connect to PostgreSQL itself
        """)
    }
  }

  /// Detects the pooling mode.
  ///
  /// If two transactions of a session run on different server connections, or two sessions share one, server
  /// connections are reassigned after each transaction. That may depend on the load of other clients, so it is tried
  /// several times.
  private func poolerMode(_ session: Session, _ thread: PollingThread) async throws -> PoolerMode {
    let process = "SELECT pg_backend_pid()::int8"
    let first = try await query(session, process).rows[0].integer(0)
    for _ in 0..<5 {
      let other = try await open(on: thread)
      let second: Int64
      do {
        second = try await query(other, process).rows[0].integer(0)
      } catch {
        await other.close()
        throw error
      }
      await other.close()
      let again = try await query(session, process).rows[0].integer(0)
      guard first == second || first != again else { continue }
      return await allowsTransactions(session) ? .transaction : .statement
    }
    return await session.isPooled ? .session : .none
  }

  private func allowsTransactions(_ session: Session) async -> Bool {
    do {
      try await session.run(script: "BEGIN")
      try await session.run(script: "COMMIT")
      return true
    } catch {
      return false
    }
  }

  private static func reason(_ error: DatabaseError) -> String {
    error.reason(ofCancellation: "the check was cancelled")
  }
}

/// The privileges that a role needs to serve requests, and the query for those that it lacks.
enum MissingPrivileges {
  /// The privileges on tables and sequences for serving requests.
  static let serving: [(relation: String, privileges: [String])] = [
    ("waymark_migrations", ["SELECT"]), ("points", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("point_versions", ["USAGE", "UPDATE"]),
    ("changes", ["SELECT", "DELETE"]), ("changes_pruned", ["SELECT", "UPDATE"]),
    ("idempotency_keys", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("sources", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("source_imports", ["SELECT", "INSERT", "UPDATE", "DELETE"]), ("former_ids", ["SELECT"]),
    ("areas", ["SELECT", "INSERT", "UPDATE", "DELETE"]), ("area_state", ["SELECT", "UPDATE"]),
    ("index_anchors", ["SELECT", "INSERT", "DELETE"]), ("change_anchors", ["SELECT", "INSERT", "DELETE"]),
    ("records", ["SELECT", "INSERT", "UPDATE", "DELETE"]), ("edits", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
  ]

  /// The privileges for recording searches.
  static let analytics = [(relation: "searches", privileges: ["SELECT", "INSERT", "DELETE"])]

  /// The query for the privileges that the current role lacks: relation, a flag for sequences, privilege and role.
  /// Relations that don't exist are omitted. Values: the relations and the privileges, in pairs.
  static let statement = Statement(
    "missing_privileges", planning: .eachTime,
    """
    SELECT wanted.relation, found.relkind = 'S', wanted.privilege, current_user::text
    FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS wanted (relation, privilege, position)
    JOIN pg_class AS found ON found.oid = to_regclass(wanted.relation)
    WHERE NOT CASE found.relkind
      WHEN 'S' THEN has_sequence_privilege(found.oid, wanted.privilege)
      ELSE has_table_privilege(found.oid, wanted.privilege)
    END
    ORDER BY wanted.position
    """
  )

  static func parameters(for wanted: [(relation: String, privileges: [String])]) -> Parameters {
    let pairs = wanted.flatMap { wanted in wanted.privileges.map { (wanted.relation, $0) } }
    return Parameters {
      $0.add(pairs.map(\.0))
      $0.add(pairs.map(\.1))
    }
  }

  /// Returns a permission error with the privileges that the role lacks on the object that the error names.
  ///
  /// - Parameter result: the result of ``statement``.
  static func explanation(of error: ServerError, by result: QueryResult) throws(PointStoreError) -> ServerError {
    let words = Set(error.message.split { !($0.isLetter || $0.isNumber || $0 == "_") })
    var role = ""
    var missing: [(relation: String, privileges: [String])] = []
    for row in result.rows {
      let relation = try row.text(0)
      guard words.contains(Substring(relation)) else { continue }
      role = try row.text(3)
      if missing.last?.relation != relation { missing.append((relation, [])) }
      missing[missing.count - 1].privileges.append(try row.text(2))
    }
    guard !missing.isEmpty else { return error }
    let lacks = missing.map { "\($0.privileges.joined(separator: ", ")) on \($0.relation)" }
    return error.withMessage("\(error.message); the role \(role) has no \(lacks.joined(separator: " and no "))")
  }
}
