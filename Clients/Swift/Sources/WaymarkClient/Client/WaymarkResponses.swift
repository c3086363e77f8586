public import Foundation

/// The calls of a ``Waymark`` client whose results have the metadata of the response: position, staleness, entity tag,
/// request identifier and invalid rows.
///
/// ```swift
/// let response = try await waymark.responses.places(near: here)
/// if response.isStale { print("These places are of \(response.receivedAt).") }
/// ```
public struct WaymarkResponses: Sendable {
  let waymark: Waymark

  private var baseURL: URL { waymark.baseURL }

  /// Loads the places nearest to a coordinate. See ``Waymark/places(near:radius:category:limit:)``.
  ///
  /// ```swift
  /// let next = try await waymark.responses.places(near: here, limit: 100).nextPage
  /// ```
  public func places(
    near coordinate: Coordinate, radius radiusMetres: Double? = nil, category: String? = nil, limit: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.query(PointFilter(near: coordinate, radiusMetres, category), limit: limit).firstPage()
  }

  /// Loads the places in a box. See ``Waymark/places(in:category:limit:)``.
  ///
  /// ```swift
  /// let invalidRows = try await waymark.responses.places(in: box).invalidRows
  /// ```
  public func places(
    in box: BoundingBox, category: String? = nil, limit: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.query(PointFilter(in: box, category), limit: limit).firstPage()
  }

  /// Loads the place with an id.
  ///
  /// ```swift
  /// let entityTag = try await waymark.responses.place(id).entityTag
  /// ```
  public func place(_ id: UUID) async throws -> APIResponse<PointOfInterest> {
    try await waymark.loader(PointRequest(baseURL: baseURL)).load(requestData: id)
  }

  /// Loads the place at a coordinate, if there is one. See ``Waymark/place(at:radius:)``.
  ///
  /// ```swift
  /// let check = try await waymark.responses.check(here)
  /// if check.value.isPointOfInterest, !check.isStale { print("You have arrived.") }
  /// ```
  public func check(_ coordinate: Coordinate, radius radiusMetres: Double? = nil) async throws -> APIResponse<
    PointCheck
  > {
    try await waymark.loader(PointCheckRequest(baseURL: baseURL, radiusMetres: radiusMetres))
      .load(requestData: coordinate)
  }

  /// Loads the first page of the matches of a search. See ``Waymark/search(_:near:limit:languages:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.search(PointSearch("museum")).requestID
  /// ```
  public func search(_ search: PointSearch, limit: Int? = nil) async throws -> APIResponse<[PointMatch]> {
    try await waymark.loader(PointSearchRequest(baseURL: baseURL, limit: limit)).load(requestData: search)
  }

  /// Loads the suggestions for a text. See ``Waymark/suggestions(for:near:limit:languages:)``.
  ///
  /// ```swift
  /// let suggestions = try await waymark.responses.suggestions(for: PointSearch("mus"), limit: 5).value
  /// ```
  public func suggestions(
    for search: PointSearch, limit: Int? = nil
  ) async throws -> APIResponse<[SearchSuggestion]> {
    try await waymark.loader(SuggestionsRequest(baseURL: baseURL, limit: limit)).load(requestData: search)
  }

  /// Loads the nearest place with its label. See ``Waymark/nearestPlace(to:radius:languages:)``.
  ///
  /// ```swift
  /// let age = try await waymark.responses.nearestPlace(to: here).age
  /// ```
  public func nearestPlace(
    to coordinate: Coordinate, radius radiusMetres: Double? = nil, languages: [String] = []
  ) async throws -> APIResponse<LabeledPoint> {
    try await waymark.loader(ReversePointRequest(baseURL: baseURL, radiusMetres: radiusMetres, languages: languages))
      .load(requestData: coordinate)
  }

  /// Loads the featured place, which is current for ``APIResponse/maxAge``.
  ///
  /// ```swift
  /// let response = try await waymark.responses.featuredPlace()
  /// let reloadTime = response.receivedAt.addingTimeInterval(response.maxAge ?? 10)
  /// ```
  public func featuredPlace() async throws -> APIResponse<PointOfInterest> {
    try await waymark.loader(FeaturedPlaceRequest(baseURL: baseURL)).load(requestData: ())
  }

  /// Loads the categories with their numbers of places, most frequent first.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.categories().isStale
  /// ```
  ///
  /// - Parameter box: the box that the places are in; `nil` for all places.
  public func categories(in box: BoundingBox? = nil) async throws -> APIResponse<[CategoryCount]> {
    try await waymark.loader(CategoriesRequest(baseURL: baseURL, in: box)).load(requestData: ())
  }

  /// Creates a place. See ``Waymark/create(_:idempotencyKey:)``.
  ///
  /// ```swift
  /// let created = try await waymark.responses.create(draft)
  /// let places = try await waymark.reading(after: created.position).places(near: draft.coordinate, limit: 1)
  /// ```
  public func create(
    _ draft: PointDraft, idempotencyKey: String = UUID().uuidString
  ) async throws -> APIResponse<PointOfInterest> {
    try await waymark.loader(CreatePointRequest(baseURL: baseURL, idempotencyKey: { idempotencyKey }))
      .load(requestData: draft)
  }

  /// Replaces a place. See ``Waymark/update(_:)``.
  ///
  /// ```swift
  /// let position = try await waymark.responses.update(place).position
  /// ```
  public func update(_ place: PointOfInterest) async throws -> APIResponse<PointOfInterest> {
    guard let draft = PointDraft(place) else { throw RequestError.incompletePlace }
    let data = ReplacePointRequest.RequestData(id: place.id, draft: draft, condition: try place.condition)
    return try await waymark.loader(ReplacePointRequest(baseURL: baseURL)).load(requestData: data)
  }

  /// Changes some fields of a place. See ``Waymark/update(_:with:)``.
  ///
  /// ```swift
  /// let position = try await waymark.responses.update(place, with: PointPatch(name: "Museum")).position
  /// ```
  public func update(
    _ place: PointOfInterest, with patch: PointPatch
  ) async throws -> APIResponse<PointOfInterest> {
    let data = PatchPointRequest.RequestData(id: place.id, patch: patch, condition: try place.condition)
    return try await waymark.loader(PatchPointRequest(baseURL: baseURL)).load(requestData: data)
  }

  /// Deletes a place. See ``Waymark/delete(_:)``.
  ///
  /// ```swift
  /// let position = try await waymark.responses.delete(place).position
  /// ```
  public func delete(_ place: PointOfInterest) async throws -> APIResponse<Void> {
    let data = DeletePointRequest.RequestData(id: place.id, condition: try place.condition)
    return try await waymark.loader(DeletePointRequest(baseURL: baseURL)).load(requestData: data)
  }

  /// Deletes the place with an id. See ``Waymark/delete(id:)``.
  ///
  /// ```swift
  /// let position = try await waymark.responses.delete(id: id).position
  /// ```
  public func delete(id: UUID) async throws -> APIResponse<Void> {
    try await waymark.loader(DeletePointRequest(baseURL: baseURL)).load(requestData: .init(id: id))
  }

  /// Creates or updates many places. See ``Waymark/importPlaces(_:idempotencyKey:timeout:)``.
  ///
  /// ```swift
  /// let places = try PointImport(rows: [PointImport.Row(draft: draft)], isDryRun: true)
  /// let response = try await waymark.responses.importPlaces(places)
  /// print(response.value.rejected, response.requestID ?? "")
  /// ```
  public func importPlaces(
    _ places: PointImport, idempotencyKey: String = UUID().uuidString, timeout: Duration? = .seconds(600)
  ) async throws -> APIResponse<ImportReport> {
    var patient = waymark
    patient.configuration.totalTimeout = timeout
    // The service responds when it has imported all rows.
    patient.configuration.idleTimeout = timeout.map { TimeInterval($0.components.seconds) } ?? .greatestFiniteMagnitude
    return try await patient.loader(ImportPointsRequest(baseURL: baseURL, idempotencyKey: { idempotencyKey }))
      .load(requestData: places)
  }
}

extension PointOfInterest {
  /// The precondition that the place has not changed since it was loaded.
  ///
  /// - Throws: ``RequestError/incompletePlace``.
  fileprivate var condition: WriteCondition {
    get throws(RequestError) {
      guard let version, !hasFallbackID else { throw .incompletePlace }
      return .version(version)
    }
  }
}
