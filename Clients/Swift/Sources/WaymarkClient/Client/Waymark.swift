public import Foundation

#if canImport(FoundationNetworking)
  public import FoundationNetworking
#endif

/// A client of one Waymark service.
///
/// It is a value: copies share the credentials, the session and the cache. Its calls return ordinary values; the same
/// calls of ``responses`` return them with the metadata of the response.
///
/// ```swift
/// let waymark = Waymark(baseURL: baseURL, credentials: .apiKey(key))
/// let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe")
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
    cache: (any ResponseCache)? = nil, configuration: LoaderConfiguration = LoaderConfiguration()
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
  /// let places = try await waymark.reading(after: created.position).places(near: draft.coordinate)
  /// ```
  public func reading(after position: String?) -> Waymark {
    var copy = self
    copy.configuration.minimumPosition = position ?? configuration.minimumPosition
    return copy
  }

  /// Returns a loader for one kind of request, which shares everything with this client.
  ///
  /// ```swift
  /// let loader = waymark.loader(CategoriesRequest(baseURL: waymark.baseURL))
  /// ```
  public func loader<T: APIRequest>(_ request: T) -> APIRequestLoader<T> {
    APIRequestLoader(
      apiRequest: request, session: transport, configuration: configuration, recentResponses: recentResponses)
  }
}

extension Waymark {
  /// Returns the places nearest to a coordinate, in order of distance.
  ///
  /// ```swift
  /// let cafes = try await waymark.places(near: here, radius: 1500, category: "cafe", limit: 10)
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate.
  ///   - radiusMetres: the maximum distance in metres, inclusive; `nil` for any.
  ///   - category: the category; `nil` for any.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    near coordinate: Coordinate, radius radiusMetres: Double? = nil, category: String? = nil, limit: Int? = nil
  ) async throws -> [PointOfInterest] {
    try await responses.places(near: coordinate, radius: radiusMetres, category: category, limit: limit).value
  }

  /// Returns the search for all places around a coordinate, in order of distance. `limit` is the size of a page.
  ///
  /// ```swift
  /// for try await page in waymark.places(near: here, limit: 100).pages {
  ///   print(page.value.count, page.isStale)
  /// }
  /// ```
  public func places(
    near coordinate: Coordinate, radius radiusMetres: Double? = nil, category: String? = nil, limit: Int? = nil
  ) -> PointQuery {
    query(PointFilter(near: coordinate, radiusMetres, category), limit: limit)
  }

  /// Returns the places in a box, by id.
  ///
  /// ```swift
  /// let museums = try await waymark.places(in: box, category: "museum")
  /// ```
  ///
  /// - Parameters:
  ///   - box: the box, edges included.
  ///   - category: the category; `nil` for any.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    in box: BoundingBox, category: String? = nil, limit: Int? = nil
  ) async throws -> [PointOfInterest] {
    try await responses.places(in: box, category: category, limit: limit).value
  }

  /// Returns the search for all places in a box, by id. `limit` is the size of a page.
  ///
  /// ```swift
  /// for try await place in waymark.places(in: box).all {
  ///   print(place.name)
  /// }
  /// ```
  public func places(in box: BoundingBox, category: String? = nil, limit: Int? = nil) -> PointQuery {
    query(PointFilter(in: box, category), limit: limit)
  }

  /// Returns a search with any filter.
  ///
  /// ```swift
  /// let query = waymark.query(PointFilter(box: box, categories: ["cafe", "bar"]), limit: 100)
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions.
  ///   - limit: the maximum number of places on a page, 1 to 1,000; `nil` for the service's default, 20.
  ///   - fields: the fields of each place. Without all of them, a place can't be passed to ``update(_:)``.
  public func query(_ filter: PointFilter, limit: Int? = nil, fields: PointFields = .all) -> PointQuery {
    PointQuery(loader: loader(PointsRequest(baseURL: baseURL, limit: limit, fields: fields)), filter: filter)
  }

  /// Returns the place with an id.
  ///
  /// ```swift
  /// let place = try await waymark.place(id)
  /// ```
  public func place(_ id: UUID) async throws -> PointOfInterest { try await responses.place(id).value }

  /// Returns whether there is a place at a coordinate.
  ///
  /// ```swift
  /// if try await waymark.isPointOfInterest(at: here) { print("You have arrived.") }
  /// ```
  ///
  /// - Parameters:
  ///   - coordinate: the coordinate.
  ///   - radiusMetres: the maximum distance of the place in metres; `nil` for the service's default, 50.
  public func isPointOfInterest(at coordinate: Coordinate, radius radiusMetres: Double? = nil) async throws -> Bool {
    try await responses.check(coordinate, radius: radiusMetres).value.isPointOfInterest
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
    try await responses.check(coordinate, radius: radiusMetres).value.location
  }

  /// Returns the places whose names match a text, the best match first.
  ///
  /// ```swift
  /// let matches = try await waymark.search("winchster mystery", near: here)
  /// ```
  ///
  /// - Parameters:
  ///   - text: the words of the name, in any order and language. Small errors in spelling are tolerated.
  ///   - center: the coordinate near which places rank higher; `nil` for none.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  ///   - languages: the languages of the names, the preferred one first; empty for those of the session's
  ///   `Accept-Language`, or else the places' own names.
  public func search(
    _ text: String, near center: Coordinate? = nil, limit: Int? = nil, languages: [String] = []
  ) async throws -> [PointMatch] {
    let search = PointSearch(text, filter: PointFilter(center: center), languages: languages)
    return try await responses.search(search, limit: limit).value
  }

  /// Returns all pages of a search with any conditions and order. `limit` is the size of a page.
  ///
  /// ```swift
  /// let search = PointSearch("museum", filter: PointFilter(center: here), order: .distance)
  /// for try await page in waymark.pages(of: search, limit: 50) {
  ///   print(page.value.map(\.place.name))
  /// }
  /// ```
  public func pages(of search: PointSearch, limit: Int? = nil) -> APIPages<PointSearchRequest> {
    loader(PointSearchRequest(baseURL: baseURL, limit: limit)).pages(requestData: search)
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
  ///   - center: the coordinate near which places rank higher; `nil` for none.
  ///   - limit: the maximum number of suggestions, 1 to 50; `nil` for the service's default, 10.
  ///   - languages: the languages of the names, as in ``search(_:near:limit:languages:)``.
  public func suggestions(
    for text: String, near center: Coordinate? = nil, limit: Int? = nil, languages: [String] = []
  ) async throws -> [SearchSuggestion] {
    let search = PointSearch(text, filter: PointFilter(center: center), languages: languages)
    return try await responses.suggestions(for: search, limit: limit).value
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
  ///   - languages: the languages of the name, as in ``search(_:near:limit:languages:)``.
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

  /// Creates a place with a new id.
  ///
  /// ```swift
  /// let place = try await waymark.create(PointDraft(name: "Café Zentral", coordinate: here))
  /// ```
  ///
  /// - Parameters:
  ///   - draft: the data of the place.
  ///   - idempotencyKey: the key of this creation. A repetition with the same key, for example after a restart of the
  ///   app, creates nothing twice.
  public func create(
    _ draft: PointDraft, idempotencyKey: String = UUID().uuidString
  ) async throws -> PointOfInterest {
    try await responses.create(draft, idempotencyKey: idempotencyKey).value
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
    try await importPlaces(PointImport(rows: drafts.map { PointImport.Row(draft: $0) }))
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

  /// Returns all places that match a filter, as a file.
  ///
  /// ```swift
  /// let file = try await waymark.exportPlaces(PointFilter(box: box), as: .geoJSON)
  /// try file.write(to: fileURL)
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions; by default there are none.
  ///   - format: the format of the file.
  /// - Throws: ``WaymarkError/tooLarge(maximumBytes:requestID:)`` for a file of more than
  /// ``LoaderConfiguration/maximumResponseBytes``. Then iterate over the pages of ``query(_:limit:fields:)``.
  public func exportPlaces(_ filter: PointFilter = PointFilter(), as format: PointFormat = .ndjson) async throws -> Data
  {
    try await loader(ExportPointsRequest(baseURL: baseURL, format: format)).loadAPIRequest(requestData: filter)
  }
}

extension PointFilter {
  /// Creates the filter of a search around a coordinate.
  init(near coordinate: Coordinate, _ radiusMetres: Double?, _ category: String?) {
    self.init(center: coordinate, radiusMetres: radiusMetres, categories: category.map { [$0] } ?? [])
  }

  /// Creates the filter of a search in a box.
  init(in box: BoundingBox, _ category: String?) {
    self.init(box: box, categories: category.map { [$0] } ?? [])
  }
}
