/// The state of all clients in constant memory: a count–min sketch (Cormode and Muthukrishnan, 2005) with conservative
/// update (Estan and Varghese, 2002).
///
/// Each client has a cell in each of four rows, found by its hash, and shares each with others. A cell holds a time as
/// ``RateLimit`` has it, and what counts is the earliest of the four. No cell is ever set back and none is evicted, so
/// that no client can reset its allowance by means of others, and a client is limited by others only if all of its four
/// cells are shared with clients over the limit: if these occupy a share p of the cells, p⁴ of the other clients.
struct RateSketch {
  static let rows = 4

  /// The number of bits of a cell's index in its row.
  static let bits = 10

  private var cells = [Int64](repeating: 0, count: rows << bits)

  /// Returns the decision about a request, and counts the request if it is admitted.
  ///
  /// - Parameters:
  ///   - hash: 40 random bits of the client.
  ///   - now: a monotonic time in nanoseconds.
  mutating func decide(_ limit: RateLimit, hash: UInt64, now: Int64) -> RateLimit.Decision {
    let decision = limit.decide(fullAt: earliest(hash), now: now)
    guard decision.isAllowed else { return decision }
    for row in 0..<Self.rows {
      let index = Self.index(hash, row: row)
      if cells[index] < decision.fullAt { cells[index] = decision.fullAt }
    }
    return decision
  }

  /// Returns the time at which the client would have its whole allowance, as far as is known; never too early.
  func earliest(_ hash: UInt64) -> Int64 {
    var earliest = Int64.max
    for row in 0..<Self.rows { earliest = min(earliest, cells[Self.index(hash, row: row)]) }
    return earliest
  }

  private static func index(_ hash: UInt64, row: Int) -> Int {
    row << bits | Int(truncatingIfNeeded: hash >> UInt64(row * bits)) & (1 << bits - 1)
  }
}
