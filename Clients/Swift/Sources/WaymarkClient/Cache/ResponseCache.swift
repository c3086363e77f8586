package import Foundation

/// A cache of responses to GET requests.
package protocol ResponseCache: Sendable {
  /// Returns the last response that was stored for a key; `nil` where there is none or it can't be read.
  func response(for key: String) async -> StoredResponse?

  /// Stores a response in place of the previous one for a key.
  ///
  /// The key is a text that identifies the request: its URL, in which a cell of a grid replaces the coordinate, and the
  /// user whose credential was sent.
  ///
  /// - Throws: an error if the response can't be stored; the previous one may have been removed then.
  func store(_ response: StoredResponse, for key: String) async throws

  /// Removes the response that was stored for a key, because its resource no longer exists.
  ///
  /// - Throws: an error if the response can't be removed.
  func removeResponse(for key: String) async throws
}

/// A response as a cache stores it: undecoded, so that a later version of the app can decode more of it.
package struct StoredResponse: Hashable, Sendable {
  /// The body.
  package var body: Data

  /// The entity tag of this version of the response.
  package var entityTag: EntityTag?

  /// The URL of the next page.
  package var nextPage: URL?

  /// The coordinate of the request; `nil` for a request without one.
  package var center: Coordinate?

  /// The time of the response or of its last revalidation, by the device's clock.
  package var receivedAt: Date

  /// The freshness lifetime in seconds, counted from ``receivedAt``; `nil` where the service did not specify one.
  package var maxAge: TimeInterval?

  /// Creates a stored response.
  package init(
    body: Data, entityTag: EntityTag? = nil, nextPage: URL? = nil, center: Coordinate? = nil, receivedAt: Date,
    maxAge: TimeInterval? = nil
  ) {
    self.body = body
    self.entityTag = entityTag
    self.nextPage = nextPage
    self.center = center
    self.receivedAt = receivedAt
    self.maxAge = maxAge
  }

  /// Returns the API response with a decoded value.
  func response<Value>(_ value: Value, isStale: Bool = false) -> APIResponse<Value> {
    APIResponse(value: value, maxAge: maxAge, nextPage: nextPage, receivedAt: receivedAt, isStale: isStale)
      .tagged(entityTag)
  }
}

/// An in-memory cache of the most recently used responses, which provides entity tags to a loader without a cache.
actor RecentResponses: ResponseCache {
  private let maximumCount: Int
  private var responses: [String: StoredResponse] = [:]

  /// The keys, least recently used first. Their number is small.
  private var order: [String] = []

  init(maximumCount: Int = 100) {
    self.maximumCount = maximumCount
  }

  func response(for key: String) -> StoredResponse? {
    if responses[key] != nil { use(key) }
    return responses[key]
  }

  func store(_ response: StoredResponse, for key: String) {
    responses[key] = response
    use(key)
    if order.count > maximumCount { responses[order.removeFirst()] = nil }
  }

  func removeResponse(for key: String) {
    responses[key] = nil
    order.removeAll { $0 == key }
  }

  private func use(_ key: String) {
    order.removeAll { $0 == key }
    order.append(key)
  }
}
