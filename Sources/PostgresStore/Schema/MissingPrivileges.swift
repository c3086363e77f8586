import Points
import PostgresClient

/// The privileges that a role needs to serve requests, and the query for those that it lacks.
enum MissingPrivileges {
  /// The privileges on tables and sequences for serving requests.
  static let serving: [(relation: String, privileges: [String])] = [
    ("waymark_migrations", ["SELECT"]), ("points", ["SELECT", "INSERT", "UPDATE", "DELETE"]),
    ("point_versions", ["USAGE", "UPDATE"]),
    ("changes", ["SELECT", "DELETE"]), ("changes_pruned", ["SELECT", "UPDATE"]),
    ("idempotency_keys", ["SELECT", "INSERT", "UPDATE", "DELETE"]), ("sources", ["SELECT", "INSERT", "UPDATE"]),
    ("source_imports", ["SELECT", "INSERT", "UPDATE"]),
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
