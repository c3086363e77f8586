import Points

/// The migrations that are known beside those that a database has run.
struct SchemaState: Sendable {
  /// What is not as it should be with one migration.
  enum Difference: Hashable, Sendable {
    /// It was not run.
    case pending(name: String)
    /// It was run when it read otherwise.
    case changed(name: String)
    /// It was run, but is not known here, and does not allow a program as old as this one.
    case unknown(name: String)
    /// It was run and is not known here, but is newer than all that are and allows a program as old as this one.
    case newer(name: String)
  }

  /// Compares the two, by name and checksum. PostgreSQL does the hashing, of these files now and of what it ran then.
  ///
  /// A table that an earlier program created has no column `oldest_program`, and null is read from it then.
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

  /// What differs, by name.
  let differences: [Difference]

  /// The values for ``comparison``.
  static func parameters(for migrations: [Migration]) -> Parameters {
    Parameters {
      $0.add(migrations.map(\.name))
      $0.add(migrations.map(\.sql))
    }
  }

  /// Reads the rows of ``comparison``, which was asked with these migrations.
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

  /// Creates the state of a database that has run none.
  init(nothingRunOf migrations: [Migration]) {
    differences = migrations.map { .pending(name: $0.name) }
  }

  /// The reason for which a program with these migrations can't work with the schema, or `nil`.
  var complaint: String? {
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

  /// The names of the migrations that a newer program ran and that this one works with.
  var newer: [String] {
    differences.compactMap { difference in
      if case .newer(let name) = difference { name } else { nil }
    }
  }

  /// The migrations that are left to be run.
  ///
  /// - Throws: ``MigrationError`` when one was changed or is unknown, or one to be run comes before one that was.
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
