import Foundation

/// A GET request as a cache sees it.
struct CacheRequest: Hashable, Sendable {
  /// The URL of the request, with its coordinate unchanged.
  var url: URL

  /// The coordinate of the search; `nil` for a request without one, and for each page after the first one.
  var center: Coordinate?

  /// A stable identifier of the user whose credential is sent; `nil` for none. A response must not be returned to
  /// another user.
  var user: String?
}

/// The parts of a cached load that do not belong to the cache: network and decoding.
struct CacheSource<Value: Sendable>: Sendable {
  /// Sends the request, with an entity tag as its precondition, and returns the response, whatever its status.
  let fetch: @Sendable (EntityTag?) async throws -> HTTPResponse

  /// Decodes a response from the network. It throws the error of a response that is not successful.
  let decode: @Sendable (HTTPResponse) throws -> APIResponse<Value>

  /// Decodes the body of a stored response. If that response belongs to another coordinate, the second argument is the
  /// coordinate of the current request.
  let restore: @Sendable (StoredResponse, Coordinate?) throws -> Value
}

/// The loading of GET requests with a cache: entity tags, and earlier responses while the service is unreachable.
struct CachedLoading: Sendable {
  /// The cache.
  let cache: any ResponseCache

  /// A Boolean value that indicates whether stored responses are used while the service is unreachable; otherwise only
  /// their entity tags are used.
  let servesStale: Bool

  /// Returns the current time.
  let now: @Sendable () -> Date

  /// Loads a response from the network or from the cache, and stores it.
  ///
  /// - Throws: the errors of the source, except where a stored response is returned instead.
  func load<Value>(_ request: CacheRequest, from source: CacheSource<Value>) async throws -> APIResponse<Value> {
    let key = request.url.absoluteString
    let last = await cache.response(for: key)
    do {
      return try await revalidated(last, key: key, from: source)
    } catch let error as WaymarkError {
      guard case .unreachable = error, servesStale, let last, let value = try? source.restore(last, nil) else {
        throw error
      }
      return last.response(value, isStale: true)
    }
  }

  /// Sends a conditional GET request and stores the response.
  private func revalidated<Value>(
    _ last: StoredResponse?, key: String, from source: CacheSource<Value>
  ) async throws -> APIResponse<Value> {
    // A cached response that this version of the app can't decode is not used.
    let known = last.flatMap { last in
      last.entityTag.flatMap { tag in
        (try? source.restore(last, nil)).map { (response: last, tag: tag, value: $0) }
      }
    }
    let response = try await source.fetch(known?.tag)
    if response.status == 304, var known {
      known.response.receivedAt = now()
      await store(known.response, for: key)
      return known.response.response(known.value, maxAge: response.maxAge)
    }
    let decoded = try source.decode(response)
    if !response.forbidsStoring, servesStale || response.entityTag != nil {
      let stored = StoredResponse(
        body: response.body, entityTag: response.entityTag, nextPage: decoded.nextPage, receivedAt: decoded.receivedAt)
      await store(stored, for: key)
    }
    return decoded
  }

  /// Stores a response. A failure to store it, such as a full disk, is ignored, because only later offline use depends
  /// on it.
  private func store(_ response: StoredResponse, for key: String) async {
    try? await cache.store(response, for: key)
  }
}
