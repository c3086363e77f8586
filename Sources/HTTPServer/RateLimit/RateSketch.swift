/// What is remembered of all clients, in memory that does not grow: a count–min sketch (Cormode and Muthukrishnan, 2005)
/// with conservative update (Estan and Varghese, 2002).
///
/// Each client has a cell in each of four rows, found by its hash, and shares each with others. A cell holds a time as
/// ``RateLimit`` has it, and what counts is the earliest of the four. No cell is ever set back and none is evicted, so
/// that no client gets an allowance anew by making others come, and a client pays for others only where all of its four
/// cells are shared with clients that ask too much: with a share p of the cells in such hands, p⁴ of the others.
struct RateSketch {
  static let rows = 4

  /// Cells in a row, as a number of bits.
  static let bits = 10

  private var cells = [Int64](repeating: 0, count: rows << bits)

  /// Decides about a request, and remembers it where it may be answered.
  ///
  /// - Parameters:
  ///   - hash: 40 bits that are the client's, at random.
  ///   - now: the time, in nanoseconds from a moment in the past.
  mutating func decide(_ limit: RateLimit, hash: UInt64, now: Int64) -> RateLimit.Decision {
    let decision = limit.decide(fullAt: earliest(hash), now: now)
    guard decision.isAllowed else { return decision }
    for row in 0..<Self.rows {
      let index = Self.index(hash, row: row)
      if cells[index] < decision.fullAt { cells[index] = decision.fullAt }
    }
    return decision
  }

  /// When the client would have its whole allowance, as far as is known; never too early.
  func earliest(_ hash: UInt64) -> Int64 {
    var earliest = Int64.max
    for row in 0..<Self.rows { earliest = min(earliest, cells[Self.index(hash, row: row)]) }
    return earliest
  }

  private static func index(_ hash: UInt64, row: Int) -> Int {
    row << bits | Int(truncatingIfNeeded: hash >> UInt64(row * bits)) & (1 << bits - 1)
  }
}
