public import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// When a call that failed is made again, and how much later. It decides and does nothing: the waiting is the loader's.
///
/// Tries are spread by full jitter: the delay is evenly random between nothing and a bound that doubles with each try, so
/// that clients that failed together do not come back together (Marc Brooker, "Exponential Backoff And Jitter", AWS
/// Architecture Blog, 2015). Where the service says `Retry-After`, that much is waited first.
public struct RetryPolicy: Hashable, Sendable {
  /// How often a call is made at most, the first time included.
  public var maximumAttempts: Int

  /// The bound of the delay before the second try.
  public var baseDelay: Duration

  /// The bound of the delay before any try. Where the service asks for more, the call fails at once, with
  /// ``ProblemDetails/retryAfter``.
  public var maximumDelay: Duration

  /// Creates a policy.
  public init(
    maximumAttempts: Int = 4, baseDelay: Duration = .milliseconds(250), maximumDelay: Duration = .seconds(10)
  ) {
    self.maximumAttempts = maximumAttempts
    self.baseDelay = baseDelay
    self.maximumDelay = maximumDelay
  }

  /// Four tries within some seconds.
  public static let standard = RetryPolicy()

  /// One try.
  public static let none = RetryPolicy(maximumAttempts: 1)

  /// Why a try failed.
  public enum Failure: Hashable, Sendable {
    /// By an answer of this status, which may have said how long to wait.
    case status(Int, retryAfter: Duration?)
    /// Without an answer.
    case noAnswer(URLError.Code)
  }

  /// How long to wait before the next try; `nil` where there is to be none.
  ///
  /// - Parameters:
  ///   - attempt: how many tries there were.
  ///   - failure: how the last one failed.
  ///   - random: a random number from 0 to 1, which spreads the tries.
  public func delay(afterAttempt attempt: Int, _ failure: Failure, random: Double) -> Duration? {
    guard attempt < maximumAttempts, Self.isPassing(failure) else { return nil }
    // Doubling stops at the greatest delay, long before a Duration could overflow.
    let bound = (1..<max(1, attempt)).prefix(64).reduce(min(baseDelay, maximumDelay)) { bound, _ in
      min(bound * 2, maximumDelay)
    }
    let jitter = bound * min(max(random, 0), 1)
    guard case .status(_, let retryAfter?) = failure else { return jitter }
    return retryAfter <= maximumDelay ? retryAfter + jitter : nil
  }

  /// Whether a failure is one that may be over soon.
  static func isPassing(_ failure: Failure) -> Bool {
    switch failure {
    // 409 with a time to wait: the first request of an Idempotency-Key is still on its way.
    case .status(409, let retryAfter): retryAfter != nil
    case .status(let status, _): [429, 502, 503, 504].contains(status)
    case .noAnswer(let code):
      [.timedOut, .networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed].contains(code)
    }
  }

  /// Whether a request may be sent again when nobody knows what became of the first: its method is idempotent (RFC 9110,
  /// section 9.2.2), or it has an `Idempotency-Key`.
  ///
  /// A write with a condition is not. Made twice it would be refused the second time because of its own first, and look
  /// like a conflict with someone else.
  static func mayRepeat(_ request: URLRequest) -> Bool {
    switch request.httpMethod ?? "GET" {
    case "GET", "HEAD", "OPTIONS": true
    case "PUT", "DELETE":
      request.value(forHTTPHeaderField: "If-Match") == nil && request.value(forHTTPHeaderField: "If-None-Match") == nil
    default: request.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }
  }
}
