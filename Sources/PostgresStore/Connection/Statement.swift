/// A statement that is sent repeatedly.
struct Statement: Hashable, Sendable {
  /// The time at which PostgreSQL plans a statement.
  enum Planning: Hashable, Sendable {
    /// Once for each connection that prepares statements: the best plan doesn't depend on the values.
    case once

    /// On each execution: the best plan depends on the values.
    case eachTime
  }

  /// The short, unique name of the prepared statement.
  let name: String

  /// The SQL text with placeholders `$1`, `$2` and so on, each with a cast.
  let sql: String

  let planning: Planning

  init(_ name: String, planning: Planning = .once, _ sql: String) {
    self.name = name
    self.sql = sql
    self.planning = planning
  }

  static func == (left: Statement, right: Statement) -> Bool { left.name == right.name }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
