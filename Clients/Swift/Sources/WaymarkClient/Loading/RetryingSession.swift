import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A session that retries requests.
struct RetryingSession: Sendable {
  let urlSession: URLSession
  let configuration: LoaderConfiguration

  /// Sends a request and returns the response, whatever its status.
  ///
  /// - Throws: ``WaymarkError/unreachable(_:)``, ``WaymarkError/unexpectedStatus(_:)`` or `CancellationError`.
  func response(to request: URLRequest) async throws -> HTTPResponse {
    var attempt = 0
    while true {
      attempt += 1
      let outcome = try await send(request)
      guard let failure = outcome.failure(now: configuration.now), APIRetryPolicy.mayRetry(request),
        let delay = configuration.retries.delay(
          afterAttempt: attempt, failure, random: configuration.random())
      else { return try outcome.get() }
      try await configuration.clock.sleep(for: delay)
    }
  }

  private func send(_ request: URLRequest) async throws -> Result<HTTPResponse, WaymarkError> {
    try Task.checkCancellation()
    do {
      let (body, response) = try await urlSession.data(for: request)
      guard let response = response as? HTTPURLResponse else { return .failure(.unexpectedStatus(0)) }
      return .success(HTTPResponse(response, body: body))
    } catch let error as URLError {
      guard error.code != .cancelled else { throw CancellationError() }
      return .failure(.unreachable(error.code))
    }
  }
}

extension Result<HTTPResponse, WaymarkError> {
  /// Returns the failure of an attempt; `nil` if it succeeded or a retry is pointless.
  fileprivate func failure(now: () -> Date) -> APIRetryPolicy.Failure? {
    switch self {
    case .success(let response):
      response.isSuccess ? nil : .status(response.status, retryAfter: response.retryAfter(now: now))
    case .failure(.unreachable(let code)): .noResponse(code)
    case .failure: nil
    }
  }
}

extension HTTPResponse {
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
