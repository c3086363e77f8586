import Points

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
  }

  /// The query that compares both by name and checksum. PostgreSQL computes the checksums of these files and has stored
  /// those of the migrations that it ran.
  ///
  /// A table from an earlier program lacks the column `oldest_program`, which then reads as null.
  static let comparison = Statement(
    "schema",
    """
    SELECT coalesce(known.name, run.name), known.name IS NOT NULL, run.name IS NOT NULL,
      (to_jsonb(run) ->> 'oldest_program')::bigint
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
        let oldestProgram = try row.isNull(3) ? nil : row.integer(3)
        let isCompatible = Migration(name: name, sql: "").number > newest && oldestProgram.map { $0 <= newest } == true
        differences.append(isCompatible ? .newer(name: name) : .unknown(name: name))
      default: differences.append(.changed(name: name))
      }
    }
    self.differences = differences
  }

  /// Creates the state of a database that has run no migrations.
  init(emptyDatabaseWith migrations: [Migration]) {
    differences = migrations.map { .pending(name: $0.name) }
  }

  /// The reason for which a program with these migrations is incompatible with the schema; `nil` if it is compatible.
  var incompatibility: String? {
    let first = differences.first { difference in
      if case .newer = difference { false } else { true }
    }
    return switch first {
    case nil, .newer: nil
    case .pending(let name): "the database has not run \(name).sql: run `waymark migrate`"
    case .changed(let name): "\(name).sql was changed after the database ran it: `waymark migrate` says more"
    case .unknown(let name): "the database has run \(name).sql, which needs a newer program than this one"
    }
  }

  /// The names of the migrations that a newer program ran and that are compatible with this one.
  var newer: [String] {
    differences.compactMap { difference in
      if case .newer(let name) = difference { name } else { nil }
    }
  }

  /// Returns the pending migrations.
  ///
  /// - Throws: ``MigrationError`` when a migration was changed or is unknown, or a pending one comes before one that
  ///   has run.
  func pending(of migrations: [Migration]) throws(MigrationError) -> [Migration] {
    for difference in differences {
      switch difference {
      case .changed(let name): throw .changed(name: name)
      case .unknown(let name): throw .unknown(name: name)
      case .pending, .newer: break
      }
    }
    let pending = migrations.filter { differences.contains(.pending(name: $0.name)) }
    guard let first = pending.first else { return [] }
    let areLast = newer.isEmpty && migrations.drop(while: { $0 != first }).count == pending.count
    if !areLast { throw .outOfOrder(name: first.name) }
    return pending
  }
}
