/// A statement that is sent again and again.
struct Statement: Hashable, Sendable {
  /// When PostgreSQL thinks about how to go about it.
  enum Planning: Hashable, Sendable {
    /// Once for each connection that prepares statements: the best way doesn't depend on the values.
    case once

    /// Each time, knowing the values: the best way depends on them.
    case eachTime
  }

  /// What it is prepared as: a short name, no other statement's.
  let name: String

  /// The text, with `$1` and so on for values, each with a cast.
  let sql: String

  /// When it is planned.
  let planning: Planning

  /// Creates a statement.
  init(_ name: String, planning: Planning = .once, _ sql: String) {
    self.name = name
    self.sql = sql
    self.planning = planning
  }

  static func == (left: Statement, right: Statement) -> Bool { left.name == right.name }

  func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
