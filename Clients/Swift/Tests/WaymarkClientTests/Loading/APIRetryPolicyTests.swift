import Foundation
import Testing

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct APIRetryPolicyTests {
  private let policy = APIRetryPolicy(maximumAttempts: 9, baseDelay: .seconds(1), maximumDelay: .seconds(10))

  @Test(arguments: [(1, 1.0), (2, 2), (3, 4), (4, 8), (5, 10), (8, 10)] as [(Int, Double)])
  func boundDoublesUpToTheMaximum(attempt: Int, seconds: Double) {
    let greatest = policy.delay(afterAttempt: attempt, .status(503, retryAfter: nil), random: 1)
    let middle = policy.delay(afterAttempt: attempt, .status(503, retryAfter: nil), random: 0.5)
    let least = policy.delay(afterAttempt: attempt, .status(503, retryAfter: nil), random: 0)

    #expect(greatest == .seconds(seconds))
    #expect(middle == .seconds(seconds / 2))
    #expect(least == .zero)
  }

  @Test func lastAttemptIsNotFollowedByAnother() {
    #expect(policy.delay(afterAttempt: 9, .noResponse(.timedOut), random: 0) == nil)
    #expect(APIRetryPolicy.none.delay(afterAttempt: 1, .noResponse(.timedOut), random: 0) == nil)
  }

  @Test func delayOfManyAttemptsStaysWithinItsBound() {
    let policy = APIRetryPolicy(maximumAttempts: .max, baseDelay: .seconds(1), maximumDelay: .seconds(10))

    #expect(policy.delay(afterAttempt: .max - 1, .noResponse(.timedOut), random: 1) == .seconds(10))
  }

  @Test func retryAfterIsRespected() {
    let delay = policy.delay(afterAttempt: 1, .status(429, retryAfter: .seconds(5)), random: 0.5)

    #expect(delay == .milliseconds(5500))
  }

  @Test func tooLongRetryAfterFailsImmediately() {
    #expect(policy.delay(afterAttempt: 1, .status(503, retryAfter: .seconds(11)), random: 0) == nil)
  }

  @Test(arguments: [-1, 2, 1e300])
  func aRandomNumberOutOfRangeDoesNotLeaveTheBound(random: Double) throws {
    let delay = try #require(policy.delay(afterAttempt: 2, .noResponse(.timedOut), random: random))

    #expect(delay >= .zero && delay <= .seconds(2))
  }

  @Test(arguments: [429, 502, 503, 504])
  func transientStatusIsRetried(status: Int) {
    #expect(policy.delay(afterAttempt: 1, .status(status, retryAfter: nil), random: 1) != nil)
  }

  @Test(arguments: [304, 400, 401, 403, 404, 409, 412, 422, 428, 500, 501])
  func permanentStatusIsNotRetried(status: Int) {
    #expect(policy.delay(afterAttempt: 1, .status(status, retryAfter: nil), random: 1) == nil)
  }

  @Test func conflictWithRetryAfterIsRetried() {
    #expect(policy.delay(afterAttempt: 1, .status(409, retryAfter: .seconds(1)), random: 0) == .seconds(1))
  }

  @Test(arguments: [URLError.Code.timedOut, .networkConnectionLost, .cannotConnectToHost, .dnsLookupFailed])
  func failedConnectionIsRetried(code: URLError.Code) {
    #expect(policy.delay(afterAttempt: 1, .noResponse(code), random: 1) != nil)
  }

  @Test(arguments: [URLError.Code.notConnectedToInternet, .serverCertificateUntrusted, .badURL, .cancelled])
  func permanentFailureIsNotRetried(code: URLError.Code) {
    #expect(policy.delay(afterAttempt: 1, .noResponse(code), random: 1) == nil)
  }

  @Test(
    arguments: [
      ("GET", [:], true), ("PUT", [:], true), ("DELETE", [:], true), ("POST", [:], false), ("PATCH", [:], false),
      ("POST", ["Idempotency-Key": "k"], true), ("PATCH", ["If-Match": "\"1\""], false),
      ("PUT", ["If-Match": "\"1\""], false), ("DELETE", ["If-Match": "\"1\""], false),
      ("PUT", ["If-None-Match": "*"], false), ("GET", ["If-None-Match": "\"1\""], true),
    ] as [(String, [String: String], Bool)])
  func onlyIdempotentRequestsAreRetried(method: String, fields: [String: String], mayRetry: Bool) throws {
    var request = URLRequest(url: try URL(text: "https://example.com"))
    request.httpMethod = method
    for (name, value) in fields { request.setValue(value, forHTTPHeaderField: name) }

    #expect(APIRetryPolicy.mayRetry(request) == mayRetry)
  }
}
