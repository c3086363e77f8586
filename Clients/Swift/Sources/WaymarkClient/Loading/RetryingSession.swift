import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session that sends requests with credentials and interceptors, follows redirects, and retries.
struct RetryingSession: Sendable {
  let session: TransportSession
  let configuration: LoaderConfiguration

  /// Where the body of a successful response goes; `nil` for memory.
  var download: Download?

  /// Sends a request and returns the response, whatever its status.
  ///
  /// - Throws: ``WaymarkError``, ``RequestError/invalidAPIKey``, `CancellationError`, ``MissingCredential``, or the
  /// errors of the interceptors and, after a rejection, of the credentials' provider.
  func response(to request: URLRequest) async throws -> HTTPResponse {
    let late = WaymarkError.unreachable(.timedOut, requestID: request.value(forHTTPHeaderField: "X-Request-Id"))
    do {
      return try await withTimeout(configuration.totalTimeout, clock: configuration.timeoutClock, error: late) {
        try await retrying(request)
      }
    } catch is CancellationError where !Task.isCancelled {
      // For example from a provider of credentials whose own task was cancelled.
      throw WaymarkError.unreachable(.cancelled)
    }
  }

  private func retrying(_ request: URLRequest) async throws -> HTTPResponse {
    var attempt = 0
    var waited = Duration.zero
    while true {
      attempt += 1
      let outcome = try await attemptToSend(request, attempt: attempt)
      guard let failure = outcome.failure(now: configuration.now),
        APIRetryPolicy.mayRetry(request) || request.isConditional && outcome.hasChangedNothing,
        let delay = configuration.retries.delay(afterAttempt: attempt, failure, random: configuration.random()),
        waited + delay < configuration.totalTimeout ?? .seconds(Int64.max)
      else { return try outcome.get() }
      waited += delay
      try await configuration.clock.sleep(for: delay)
    }
  }

  /// Sends a request once, apart from redirects and the refresh of the credential.
  private func attemptToSend(_ request: URLRequest, attempt: Int) async throws -> Result<HTTPResponse, WaymarkError> {
    try Task.checkCancellation()
    var prepared = request
    for interceptor in configuration.interceptors { prepared = try await interceptor.prepare(prepared) }
    let outcome: Result<HTTPResponse, WaymarkError>
    do {
      outcome = .success(try await authenticated(prepared, trusted: Origin(request.url)))
    } catch let error as WaymarkError {
      outcome = .failure(error)
    }
    let exchange = APIExchange(request: prepared, attempt: attempt, outcome)
    for interceptor in configuration.interceptors.reversed() { await interceptor.didComplete(exchange) }
    return outcome
  }

  /// Sends a request with the credential, and once more if the service rejects that and there is a new one.
  private func authenticated(_ request: URLRequest, trusted: Origin?) async throws -> HTTPResponse {
    let store = configuration.credentials?.store
    let secret: String?
    do {
      secret = try await store?.secret()
    } catch  where !(error is CancellationError) {
      throw MissingCredential(underlyingError: error)
    }
    let response = try await followingRedirects(of: request, secret: secret, trusted: trusted)
    guard response.status == 401, let store, let secret else { return response }
    let fresh = try await store.secret(rejected: secret)
    guard let fresh, fresh != secret else { return response }
    return try await followingRedirects(of: request, secret: fresh, trusted: trusted)
  }

  /// Sends a request and follows redirects. The secret is sent to the trusted origin only, and not after a redirect to
  /// another one.
  private func followingRedirects(
    of request: URLRequest, secret: String?, trusted: Origin?
  ) async throws -> HTTPResponse {
    if let secret, !URLRequest.isToken(secret, maximumLength: 4096) { throw RequestError.invalidAPIKey }
    let transport = Transport(
      session: session, maximumResponseBytes: configuration.maximumResponseBytes, download: download)
    var request = request
    var secret = secret
    var hasLeftService = false
    for _ in 0...Redirect.maximumCount {
      if Origin(request.url) != trusted { (secret, hasLeftService) = (nil, true) }
      var authorized = request
      if let secret { authorized.setValue("Bearer \(secret)", forHTTPHeaderField: "Authorization") }
      let response = try await transport.response(to: authorized)
      if let reason = response.interception(of: request) {
        throw WaymarkError.notReached(reason: reason, requestID: response.requestID)
      }
      guard let next = try Redirect.request(after: response, to: request) else { return response }
      request = next
    }
    let requestID = request.value(forHTTPHeaderField: "X-Request-Id")
    throw hasLeftService
      ? WaymarkError.notReached(reason: "redirects between other servers", requestID: requestID)
      : WaymarkError.unreachable(.httpTooManyRedirects, requestID: requestID)
  }
}

/// The error of a request that was not sent, because the provider of its credential failed.
struct MissingCredential: Error {
  /// The provider's error.
  let underlyingError: any Error
}

extension APIExchange {
  fileprivate init(request: URLRequest, attempt: Int, _ outcome: Result<HTTPResponse, WaymarkError>) {
    let requestID = request.value(forHTTPHeaderField: "X-Request-Id")
    switch outcome {
    case .success(let response):
      self.init(
        request: request, attempt: attempt, status: response.status, requestID: response.requestID ?? requestID,
        error: nil)
    case .failure(let error):
      self.init(request: request, attempt: attempt, status: nil, requestID: error.requestID ?? requestID, error: error)
    }
  }
}

extension Result<HTTPResponse, WaymarkError> {
  /// Returns the failure of an attempt; `nil` where it succeeded or a retry is pointless.
  fileprivate func failure(now: () -> Date) -> APIRetryPolicy.Failure? {
    switch self {
    case .success(let response):
      response.isSuccess || response.isFilterTimeout
        ? nil : .status(response.status, retryAfter: response.retryAfter(now: now))
    case .failure(.unreachable(let code, _)): .noResponse(code)
    case .failure: nil
    }
  }
}

extension Result<HTTPResponse, WaymarkError> {
  /// A Boolean value that indicates whether the service has said that it did not begin with the request. Only its own
  /// problem details count, because a proxy may have lost the response to a write that succeeded.
  fileprivate var hasChangedNothing: Bool {
    guard case .success(let response) = self, response.status == 429 || response.status == 503,
      let problem = ProblemDetails(response, retryAfter: nil)
    else { return false }
    return problem.code != .outcomeUnknown && !problem.code.rawValue.isEmpty
  }
}

extension HTTPResponse {
  /// A Boolean value that indicates whether a condition was too slow, as it would be again.
  fileprivate var isFilterTimeout: Bool {
    status == 503 && ProblemDetails(self, retryAfter: nil)?.code == .filterTimeout
  }

  /// Returns the time after which the service allows a retry (RFC 9110, section 10.2.3): seconds, or a date, which is
  /// compared to the service's own `Date` if present, since the device's clock may be wrong.
  func retryAfter(now: () -> Date) -> Duration? {
    guard let text = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = CalendarDate.number(text.utf8) { return .seconds(seconds) }
    guard let time = HTTPDate.date(from: text) else { return nil }
    let sent = self["date"].flatMap(HTTPDate.date) ?? now()
    return .seconds(max(0, time.timeIntervalSince(sent)))
  }
}
