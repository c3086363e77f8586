/// A limit of the rate of a client's requests: a sustained rate and a burst.
///
/// It is the generic cell rate algorithm (ITU-T I.371, annex A): the only state of a client is the time at which it
/// will have its whole allowance back, so that no timer runs and an idle client costs nothing.
public struct RateLimit: Hashable, Sendable {
  /// The number of requests that a client may send at once when it has its whole allowance.
  public let burst: Int

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
  public var windowSeconds: Int { Self.seconds(Int64(burst) * interval) }

  /// The decision about a request.
  public struct Decision: Hashable, Sendable {
    /// A Boolean value that indicates whether the request is admitted.
    public let isAllowed: Bool
    /// The time at which the client will have its whole allowance, in nanoseconds on the caller's clock.
    let fullAt: Int64
    /// The number of further requests that the client may send at once.
    public let remaining: Int
    /// The time in seconds, rounded up, until the client has its whole allowance back; for a rejected request, until
    /// the next may be sent.
    public let resetSeconds: Int
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
