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
  /// coordinate of the current request, and the result is `nil` where the response says nothing about that.
  let restore: @Sendable (StoredResponse, Coordinate?) throws -> Value?

  /// Returns the value of a stored response with the writes after it; `nil` if the response is of no use any more.
  var update: @Sendable (Value, StoredResponse) async -> Value? = { value, _ in value }
}

/// The loading of GET requests with a cache: entity tags, and stored responses according to an ``OfflinePolicy``.
struct CachedLoading: Sendable {
  /// The cache.
  let cache: any ResponseCache

  /// A Boolean value that indicates whether stored responses are used as the policy says; otherwise only their entity
  /// tags are used.
  let servesStale: Bool

  /// A Boolean value that indicates whether responses are stored.
  var storesResponses = true

  /// The policy.
  var policy = OfflinePolicy.networkFirst

  /// The clock for the policy's deadline.
  var clock: any Clock<Duration> = ContinuousClock()

  /// The writes of the user; `nil` for a request that they do not concern.
  var writes: OwnWrites?

  /// Returns the current time.
  let now: @Sendable () -> Date

  /// Loads a response from the network or from the cache, and stores it.
  ///
  /// - Throws: the errors of the source, except where a stored response is returned instead.
  func load<Value>(_ request: CacheRequest, from source: CacheSource<Value>) async throws -> APIResponse<Value> {
    let load = Load(settings: self, request: request, source: source)
    guard servesStale else { return try await load.fromNetwork() }
    switch policy.strategy {
    case .networkFirst, .staleIfError: break
    case .cacheFirst(let maximumAge):
      if let fresh = await load.fromCache(maximumAge: min(maximumAge, policy.maximumAge), isStale: false) {
        return fresh
      }
    case .cacheOnly:
      if let stored = await load.fromCache(maximumAge: policy.maximumAge, isStale: true) { return stored }
      throw WaymarkError.unreachable(.resourceUnavailable)
    }
    return try await load.fromNetworkUntilDeadline()
  }
}

/// The load of one request.
private struct Load<Value: Sendable>: Sendable {
  private enum Event: Sendable {
    case network(Result<APIResponse<Value>, any Error>)
    case deadline
  }

  private let settings: CachedLoading
  private let request: CacheRequest
  private let source: CacheSource<Value>
  private let keys: CacheKeys

  init(settings: CachedLoading, request: CacheRequest, source: CacheSource<Value>) {
    self.settings = settings
    self.request = request
    self.source = source
    keys = CacheKeys(request, maximumDistanceMetres: settings.policy.maximumDistanceMetres)
  }

  /// Returns the response from the network, or a stored one where the policy says so: after certain errors, and after
  /// the deadline.
  func fromNetworkUntilDeadline() async throws -> APIResponse<Value> {
    try await withThrowingTaskGroup(of: Event.self) { group in
      group.addTask { .network(await Result { try await fromNetwork() }) }
      group.addTask {
        try? await settings.clock.sleep(for: settings.policy.deadline)
        return .deadline
      }
      // Cancels the sleep, or the request, whose response would come too late.
      defer { group.cancelAll() }
      while let event = try await group.next() {
        switch event {
        case .network(.success(let response)): return response
        case .network(.failure(let error)):
          // A stored response belongs to the user already, and needs no credential.
          let isCovered = error is MissingCredential || (error as? WaymarkError).map(settings.policy.covers) ?? false
          guard isCovered, let stored = await stale() else { throw error }
          return stored
        case .deadline:
          guard !Task.isCancelled, let stored = await stale() else { continue }
          return stored
        }
      }
      throw CancellationError()
    }
  }

  private func stale() async -> APIResponse<Value>? {
    await fromCache(maximumAge: settings.policy.maximumAge, isStale: true)
  }

  /// Returns the nearest stored response up to an age that can be decoded; of several at one coordinate, the newest.
  /// Unless it may be stale, its own freshness lifetime bounds the age, too.
  func fromCache(maximumAge: Duration, isStale: Bool) async -> APIResponse<Value>? {
    let now = settings.now()
    let lastWrite = isStale ? nil : await settings.writes?.lastWrite()
    var candidates: [(response: StoredResponse, distance: Double)] = []
    for key in keys.all {
      guard let response = await settings.cache.response(for: key) else { continue }
      let age = now.timeIntervalSince(response.receivedAt)
      let lifetime = isStale ? .infinity : response.maxAge ?? .infinity
      // If the device's clock has been set back, the age is unknown.
      guard age <= min(maximumAge / .seconds(1), lifetime), age >= 0 || isStale,
        lastWrite.map({ $0 < response.receivedAt }) ?? true, let distance = distance(to: response),
        distance <= settings.policy.maximumDistanceMetres
      else { continue }
      candidates.append((response, distance))
    }
    candidates.sort { ($0.distance, $1.response.receivedAt) < ($1.distance, $0.response.receivedAt) }
    for candidate in candidates {
      let center = candidate.response.center == request.center ? nil : request.center
      guard let restored = try? source.restore(candidate.response, center),
        let value = await source.update(restored, candidate.response)
      else { continue }
      return candidate.response.response(value, isStale: isStale)
    }
    return nil
  }

  /// Returns the distance between the coordinates of the request and of a stored response; `nil` where only one of them
  /// has a coordinate.
  private func distance(to response: StoredResponse) -> Double? {
    switch (request.center, response.center) {
    case (nil, nil): 0
    case (let center?, let other?): center.distanceMetres(to: other)
    default: nil
    }
  }

  /// Sends a conditional GET request and stores the response.
  func fromNetwork() async throws -> APIResponse<Value> {
    // An entity tag belongs to a URL, so that of another coordinate in the cell is not used; nor is a response that
    // this version of the app can't decode.
    let last = await settings.cache.response(for: keys.own)
    let known = last.flatMap { last in
      last.entityTag.flatMap { tag in
        last.center != request.center
          ? nil : (try? source.restore(last, nil)).map { (response: last, tag: tag, value: $0) }
      }
    }
    let start = settings.now()
    let response = try await source.fetch(known?.tag)
    if response.status == 304, var known {
      known.response.receivedAt = settings.now()
      // Header fields that a 304 lacks keep their values (RFC 9111, section 3.2).
      if response["cache-control"] != nil { known.response.maxAge = response.maxAge }
      await store(known.response, requestedAt: start)
      return known.response.response(known.value)
    }
    let decoded: APIResponse<Value>
    do {
      decoded = try source.decode(response)
    } catch WaymarkError.problem(let problem) where problem.status == 404 || problem.status == 410 {
      try? await settings.cache.removeResponse(for: keys.own)
      await settings.writes?.removePlace()
      throw WaymarkError.problem(problem)
    }
    if !response.forbidsStoring, settings.servesStale || response.entityTag != nil {
      await store(
        StoredResponse(
          body: response.body, entityTag: response.entityTag, nextPage: decoded.nextPage, center: request.center,
          receivedAt: decoded.receivedAt, maxAge: decoded.maxAge), requestedAt: start)
    }
    return decoded
  }

  /// Stores a response. A failure to store it, such as a full disk, is ignored, because only later offline use depends
  /// on it.
  ///
  /// The response may lack a write that ended after the request began. It does not replace the place that was written,
  /// and is not taken for current.
  private func store(_ response: StoredResponse, requestedAt start: Date) async {
    guard settings.storesResponses else { return }
    var response = response
    if let writes = settings.writes {
      if let last = await writes.lastWrite(), last >= start { response.maxAge = StoredResponse.neverFresh }
      if writes.isOfOnePlace, let known = await settings.cache.response(for: keys.own), known.receivedAt > start {
        return
      }
    }
    try? await settings.cache.store(response, for: keys.own)
  }
}

extension Result where Failure == any Error {
  /// Creates a result from an asynchronous function.
  fileprivate init(_ body: () async throws -> Success) async {
    do {
      self = .success(try await body())
    } catch {
      self = .failure(error)
    }
  }
}
