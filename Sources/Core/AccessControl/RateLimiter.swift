import NIOCore
import Synchronization

/// A limiter of the rate of each client's requests, in two megabytes whatever their number.
///
/// Clients are distributed over parts, each with a lock of its own that is held for four look-ups, so that threads
/// hardly contend. The hash that distributes them is seeded in each process, so that nobody can choose to collide with
/// another client.
package final class RateLimiter: Sendable {
  package let limit: RateLimit

  private static let partBits = 6
  private let parts: [Part]
  private let now: @Sendable () -> Int64
  private let policyField: String

  private final class Part: Sendable {
    let sketch = Mutex(RateSketch())
  }

  /// Creates a limiter.
  ///
  /// - Parameter now: a monotonic time in nanoseconds.
  package init(
    _ limit: RateLimit,
    now: @escaping @Sendable () -> Int64 = { Int64(NIODeadline.now().uptimeNanoseconds) }
  ) {
    self.limit = limit
    self.now = now
    parts = (0..<1 << Self.partBits).map { _ in Part() }
    policyField = "\"default\";q=\(limit.burst);w=\(limit.windowSeconds)"
  }

  /// Counts a request of a client, if it is admitted. The time it takes does not depend on the number of clients.
  package func admit(_ client: some Hashable) -> RateLimit.Decision {
    let (part, hash) = place(client)
    let now = now()
    return part.sketch.withLock { [limit] in $0.decide(limit, hash: hash, now: now) }
  }

  /// Returns a Boolean value that indicates whether a request of the client would be admitted. It is not counted.
  package func wouldAdmit(_ client: some Hashable) -> Bool {
    let (part, hash) = place(client)
    return limit.decide(fullAt: part.sketch.withLock { $0.earliest(hash) }, now: now()).isAllowed
  }

  private func place(_ client: some Hashable) -> (part: Part, hash: UInt64) {
    var hasher = Hasher()
    client.hash(into: &hasher)
    let hash = UInt64(bitPattern: Int64(hasher.finalize()))
    return (parts[Int(truncatingIfNeeded: hash & (1 << Self.partBits - 1))], hash >> UInt64(Self.partBits))
  }

  /// Returns the fields of a response that describe the limit: `RateLimit-Policy` and `RateLimit`
  /// (draft-ietf-httpapi-ratelimit-headers-10).
  package func fields(for decision: RateLimit.Decision) -> [(String, String)] {
    [
      ("ratelimit-policy", policyField),
      ("ratelimit", "\"default\";r=\(decision.remaining);t=\(decision.resetSeconds)"),
    ]
  }
}

/// A limit of the rate of a client's requests: a sustained rate and a burst.
///
/// It is the generic cell rate algorithm (ITU-T I.371, annex A): the only state of a client is the time at which it
/// will have its whole allowance back, so that no timer runs and an idle client costs nothing.
package struct RateLimit: Hashable, Sendable {
  /// The number of requests that a client may send at once when it has its whole allowance.
  package let burst: Int

  /// The time in nanoseconds in which a client's allowance grows by one request.
  let interval: Int64

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - requestsPerSecond: the sustained rate, from 0.001 to 1,000,000; may be a fraction.
  ///   - burst: the number of requests at once, from 1 to 1,000,000.
  package init(requestsPerSecond: Double, burst: Int) {
    precondition((0.001...1_000_000).contains(requestsPerSecond) && (1...1_000_000).contains(burst))
    self.burst = burst
    interval = Int64((1e9 / requestsPerSecond).rounded())
  }

  /// The time in seconds, rounded up, in which a client's whole allowance is restored.
  package var windowSeconds: Int { Self.seconds(Int64(burst) * interval) }

  /// The decision about a request.
  package struct Decision: Hashable, Sendable {
    /// A Boolean value that indicates whether the request is admitted.
    package let isAllowed: Bool
    /// The time at which the client will have its whole allowance, in nanoseconds on the caller's clock.
    let fullAt: Int64
    /// The number of further requests that the client may send at once.
    package let remaining: Int
    /// The time in seconds, rounded up, until the client has its whole allowance back; for a rejected request, until
    /// the next may be sent.
    package let resetSeconds: Int
  }

  /// Returns the decision about one request.
  ///
  /// - Parameters:
  ///   - fullAt: the time at which the client would have its whole allowance, in nanoseconds.
  ///   - now: the time, in nanoseconds.
  func decide(fullAt: Int64, now: Int64) -> Decision {
    let allowance = Int64(burst) * interval
    let next = max(fullAt, now) + interval
    let excess = next - now - allowance
    guard excess <= 0 else {
      return Decision(isAllowed: false, fullAt: fullAt, remaining: 0, resetSeconds: Self.seconds(excess))
    }
    return Decision(
      isAllowed: true, fullAt: next, remaining: Int(-excess / interval), resetSeconds: Self.seconds(next - now))
  }

  private static func seconds(_ nanoseconds: Int64) -> Int { Int((nanoseconds + 999_999_999) / 1_000_000_000) }
}

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
