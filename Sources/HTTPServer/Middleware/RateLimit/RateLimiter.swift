import NIOCore
import Synchronization

/// A limiter of the rate of each client's requests, in two megabytes whatever their number.
///
/// Clients are distributed over parts, each with a lock of its own that is held for four look-ups, so that threads
/// hardly contend. The hash that distributes them is seeded in each process, so that nobody can choose to collide with
/// another client.
public final class RateLimiter: Sendable {
  /// The limit.
  public let limit: RateLimit

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
  public func admit(_ client: some Hashable) -> RateLimit.Decision {
    let (part, hash) = place(client)
    let now = now()
    return part.sketch.withLock { [limit] in $0.decide(limit, hash: hash, now: now) }
  }

  /// Returns a Boolean value that indicates whether a request of the client would be admitted. It is not counted.
  public func wouldAdmit(_ client: some Hashable) -> Bool {
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
  public func fields(for decision: RateLimit.Decision) -> [(String, String)] {
    [
      ("ratelimit-policy", policyField),
      ("ratelimit", "\"default\";r=\(decision.remaining);t=\(decision.resetSeconds)"),
    ]
  }
}
