#if canImport(FoundationNetworking)
  import Foundation
  public import FoundationNetworking
#else
  public import Foundation
#endif

/// A loader that sends requests of one kind over a `URLSession`.
///
/// Idempotent requests are retried after transient failures, according to ``APIRetryPolicy``. A GET request carries the
/// entity tag of the last response from the same URL; if the service responds that nothing has changed, that response
/// is returned. Cancelling the task cancels the request.
///
/// ```swift
/// let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL), urlSession: session)
/// let places = try await loader.loadAPIRequest(requestData: here)
/// ```
public final class APIRequestLoader<T: APIRequest>: Sendable {
  /// The kind of request.
  public let apiRequest: T

  /// The session whose configuration, on Apple's platforms also delegate, applies to the requests.
  public var urlSession: URLSession { session.urlSession }

  private let session: TransportSession
  let configuration: LoaderConfiguration
  private let cache: any ResponseCache

  /// The request, if it is one of the service; `nil` for one of the app.
  private var serviceRequest: (any ServiceRequest<T.RequestDataType, T.ResponseDataType>)? {
    apiRequest as? any ServiceRequest<T.RequestDataType, T.ResponseDataType>
  }

  /// Creates a loader.
  ///
  /// - Parameters:
  ///   - apiRequest: the kind of request.
  ///   - urlSession: the session that sends the requests.
  ///   - configuration: the credentials, retries, cache, bounds, clocks and random numbers.
  public init(
    apiRequest: T, urlSession: URLSession = .shared, configuration: LoaderConfiguration = LoaderConfiguration()
  ) {
    self.apiRequest = apiRequest
    session = TransportSession(urlSession)
    self.configuration = configuration
    cache = configuration.storage ?? RecentResponses()
  }

  /// Creates a loader that shares the connections and entity tags of other loaders.
  init(
    apiRequest: T, session: TransportSession, configuration: LoaderConfiguration, recentResponses: any ResponseCache
  ) {
    self.apiRequest = apiRequest
    self.session = session
    self.configuration = configuration
    cache = configuration.storage ?? recentResponses
  }

  /// Sends a request and returns the decoded value. With a cache it may be stale, which ``load(requestData:)``
  /// indicates.
  ///
  /// - Throws: ``RequestError``, ``WaymarkError``, `EncodingError` or `CancellationError`.
  public func loadAPIRequest(requestData: T.RequestDataType) async throws -> T.ResponseDataType {
    try await load(requestData: requestData).value
  }

  /// Sends a request and passes the decoded value or the error to a handler, which is called once, on any thread.
  ///
  /// ```swift
  /// let loader = APIRequestLoader(apiRequest: PointsOfInterestRequest(baseURL: baseURL))
  /// let task = loader.loadAPIRequest(requestData: here) { places, error in
  ///   print(places?.count ?? 0, error?.localizedDescription ?? "")
  /// }
  /// task.cancel()
  /// ```
  ///
  /// - Returns: the task, for cancellation.
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

extension APIRequestLoader: APILoading {
  /// Sends a request and returns the decoded value with the response's metadata.
  ///
  /// ```swift
  /// let loader = waymark.loader(PointsOfInterestRequest(baseURL: baseURL))
  /// print(try await loader.load(requestData: here).receivedAt)
  /// ```
  ///
  /// - Throws: ``RequestError``, ``WaymarkError``, `EncodingError` or `CancellationError`.
  public func load(requestData: T.RequestDataType) async throws -> APIResponse<T.ResponseDataType> {
    try await load(apiRequest.makeRequest(from: requestData), data: requestData)
  }

  /// Sends a request, which was created from the data, or is that of a page after the first one of the data's pages.
  ///
  /// The links of a stored page lead to the pages of the search that it belongs to. If that search had another
  /// coordinate, the value of each page is the one for the data's coordinate, whether it is stored or not.
  func load(
    _ request: URLRequest, data: T.RequestDataType, isFirstPage: Bool = true
  ) async throws -> APIResponse<T.ResponseDataType> {
    do {
      return try await loadOrRestore(prepared(request), data: data, isFirstPage: isFirstPage)
    } catch let error as MissingCredential {
      throw error.underlyingError
    }
  }

  /// Sends a request, and writes the body of its response to a file.
  ///
  /// - Throws: also the error of writing.
  func load(_ request: URLRequest, into download: Download) async throws -> APIResponse<Void> {
    defer { download.discard() }
    do {
      try checkSending()
      let session = RetryingSession(session: session, configuration: configuration, download: download)
      let response = try decode(await session.response(to: prepared(request)))
      try download.commit()
      return response.map { _ in }
    } catch let error as MissingCredential {
      throw error.underlyingError
    }
  }

  private func loadOrRestore(
    _ request: URLRequest, data: T.RequestDataType, isFirstPage: Bool
  ) async throws -> APIResponse<T.ResponseDataType> {
    guard request.httpMethod == "GET", let url = request.url else {
      try checkSending()
      // The service forbids to store the response to a search in a body.
      if request.isRead, configuration.storage != nil, configuration.offlinePolicy.strategy == .cacheOnly {
        throw WaymarkError.unreachable(.resourceUnavailable)
      }
      return try decode(request.isRead ? await send(request) : await write(request))
    }
    let writes = configuration.storage == nil ? nil : ownWrites(url)
    let center = serviceRequest?.center(of: data)
    let isOfAnotherCenter =
      if !isFirstPage, let center, let other = Coordinate(queryOf: url) { center != other } else { false }
    let source = CacheSource(
      fetch: { tag in
        var request = request
        request.setValue(tag?.rawValue, forHTTPHeaderField: "If-None-Match")
        return try await self.send(request)
      },
      decode: { received in
        var response = try self.decode(received)
        if isOfAnotherCenter, let value = self.serviceRequest?.value(response.value, movedTo: data) {
          response.value = value
        }
        return response
      },
      restore: { stored, center in
        let value = try self.apiRequest.parseResponse(data: stored.body)
        return center != nil || isOfAnotherCenter ? self.serviceRequest?.value(value, movedTo: data) : value
      },
      update: { value, stored in
        guard let writes else { return value }
        guard let (updated, isChanged) = await writes.update(value, receivedAt: stored.receivedAt) else { return nil }
        return isChanged ? self.matching(updated, data, received: value) : updated
      })
    // A stored response may lack the write with that position.
    let policy =
      configuration.minimumPosition == nil ? configuration.offlinePolicy : configuration.offlinePolicy.confirming
    let loading = CachedLoading(
      cache: cache, servesStale: configuration.storage != nil, storesResponses: configuration.storesResponses,
      policy: policy, clock: configuration.timeoutClock,
      writes: writes, now: configuration.now)
    let cacheRequest = CacheRequest(
      url: url, center: isFirstPage ? center : nil, user: configuration.credentials?.user)
    return try await loading.load(cacheRequest, from: source)
  }

  /// Returns the value without the places that a write has moved out of the search, in the order of the search.
  ///
  /// - Parameter received: the value before the write.
  private func matching(
    _ value: T.ResponseDataType, _ data: T.RequestDataType, received: T.ResponseDataType
  ) -> T.ResponseDataType {
    var value = value
    if let filter = data as? PointFilter, let places = value as? [PointOfInterest] {
      let categories = Set((received as? [PointOfInterest] ?? []).map(\.category))
      value = places.filter { filter.mayMatch($0, categoriesFound: categories) } as? T.ResponseDataType ?? value
    }
    return serviceRequest?.value(value, movedTo: data) ?? value
  }

  /// Sends a write, and applies it to the cache.
  private func write(_ request: URLRequest) async throws -> HTTPResponse {
    let writes = configuration.storage == nil ? nil : ownWrites(request.url)
    do {
      let response = try await send(request)
      await writes?.apply(request, response)
      return response
    } catch let error where error is CancellationError || (error as? WaymarkError)?.isUnreachable == true {
      await writes?.apply(request, nil)
      throw error
    }
  }

  private func ownWrites(_ url: URL?) -> OwnWrites? {
    OwnWrites(cache: cache, user: configuration.credentials?.user, url: url, now: configuration.now)
  }

  /// Throws the error of an unreachable service if the client uses stored responses only.
  private func checkSending() throws(WaymarkError) {
    if configuration.sendsNothing { throw .unreachable(.resourceUnavailable) }
  }

  private func send(_ request: URLRequest) async throws -> HTTPResponse {
    try checkSending()
    return try await RetryingSession(session: session, configuration: configuration).response(to: request)
  }

  private func prepared(_ request: URLRequest) throws -> URLRequest {
    var request = request
    // Foundation's cache would turn the service's 304 into 200, and store every response a second time.
    request.cachePolicy = .reloadIgnoringLocalCacheData
    request.timeoutInterval = configuration.idleTimeout
    if let position = configuration.minimumPosition, request.isRead {
      guard URLRequest.isToken(position, maximumLength: 255) else { throw RequestError.invalidPosition }
      request.setValue(position, forHTTPHeaderField: "Waymark-Min-Position")
    }
    return request
  }

  /// Decodes a response.
  ///
  /// - Throws: ``WaymarkError``.
  private func decode(_ response: HTTPResponse) throws(WaymarkError) -> APIResponse<T.ResponseDataType> {
    guard response.isSuccess else {
      let retryAfter = response.retryAfter(now: configuration.now)
      if let problem = ProblemDetails(response, retryAfter: retryAfter) { throw .problem(problem) }
      throw .unexpectedStatus(response.status, requestID: response.requestID)
    }
    do {
      let parsed =
        try serviceRequest?.parse(data: response.body)
        ?? ParsedResponse(value: try apiRequest.parseResponse(data: response.body))
      return APIResponse(
        value: parsed.value, status: response.status, maxAge: response.maxAge, nextPage: response.nextPage,
        receivedAt: configuration.now(), age: response.age, requestID: response.requestID,
        position: response.position, invalidRows: parsed.invalidRows
      ).tagged(response.entityTag)
    } catch {
      throw .unreadable(status: response.status, reason: "\(error)", requestID: response.requestID)
    }
  }
}

/// A loader for requests of one kind: ``APIRequestLoader``, or a mock in tests.
package protocol APILoading<RequestDataType, ResponseDataType>: Sendable {
  /// The input of a request.
  associatedtype RequestDataType: Sendable

  /// The decoded value of a response.
  associatedtype ResponseDataType: Sendable

  /// Sends a request and returns its response.
  ///
  /// - Throws: ``RequestError``, ``WaymarkError``, `EncodingError` or `CancellationError`.
  func load(requestData: RequestDataType) async throws -> APIResponse<ResponseDataType>
}
