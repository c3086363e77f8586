#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A loader for calls of one kind: request, network, response.
///
/// A call of an idempotent kind that fails for a passing reason is made again, as ``RetryPolicy`` says. A reading call
/// sends the entity tag of the last answer to the same address along, and where the service says that nothing has changed,
/// that answer is the answer. Cancelling the task cancels the call.
public final class APIRequestLoader<T: APIRequest>: Sendable {
  /// The kind of call.
  public let apiRequest: T

  /// What requests go out by.
  public let urlSession: URLSession

  private let configuration: LoaderConfiguration
  private let memory: any AnswerCache

  /// Creates a loader.
  ///
  /// - Parameters:
  ///   - apiRequest: the kind of call.
  ///   - urlSession: what requests go out by.
  ///   - configuration: key, retries, cache, clock and chance.
  public init(
    apiRequest: T, urlSession: URLSession = .shared, configuration: LoaderConfiguration = LoaderConfiguration()
  ) {
    self.apiRequest = apiRequest
    self.urlSession = urlSession
    self.configuration = configuration
    memory = configuration.cache ?? RecentAnswers()
  }

  /// What a call is answered. Where a cache is configured it may be a stale answer, which ``load(requestData:)`` tells.
  ///
  /// - Throws: ``RequestError``, ``APIError``, `EncodingError` or `CancellationError`.
  public func loadAPIRequest(requestData: T.RequestDataType) async throws -> T.ResponseDataType {
    try await load(requestData: requestData).value
  }

  /// Makes a call, and hands over what it is answered, or the error: the handler is called once, on any thread.
  ///
  /// - Returns: the call, to cancel it by.
  @discardableResult
  public func loadAPIRequest(
    requestData: T.RequestDataType,
    completionHandler: @escaping @Sendable (T.ResponseDataType?, (any Error)?) -> Void
  ) -> Task<Void, Never> {
    Task {
      do {
        completionHandler(try await self.loadAPIRequest(requestData: requestData), nil)
      } catch {
        completionHandler(nil, error)
      }
    }
  }
}

extension APIRequestLoader where T.RequestDataType == Void {
  /// What a call is answered.
  ///
  /// - Throws: ``RequestError``, ``APIError`` or `CancellationError`.
  public func loadAPIRequest() async throws -> T.ResponseDataType { try await loadAPIRequest(requestData: ()) }
}

extension APIRequestLoader: APILoading {
  /// What a call is answered, with what the answer's header says of it.
  ///
  /// - Throws: ``RequestError``, ``APIError``, `EncodingError` or `CancellationError`.
  public func load(requestData: T.RequestDataType) async throws -> APIResponse<T.ResponseDataType> {
    try await load(apiRequest.makeRequest(from: requestData))
  }

  /// What a request of this kind is answered, wherever it was made.
  func load(_ request: URLRequest) async throws -> APIResponse<T.ResponseDataType> {
    let request = try authorized(request)
    guard request.httpMethod == "GET", let key = request.url?.absoluteString else {
      return try response(from: await answer(to: request))
    }
    let last = await memory.answer(for: key)
    do {
      return try await refreshed(last, by: request, key: key)
    } catch let error as APIError {
      guard case .unreachable = error, configuration.cache != nil, let last,
        let value = try? apiRequest.parseResponse(data: last.body)
      else { throw error }
      return last.response(value, isStale: true)
    }
  }

  /// The answer to a reading call, and the newest one kept.
  private func refreshed(
    _ last: StoredAnswer?, by request: URLRequest, key: String
  ) async throws -> APIResponse<T.ResponseDataType> {
    // An answer that an earlier version of the app could read is of no use where this one can't.
    let known = last.flatMap { last in
      last.entityTag.flatMap { tag in
        (try? apiRequest.parseResponse(data: last.body)).map { (answer: last, tag: tag, value: $0) }
      }
    }
    var request = request
    request.setValue(known?.tag.rawValue, forHTTPHeaderField: "If-None-Match")
    let answer = try await answer(to: request)
    if answer.status == 304, var known {
      known.answer.receivedAt = configuration.now()
      await keep(known.answer, for: key)
      return known.answer.response(known.value, maxAge: answer.maxAge)
    }
    let response = try response(from: answer)
    if !answer.isNotToBeStored, configuration.cache != nil || answer.entityTag != nil {
      let kept = StoredAnswer(
        body: answer.body, entityTag: answer.entityTag, nextPage: response.nextPage, receivedAt: response.receivedAt)
      await keep(kept, for: key)
    }
    return response
  }

  /// An answer that can't be kept is an answer still: a full disk costs the next offline start, not this call.
  private func keep(_ answer: StoredAnswer, for key: String) async {
    try? await memory.store(answer, for: key)
  }

  private func answer(to request: URLRequest) async throws -> HTTPAnswer {
    try await RetryingSession(urlSession: urlSession, configuration: configuration).answer(to: request)
  }

  private func authorized(_ request: URLRequest) throws -> URLRequest {
    var request = request
    // Foundation's cache would answer 200 for the service's 304, and keep twice what is kept here.
    request.cachePolicy = .reloadIgnoringLocalCacheData
    if let key = configuration.apiKey {
      guard URLRequest.isToken(key, maximumLength: 4096) else { throw RequestError.invalidAPIKey }
      request.setValue("Bearer \(key)", forHTTPHeaderField: "Authorization")
    }
    return request
  }

  /// Reads an answer.
  ///
  /// - Throws: ``APIError``.
  private func response(from answer: HTTPAnswer) throws(APIError) -> APIResponse<T.ResponseDataType> {
    guard answer.isSuccess else {
      let retryAfter = answer.retryAfter(now: configuration.now)
      if let problem = ProblemDetails(answer, retryAfter: retryAfter) { throw .problem(problem) }
      throw .unexpectedStatus(answer.status)
    }
    do {
      return APIResponse(
        value: try apiRequest.parseResponse(data: answer.body), status: answer.status, entityTag: answer.entityTag,
        maxAge: answer.maxAge, nextPage: answer.nextPage, receivedAt: configuration.now())
    } catch {
      throw .unreadable(status: answer.status, reason: "\(error)")
    }
  }
}
