import NIOCore
import Synchronization

/// Holds clients to a ``RateLimit``, in two megabytes whatever their number.
///
/// Clients are spread over parts, each with a lock of its own that is held for four look-ups, so that threads hardly
/// meet. By whose hash it is spread is another one in each process: nobody can choose whom to meet.
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

  /// What a request is told about the limit.
  public struct Verdict: Hashable, Sendable {
    /// Whether it may be answered.
    public let isAllowed: Bool
    /// How many more the client may make at once.
    public let remaining: Int
    /// How long until the client has its whole allowance back, or, where it is refused, until it may ask again; seconds,
    /// rounded up.
    public let resetSeconds: Int
  }

  /// Creates a limiter that nobody has asked yet.
  ///
  /// - Parameter now: the time, in nanoseconds from a moment in the past; it never goes back.
  public init(
    _ limit: RateLimit,
    now: @escaping @Sendable () -> Int64 = { Int64(NIODeadline.now().uptimeNanoseconds) }
  ) {
    self.limit = limit
    self.now = now
    parts = (0..<1 << Self.partBits).map { _ in Part() }
    policyField = "\"default\";q=\(limit.burst);w=\(limit.windowSeconds)"
  }

  /// Counts a request of a client, where it may be answered. Takes the same time for any number of clients.
  public func admit(_ client: some Hashable) -> Verdict {
    let (part, hash) = place(client)
    let now = now()
    let decision = part.sketch.withLock { [limit] in $0.decide(limit, hash: hash, now: now) }
    return Verdict(
      isAllowed: decision.isAllowed, remaining: decision.remaining, resetSeconds: decision.resetSeconds)
  }

  /// Whether a request of the client would be answered; it is not counted.
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

  /// What an answer says about the limit: `RateLimit-Policy` and `RateLimit`
  /// (draft-ietf-httpapi-ratelimit-headers-10).
  public func fields(for verdict: Verdict) -> [(String, String)] {
    [
      ("ratelimit-policy", policyField),
      ("ratelimit", "\"default\";r=\(verdict.remaining);t=\(verdict.resetSeconds)"),
    ]
  }
}
