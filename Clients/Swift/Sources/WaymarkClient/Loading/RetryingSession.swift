import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Sends requests, again where that may help.
struct RetryingSession: Sendable {
  let urlSession: URLSession
  let configuration: LoaderConfiguration

  /// The answer to a request, whatever its status.
  ///
  /// - Throws: ``APIError/unreachable(_:)``, ``APIError/unexpectedStatus(_:)`` or `CancellationError`.
  func answer(to request: URLRequest) async throws -> HTTPAnswer {
    var attempt = 0
    while true {
      attempt += 1
      let outcome = try await send(request)
      guard let failure = outcome.failure(now: configuration.now), RetryPolicy.mayRepeat(request),
        let delay = configuration.retries.delay(
          afterAttempt: attempt, failure, random: configuration.random())
      else { return try outcome.get() }
      try await configuration.clock.sleep(for: delay)
    }
  }

  private func send(_ request: URLRequest) async throws -> Result<HTTPAnswer, APIError> {
    try Task.checkCancellation()
    do {
      let (body, response) = try await urlSession.data(for: request)
      guard let response = response as? HTTPURLResponse else { return .failure(.unexpectedStatus(0)) }
      return .success(HTTPAnswer(response, body: body))
    } catch let error as URLError {
      guard error.code != .cancelled else { throw CancellationError() }
      return .failure(.unreachable(error.code))
    }
  }
}

extension Result<HTTPAnswer, APIError> {
  /// Why the try failed; `nil` where it did not, or a further one would be no use.
  fileprivate func failure(now: () -> Date) -> RetryPolicy.Failure? {
    switch self {
    case .success(let answer):
      answer.isSuccess ? nil : .status(answer.status, retryAfter: answer.retryAfter(now: now))
    case .failure(.unreachable(let code)): .noAnswer(code)
    case .failure: nil
    }
  }
}

extension HTTPAnswer {
  /// How long the service asks to be left alone (RFC 9110, section 10.2.3): seconds, or a time, which is compared to the
  /// service's own `Date` where there is one, since the app's clock may be wrong.
  func retryAfter(now: () -> Date) -> Duration? {
    guard let text = self["retry-after"]?.trimmingCharacters(in: .whitespaces) else { return nil }
    if let seconds = CalendarDate.number(text.utf8) { return .seconds(seconds) }
    guard let time = HTTPDate.date(from: text) else { return nil }
    let sent = self["date"].flatMap(HTTPDate.date) ?? now()
    return .seconds(max(0, time.timeIntervalSince(sent)))
  }
}
