/// Which server a connection leads to, in which of its lives.
struct ServerIdentity: Hashable, Sendable {
  /// Two times in microseconds since 1970, in letters and digits and with a hyphen between: when the postmaster started, and since when it counts
  /// its statistics. Another server and another start have another first one. After a crash of one of its processes the
  /// postmaster ends all connections, recovers and counts anew: then the second one is another.
  let life: String

  /// Whether it took writes when the connection was made.
  let isPrimary: Bool

  /// The query for it: one row of one text, the same for all connections to one server and for all transactions.
  static let query = """
    SELECT concat_ws(
      ' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8,
      coalesce((extract(epoch FROM stats_reset) * 1000000)::int8, 0), pg_is_in_recovery()
    )
    FROM pg_stat_bgwriter
    """

  /// Creates an identity of what ``query`` gives; `nil` for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let start = Int64(parts[0]), let reset = Int64(parts[1]) else { return nil }
    self.init(life: "\(String(start, radix: 36))-\(String(reset, radix: 36))", isPrimary: parts[2] == "f")
  }

  /// Creates an identity.
  init(life: String, isPrimary: Bool) {
    self.life = life
    self.isPrimary = isPrimary
  }
}
