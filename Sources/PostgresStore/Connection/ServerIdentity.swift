/// The identity of a server process group: which server it is, and which of its starts.
struct ServerIdentity: Hashable, Sendable {
  /// The postmaster's start time and the time of the last statistics reset, in microseconds since 1970, in base 36 with
  /// a hyphen between.
  ///
  /// The first part differs between servers and between starts. After a crash of a backend the postmaster closes all
  /// connections, recovers and resets the statistics, which changes the second part.
  let life: String

  /// A Boolean value that indicates whether the server was the primary when the connection was made.
  let isPrimary: Bool

  /// The reason for which a standby refuses writes and has no positions of changes.
  static let standbyReason = "the database is a standby"

  /// The query for the identity: one row with one text, the same for all connections to one server and for all
  /// transactions.
  static let query = """
    SELECT concat_ws(
      ' ', (extract(epoch FROM pg_postmaster_start_time()) * 1000000)::int8,
      coalesce((extract(epoch FROM stats_reset) * 1000000)::int8, 0), pg_is_in_recovery()
    )
    FROM pg_stat_bgwriter
    """

  /// Creates an identity from a result of ``query``; `nil` for anything else.
  init?(_ text: String) {
    let parts = text.split(separator: " ")
    guard parts.count == 3, let start = Int64(parts[0]), let reset = Int64(parts[1]) else { return nil }
    self.init(life: "\(String(start, radix: 36))-\(String(reset, radix: 36))", isPrimary: parts[2] == "f")
  }

  init(life: String, isPrimary: Bool) {
    self.life = life
    self.isPrimary = isPrimary
  }
}
