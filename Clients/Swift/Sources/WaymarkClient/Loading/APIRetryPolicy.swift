package import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The policy for retries: whether and after which delay a failed request is sent again.
///
/// Delays have exponential back-off with full jitter: they are uniformly random between zero and a bound that doubles
/// with each attempt, so that clients that failed together do not retry together (Marc Brooker, "Exponential Backoff
/// And Jitter", AWS Architecture Blog, 2015). The time in `Retry-After` is added.
///
/// A search with ``ProblemDetails/Code-swift.struct/filterTimeout`` is not retried, because it would take as long
/// again.
///
/// ```swift
/// var waymark = Waymark(baseURL: baseURL)
/// waymark.configuration.retries = APIRetryPolicy(maximumAttempts: 2, maximumDelay: .seconds(1))
/// ```
public struct APIRetryPolicy: Hashable, Sendable {
  /// The maximum number of attempts, including the first one.
  public var maximumAttempts: Int

  /// The bound of the delay before the second attempt.
  public var baseDelay: Duration

  /// The bound of the delay before any attempt. If the service demands more, the request fails immediately, with
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

  /// Four attempts within some seconds.
  public static let standard = APIRetryPolicy()

  /// One attempt.
  public static let none = APIRetryPolicy(maximumAttempts: 1)

  /// The failure of an attempt.
  package enum Failure: Hashable, Sendable {
    /// A response with this status, and the time in its `Retry-After`.
    case status(Int, retryAfter: Duration?)
    /// No response.
    case noResponse(URLError.Code)
  }

  /// Returns the delay before the next attempt; `nil` where there must be none.
  ///
  /// - Parameters:
  ///   - attempt: the number of attempts so far.
  ///   - failure: the failure of the last attempt.
  ///   - random: a random number from 0 to 1, for the jitter.
  package func delay(afterAttempt attempt: Int, _ failure: Failure, random: Double) -> Duration? {
    guard attempt < maximumAttempts, Self.isTransient(failure) else { return nil }
    // Doubling stops at the maximum delay, long before a Duration could overflow.
    let bound = (1..<max(1, attempt)).prefix(64).reduce(min(baseDelay, maximumDelay)) { bound, _ in
      min(bound * 2, maximumDelay)
    }
    let jitter = bound * min(max(random, 0), 1)
    guard case .status(_, let retryAfter?) = failure else { return jitter }
    return retryAfter <= maximumDelay ? retryAfter + jitter : nil
  }

  /// Returns whether a failure is transient.
  static func isTransient(_ failure: Failure) -> Bool {
    switch failure {
    // 409 with Retry-After: the first request with the Idempotency-Key is still in progress.
    case .status(409, let retryAfter): retryAfter != nil
    case .status(let status, _): [429, 502, 503, 504].contains(status)
    case .noResponse(let code):
      [.timedOut, .networkConnectionLost, .cannotConnectToHost, .cannotFindHost, .dnsLookupFailed].contains(code)
    }
  }

  /// Returns whether a request may be sent again when its outcome is unknown: it only reads, its method is idempotent
  /// (RFC 9110, section 9.2.2), or it has an `Idempotency-Key`.
  ///
  /// A conditional write may not: if the first attempt succeeded, the second would fail its precondition and look like
  /// a conflict with another client. It is sent again only after 429 and 503 with which the service says that nothing
  /// has happened.
  static func mayRetry(_ request: URLRequest) -> Bool {
    if request.isRead { return true }
    return switch request.httpMethod {
    case "PUT", "DELETE":
      request.value(forHTTPHeaderField: "If-Match") == nil && request.value(forHTTPHeaderField: "If-None-Match") == nil
    default: request.value(forHTTPHeaderField: "Idempotency-Key") != nil
    }
  }
}
