public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A client of one Waymark service.
///
/// It is a value: copies share the credentials, the session and the cache. Calls that return lists of places return a
/// ``PointQuery``, which sends nothing yet: it is a sequence of all places, and has their first page and their pages. All
/// others return ordinary values. The same calls of ``responses`` return values with the metadata of the response.
///
/// ```swift
/// let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
/// let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe").firstPage()
/// for try await place in waymark.places(in: box) { print(place.name) }
/// ```
///
/// All calls throw ``RequestError`` for invalid input, ``WaymarkError``, or `CancellationError` if the task is
/// cancelled. They retry idempotent requests after transient failures.
public struct Waymark: Sendable {
  /// The URL of the service. Its path precedes that of each request.
  public let baseURL: URL

  /// The session that sends the requests. On Linux, only its configuration is used.
  public var session: URLSession { transport.urlSession }

  private let transport: TransportSession

  /// The configuration of the requests. A change applies to this copy of the client.
  public var configuration: LoaderConfiguration

  /// The entity tags of the last responses, where there is no cache.
  private let recentResponses: RecentResponses

  /// Creates a client.
  ///
  /// ```swift
  /// let waymark = Waymark(baseURL: baseURL, session: session, cache: OnDiskCache(named: "Waymark"))
  /// ```
  ///
  /// - Parameters:
  ///   - baseURL: the URL of the service: `http` or `https`, without query and fragment.
  ///   - credentials: the credentials; `nil` for none.
  ///   - session: the session that sends the requests; on Linux another one with its configuration.
  ///   - cache: the cache for offline use; `nil` for none.
  ///   - configuration: the bounds, retries and interceptors of the requests. Its credentials and cache are used if the
  ///   parameters for them are `nil`.
  public init(
    baseURL: URL, credentials: Credentials? = nil, session: URLSession = .shared,
    cache: OnDiskCache? = nil, configuration: LoaderConfiguration = LoaderConfiguration()
  ) {
    self.baseURL = baseURL
    transport = TransportSession(session)
    self.configuration = configuration
    if let credentials { self.configuration.credentials = credentials }
    if let cache { self.configuration.cache = cache }
    recentResponses = RecentResponses()
  }

  /// The same calls, which return values with their metadata: position, staleness, entity tag, request identifier.
  public var responses: WaymarkResponses { WaymarkResponses(waymark: self) }

  /// Returns a client whose reads include the write with a position, ``APIResponse/position``, on any instance of the
  /// service.
  ///
  /// ```swift
  /// let created = try await waymark.responses.create(draft)
  /// let places = try await waymark.reading(after: created.position).places(near: draft.coordinate).firstPage()
  /// ```
  public func reading(after position: String?) -> Waymark {
    var copy = self
    copy.configuration.minimumPosition = position ?? configuration.minimumPosition
    return copy
  }

  /// Returns the stored result of a call, if there is one, and then the one of the call itself, by the client's
  /// ``OfflinePolicy``: an app shows at once what it knows, and soon after what is current.
  ///
  /// The first response is marked as stale. If the service is unreachable, the call itself would return the same one
  /// again, and the sequence ends without it.
  ///
  /// ```swift
  /// for try await response in waymark.storedThenCurrent({ try await $0.places(near: here) }) {
  ///   print(response.value.count, response.isStale ? "as of \(response.receivedAt)" : "now")
  /// }
  /// ```
  ///
  /// - Parameter call: the call of ``responses``. It may be repeated.
  /// - Returns: one or two responses. They end with the error of the call.
  public func storedThenCurrent<Value: Sendable>(
    _ call: @escaping @Sendable (WaymarkResponses) async throws -> APIResponse<Value>
  ) -> AsyncThrowingStream<APIResponse<Value>, any Error> {
    let (stream, continuation) = AsyncThrowingStream<APIResponse<Value>, any Error>.makeStream()
    let task = Task {
      do {
        let stored = try? await call(stored.responses)
        if let stored { continuation.yield(stored) }
        let current = try await call(responses)
        let isKnown = current.isStale && current.receivedAt == stored?.receivedAt
        if !isKnown { continuation.yield(current) }
        continuation.finish()
      } catch {
        continuation.finish(throwing: error)
      }
    }
    continuation.onTermination = { _ in task.cancel() }
    return stream
  }

  /// The client of stored responses only; without a cache there are none.
  var stored: Waymark {
    var copy = self
    copy.configuration.sendsNothing = true
    copy.configuration.offlinePolicy.strategy = .cacheOnly
    return copy
  }

  /// Returns a loader for one kind of request, which shares everything with this client.
  ///
  /// ```swift
  /// let loader = waymark.loader(PointsOfInterestRequest(baseURL: waymark.baseURL, radiusMetres: 500))
  /// ```
  public func loader<T: APIRequest>(_ request: T) -> APIRequestLoader<T> {
    APIRequestLoader(
      apiRequest: request, session: transport, configuration: configuration, recentResponses: recentResponses)
  }
}

extension Waymark {
  /// Returns the query for the places nearest to a coordinate, in order of distance.
  ///
  /// ```swift
  /// let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe", pageSize: 10).firstPage()
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate.
  ///   - radiusMetres: the maximum distance in metres, inclusive; `nil` for any.
  ///   - category: the category; `nil` for any.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    near coordinate: Coordinate, radius radiusMetres: Double? = nil, category: String? = nil, pageSize: Int? = nil
  ) -> PointQuery<PointOfInterest> {
    places(PointFilter(center: coordinate, radiusMetres: radiusMetres, category: category), pageSize: pageSize)
  }

  /// Returns the query for the places in a box, by id.
  ///
  /// ```swift
  /// for try await museum in waymark.places(in: box, category: "museum") {
  ///   print(museum.name)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - box: the box, edges included.
  ///   - category: the category; `nil` for any.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    in box: BoundingBox, category: String? = nil, pageSize: Int? = nil
  ) -> PointQuery<PointOfInterest> {
    places(PointFilter(box: box, category: category), pageSize: pageSize)
  }

  /// Returns the query for the places in an area, by id.
  ///
  /// ```swift
  /// let area = try SearchArea(geoJSON: String(decoding: file, as: UTF8.self))
  /// let museums = try await waymark.places(in: area, category: "museum").firstPage()
  /// ```
  ///
  /// - Parameters:
  ///   - area: the area.
  ///   - category: the category; `nil` for any.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    in area: SearchArea, category: String? = nil, pageSize: Int? = nil
  ) -> PointQuery<PointOfInterest> {
    places(PointFilter(area: area, category: category), pageSize: pageSize)
  }

  /// Returns the query for the places along a route, in their order along it.
  ///
  /// ```swift
  /// let route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", radiusMetres: 500)
  /// for try await place in waymark.places(along: route, category: "fuel") {
  ///   print(place.name, place.alongMetres ?? 0, place.distanceMetres ?? 0)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - route: the route, with the maximum distance from it.
  ///   - category: the category; `nil` for any.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    along route: SearchRoute, category: String? = nil, pageSize: Int? = nil
  ) -> PointQuery<PointOfInterest> {
    places(PointFilter(route: route, category: category), pageSize: pageSize)
  }

  /// Returns the query for the places that match a filter, in its order.
  ///
  /// ```swift
  /// let query = waymark.places(PointFilter(box: box, categories: ["cafe", "bar"]), pageSize: 100)
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func places(_ filter: PointFilter, pageSize: Int? = nil) -> PointQuery<PointOfInterest> {
    let fields: PointFields = filter.open == nil ? .all : .allWithOpening
    return PointQuery(PointsRequest(baseURL: baseURL, limit: pageSize, fields: fields), filter, self)
  }

  /// Returns the place with an id.
  ///
  /// ```swift
  /// let place = try await waymark.place(id)
  /// ```
  public func place(_ id: UUID) async throws -> PointOfInterest { try await responses.place(id).value }

  /// Returns the typed values of the tags of a place.
  ///
  /// ```swift
  /// let details = try await waymark.details(of: id)
  /// ```
  public func details(of id: UUID) async throws -> PlaceDetails { try await responses.details(of: id).value }

  /// Returns the opening hours of a place from today on.
  ///
  /// ```swift
  /// let hours = try await waymark.hours(of: id, days: 14)
  /// ```
  ///
  /// - Parameters:
  ///   - id: the place.
  ///   - days: the number of days, 1 to 31; `nil` for the service's default, 7.
  public func hours(of id: UUID, days: Int? = nil) async throws -> OpeningHours {
    try await responses.hours(of: id, days: days).value
  }

  /// Returns the nearest place at a coordinate; `nil` where there is none within the radius.
  ///
  /// ```swift
  /// let place = try await waymark.place(at: here, radius: 20)
  /// print(place?.name ?? "There is no place here.")
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate.
  ///   - radiusMetres: the maximum distance of the place in metres; `nil` for the service's default, 50.
  public func place(at coordinate: Coordinate, radius radiusMetres: Double? = nil) async throws -> PointOfInterest? {
    try await responses.place(at: coordinate, radius: radiusMetres).value
  }

  /// Returns the query for the places whose names match a text, the best match first.
  ///
  /// ```swift
  /// let matches = try await waymark.search("winchster mystery", near: here).firstPage()
  /// let museums = waymark.search("museum", filter: PointFilter(box: box, tags: ["wheelchair": ["yes"]]))
  /// ```
  ///
  /// - Parameters:
  ///   - text: the words of the name, in any order and language. Small errors in spelling are tolerated.
  ///   - center: the coordinate near which places rank higher; `nil` for the center of the filter.
  ///   - filter: the conditions.
  ///   - order: the order of the matches. By distance, it needs a coordinate.
  ///   - isIncomplete: whether the last word is still being typed, and thus the beginning of a word.
  ///   - languages: the languages of the names, the preferred one first, for example `ko` and `en`; empty for those of
  ///   the session's `Accept-Language`, or else the places' own names.
  ///   - pageSize: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  public func search(
    _ text: String, near center: Coordinate? = nil, filter: PointFilter = PointFilter(),
    order: SearchOrder = .relevance, isIncomplete: Bool = false, languages: [String] = [], pageSize: Int? = nil
  ) -> PointQuery<PointMatch> {
    let search = PointSearch(
      text, filter: filter.centered(on: center), order: order, isIncomplete: isIncomplete, languages: languages)
    return PointQuery(PointSearchRequest(baseURL: baseURL, limit: pageSize), search, self)
  }

  /// Returns categories and places for a text that is being typed.
  ///
  /// ```swift
  /// for suggestion in try await waymark.suggestions(for: "winch", near: here) {
  ///   print(suggestion.title)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - text: the text, whose last word is the beginning of a word.
  ///   - center: the coordinate near which places rank higher; `nil` for the center of the filter.
  ///   - filter: the conditions, without tags and ``PointFilter/condition``.
  ///   - limit: the maximum number of suggestions, 1 to 50; `nil` for the service's default, 10.
  ///   - languages: the languages of the names, as in
  ///   ``search(_:near:filter:order:isIncomplete:languages:pageSize:)``.
  public func suggestions(
    for text: String, near center: Coordinate? = nil, filter: PointFilter = PointFilter(), limit: Int? = nil,
    languages: [String] = []
  ) async throws -> [SearchSuggestion] {
    try await responses.suggestions(for: text, near: center, filter: filter, limit: limit, languages: languages).value
  }

  /// Returns the nearest place to a coordinate, with its name and address as a label; `nil` where there is none within
  /// the radius.
  ///
  /// ```swift
  /// let address = try await waymark.nearestPlace(to: here, languages: ["en"])?.label
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate.
  ///   - radiusMetres: the maximum distance of the place in metres; `nil` for any.
  ///   - languages: the languages of the name, as in
  ///   ``search(_:near:filter:order:isIncomplete:languages:pageSize:)``.
  public func nearestPlace(
    to coordinate: Coordinate, radius radiusMetres: Double? = nil, languages: [String] = []
  ) async throws -> LabeledPoint? {
    do {
      return try await responses.nearestPlace(to: coordinate, radius: radiusMetres, languages: languages).value
    } catch WaymarkError.problem(let problem) where problem.code == .notFound {
      return nil
    }
  }

  /// Returns the featured place; `nil` while the service has no places.
  ///
  /// ```swift
  /// let name = try await waymark.featuredPlace()?.name
  /// ```
  public func featuredPlace() async throws -> PointOfInterest? {
    do {
      return try await responses.featuredPlace().value
    } catch WaymarkError.problem(let problem) where problem.code == .notFound {
      return nil
    }
  }

  /// Returns the categories with their numbers of places, most frequent first.
  ///
  /// ```swift
  /// let categories = try await waymark.categories().map(\.category)
  /// ```
  ///
  /// - Parameter box: the box that the places are in; `nil` for all places.
  public func categories(in box: BoundingBox? = nil) async throws -> [CategoryCount] {
    try await responses.categories(in: box).value
  }

  /// Returns the service's tree of categories that have places, most frequent first, with labels, and beside its groups
  /// the categories that are not in it.
  ///
  /// ```swift
  /// let groups = try await waymark.categoryTree(languages: ["de"]).compactMap(\.label)
  /// ```
  ///
  /// - Parameters:
  ///   - box: the box that the places are in; `nil` for all places.
  ///   - languages: the languages of the labels, the preferred one first; English without a label in one of them.
  public func categoryTree(in box: BoundingBox? = nil, languages: [String] = []) async throws -> [CategoryCount] {
    try await responses.categoryTree(in: box, languages: languages).value
  }

  /// Creates a place.
  ///
  /// ```swift
  /// let place = try await waymark.create(PointDraft(name: "Café Zentral", coordinate: here))
  /// ```
  ///
  /// - Parameters:
  ///   - draft: the data of the place.
  ///   - id: the id of the place; `nil` for a new one. If there is a place with that id, the call fails with
  ///   ``ProblemDetails/Code-swift.struct/versionMismatch``.
  ///   - idempotencyKey: the key of this creation. A repetition with the same key, for example after a restart of the
  ///   app, creates nothing twice.
  public func create(
    _ draft: PointDraft, id: UUID? = nil, idempotencyKey: String = UUID().uuidString
  ) async throws -> PointOfInterest {
    try await responses.create(draft, id: id, idempotencyKey: idempotencyKey).value
  }

  /// Replaces a place by the given one, unless it was changed meanwhile, and returns it with its new version.
  ///
  /// ```swift
  /// var place = try await waymark.place(id)
  /// place.tags["wheelchair"] = "yes"
  /// place = try await waymark.update(place)
  /// ```
  ///
  /// - Throws: ``RequestError/incompletePlace`` if the place was not loaded with its version. If it was changed
  /// meanwhile, ``WaymarkError/problem(_:)`` with ``ProblemDetails/Code-swift.struct/versionMismatch``.
  @discardableResult
  public func update(_ place: PointOfInterest) async throws -> PointOfInterest {
    try await responses.update(place).value
  }

  /// Changes some fields of a place, unless it was changed meanwhile, and returns it with its new version.
  ///
  /// ```swift
  /// let opened = PointPatch(tags: ["opening_hours": .set("24/7"), "fixme": .remove])
  /// let place = try await waymark.update(place, with: opened)
  /// ```
  ///
  /// - Throws: the errors of ``update(_:)``.
  @discardableResult
  public func update(_ place: PointOfInterest, with patch: PointPatch) async throws -> PointOfInterest {
    try await responses.update(place, with: patch).value
  }

  /// Deletes a place, unless it was changed meanwhile.
  ///
  /// ```swift
  /// try await waymark.delete(place)
  /// ```
  ///
  /// - Throws: the errors of ``update(_:)``.
  public func delete(_ place: PointOfInterest) async throws { try await responses.delete(place).value }

  /// Deletes the place with an id, whatever its version.
  ///
  /// ```swift
  /// try await waymark.delete(id: id)
  /// ```
  public func delete(id: UUID) async throws { try await responses.delete(id: id).value }

  /// Creates or updates many places: those whose origin exists are updated.
  ///
  /// ```swift
  /// let report = try await waymark.importPlaces([draft])
  /// print(report.created, report.errors.map(\.detail))
  /// ```
  ///
  /// - Throws: `EncodingError` where a text or number can't be encoded as JSON.
  /// - Returns: the report, which contains the rejected places.
  public func importPlaces(_ drafts: [PointDraft]) async throws -> ImportReport {
    try await responses.importPlaces(drafts).value
  }

  /// Creates or updates the places of a file or of rows.
  ///
  /// ```swift
  /// let places = PointImport(data: file, format: .csv, mode: .atomic)
  /// let report = try await waymark.importPlaces(places, timeout: .seconds(3600))
  /// ```
  ///
  /// - Parameters:
  ///   - places: the places, their format, and the treatment of invalid ones.
  ///   - idempotencyKey: the key of this import. A repetition with the same key imports nothing twice.
  ///   - timeout: the maximum time of the import, in place of ``LoaderConfiguration/totalTimeout``.
  /// - Returns: the report, which contains the rejected rows.
  public func importPlaces(
    _ places: PointImport, idempotencyKey: String = UUID().uuidString, timeout: Duration? = .seconds(600)
  ) async throws -> ImportReport {
    try await responses.importPlaces(places, idempotencyKey: idempotencyKey, timeout: timeout).value
  }

  /// Removes a data set without places and areas from the list of data sets.
  ///
  /// ```swift
  /// try await waymark.deleteSource("osm")
  /// ```
  ///
  /// - Throws: ``WaymarkError/problem(_:)`` with ``ProblemDetails/Code-swift.struct/conflict`` if it has places
  ///   or areas.
  public func deleteSource(_ name: String) async throws { try await responses.deleteSource(name).value }

  /// Writes all places that match a filter to a file, as they arrive. The file is complete or, after an error, as it was
  /// before.
  ///
  /// ```swift
  /// try await waymark.exportPlaces(PointFilter(box: box), as: .geoJSON, to: fileURL) { bytes in
  ///   print("\(bytes / 1_000_000) MB")
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions; by default there are none.
  ///   - format: the format of the file.
  ///   - file: the file, which is replaced if it exists.
  ///   - timeout: the maximum time of the export, in place of ``LoaderConfiguration/totalTimeout``.
  ///   - progress: called with the number of bytes so far, on any thread. After a retry, they are counted from 0.
  /// - Throws: also `CocoaError` where the file can't be written.
  public func exportPlaces(
    _ filter: PointFilter = PointFilter(), as format: PointFormat = .ndjson, to file: URL,
    timeout: Duration? = .seconds(3600), progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws {
    try await responses.exportPlaces(filter, as: format, to: file, timeout: timeout, progress: progress).value
  }
}

extension PointFilter {
  /// Creates a filter with at most one category.
  fileprivate init(
    center: Coordinate? = nil, radiusMetres: Double? = nil, box: BoundingBox? = nil, area: SearchArea? = nil,
    route: SearchRoute? = nil, category: String?
  ) {
    self.init(
      center: center, radiusMetres: radiusMetres, box: box, area: area, route: route,
      categories: category.map { [$0] } ?? [])
  }

  /// Returns the filter with another center; with its own one for `nil`.
  func centered(on center: Coordinate?) -> PointFilter {
    var filter = self
    filter.center = center ?? self.center
    return filter
  }
}
