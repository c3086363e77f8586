/// How often a client may ask: so many requests a second in the long run, and so many at once.
///
/// It is the generic cell rate algorithm (ITU-T I.371, annex A): all that is known of a client is the time at which it
/// will have used up nothing, so that no timer runs and an idle client costs nothing.
public struct RateLimit: Hashable, Sendable {
  /// How many requests a client may make at once after it made none for long.
  public let burst: Int

  /// How long a client's allowance takes to grow by one request, in nanoseconds.
  let interval: Int64

  /// Creates a limit.
  ///
  /// - Parameters:
  ///   - requestsPerSecond: how often in the long run, from 0.001 to 1,000,000; may be a fraction.
  ///   - burst: how many at once, from 1 to 1,000,000.
  public init(requestsPerSecond: Double, burst: Int) {
    precondition((0.001...1_000_000).contains(requestsPerSecond) && (1...1_000_000).contains(burst))
    self.burst = burst
    interval = Int64((1e9 / requestsPerSecond).rounded())
  }

  /// How long a client takes to have its whole allowance back, in seconds, rounded up.
  public var windowSeconds: Int { Self.seconds(Int64(burst) * interval) }

  /// What becomes of a request.
  struct Decision: Hashable {
    /// Whether it may be answered.
    let isAllowed: Bool
    /// When the client will have its whole allowance back, in nanoseconds on the caller's clock.
    let fullAt: Int64
    /// How many more the client may make at once.
    let remaining: Int
    /// How long until that is, or, for one that is refused, until the next may be made, in seconds, rounded up.
    let resetSeconds: Int
  }

  /// Decides about one request.
  ///
  /// - Parameters:
  ///   - fullAt: when the client would have its whole allowance, in nanoseconds.
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
