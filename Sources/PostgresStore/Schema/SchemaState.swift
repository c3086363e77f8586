import Points
import PostgresClient

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
