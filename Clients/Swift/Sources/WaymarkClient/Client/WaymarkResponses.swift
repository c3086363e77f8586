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

  /// Loads the first page of the places nearest to a coordinate. See ``Waymark/places(near:radius:category:pageSize:)``.
  ///
  /// ```swift
  /// let next = try await waymark.responses.places(near: here, pageSize: 100).nextPage
  /// ```
  public func places(
    near coordinate: Coordinate, radius radiusMetres: Double? = nil, category: String? = nil, pageSize: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(near: coordinate, radius: radiusMetres, category: category, pageSize: pageSize)
      .firstResponse()
  }

  /// Loads the first page of the places in a box. See ``Waymark/places(in:category:pageSize:)``.
  ///
  /// ```swift
  /// let invalidRows = try await waymark.responses.places(in: box).invalidRows
  /// ```
  public func places(
    in box: BoundingBox, category: String? = nil, pageSize: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(in: box, category: category, pageSize: pageSize).firstResponse()
  }

  /// Loads the first page of the places in an area. See ``Waymark/places(in:category:pageSize:)``.
  ///
  /// ```swift
  /// let next = try await waymark.responses.places(in: area, pageSize: 100).nextPage
  /// ```
  public func places(
    in area: SearchArea, category: String? = nil, pageSize: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(in: area, category: category, pageSize: pageSize).firstResponse()
  }

  /// Loads the first page of the places along a route. See ``Waymark/places(along:category:pageSize:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.places(along: route).requestID
  /// ```
  public func places(
    along route: SearchRoute, category: String? = nil, pageSize: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(along: route, category: category, pageSize: pageSize).firstResponse()
  }

  /// Loads the first page of the places that match a filter. See ``Waymark/places(_:pageSize:)``.
  ///
  /// ```swift
  /// let isLast = try await waymark.responses.places(filter).nextPage == nil
  /// ```
  public func places(_ filter: PointFilter, pageSize: Int? = nil) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(filter, pageSize: pageSize).firstResponse()
  }

  /// Loads the place with an id.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.place(id).isStale
  /// ```
  public func place(_ id: UUID) async throws -> APIResponse<PointOfInterest> {
    try await waymark.loader(PointRequest(baseURL: baseURL)).load(requestData: id)
  }

  /// Loads the typed values of the tags of a place. See ``Waymark/details(of:)``.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.details(of: id).isStale
  /// ```
  public func details(of id: UUID) async throws -> APIResponse<PlaceDetails> {
    try await waymark.loader(DetailsRequest(baseURL: baseURL)).load(requestData: id)
  }

  /// Loads the opening hours of a place. See ``Waymark/hours(of:days:)``.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.hours(of: id).isStale
  /// ```
  public func hours(of id: UUID, days: Int? = nil) async throws -> APIResponse<OpeningHours> {
    try await waymark.loader(HoursRequest(baseURL: baseURL, days: days)).load(requestData: id)
  }

  /// Loads the nearest place at a coordinate; `nil` where there is none. See ``Waymark/place(at:radius:)``.
  ///
  /// ```swift
  /// let response = try await waymark.responses.place(at: here)
  /// if response.value != nil, !response.isStale { print("You have arrived.") }
  /// ```
  public func place(
    at coordinate: Coordinate, radius radiusMetres: Double? = nil
  ) async throws -> APIResponse<PointOfInterest?> {
    try await waymark.loader(PointCheckRequest(baseURL: baseURL, radiusMetres: radiusMetres))
      .load(requestData: coordinate).map(\.place)
  }

  /// Loads the first page of the matches of a search. See
  /// ``Waymark/search(_:near:filter:order:isIncomplete:languages:pageSize:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.search("museum").requestID
  /// ```
  public func search(
    _ text: String, near center: Coordinate? = nil, filter: PointFilter = PointFilter(),
    order: SearchOrder = .relevance, isIncomplete: Bool = false, languages: [String] = [], pageSize: Int? = nil
  ) async throws -> APIResponse<[PointMatch]> {
    try await waymark.search(
      text, near: center, filter: filter, order: order, isIncomplete: isIncomplete, languages: languages,
      pageSize: pageSize
    ).firstResponse()
  }

  /// Loads the suggestions for a text. See ``Waymark/suggestions(for:near:filter:limit:languages:)``.
  ///
  /// ```swift
  /// let suggestions = try await waymark.responses.suggestions(for: "mus", limit: 5)
  /// print(suggestions.receivedAt, suggestions.value.map(\.title))
  /// ```
  public func suggestions(
    for text: String, near center: Coordinate? = nil, filter: PointFilter = PointFilter(), limit: Int? = nil,
    languages: [String] = []
  ) async throws -> APIResponse<[SearchSuggestion]> {
    let search = PointSearch(text, filter: filter.centered(on: center), languages: languages)
    return try await waymark.loader(SuggestionsRequest(baseURL: baseURL, limit: limit)).load(requestData: search)
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

  /// Loads the service's tree of categories that have places. See ``Waymark/categoryTree(in:languages:)``.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.categoryTree().isStale
  /// ```
  ///
  /// - Parameters:
  ///   - box: the box that the places are in; `nil` for all places.
  ///   - languages: the languages of the labels, the preferred one first.
  public func categoryTree(
    in box: BoundingBox? = nil, languages: [String] = []
  ) async throws -> APIResponse<[CategoryCount]> {
    try await waymark.loader(CategoriesRequest(baseURL: baseURL, in: box, treeLanguages: languages))
      .load(requestData: ())
  }

  /// Creates a place. See ``Waymark/create(_:id:idempotencyKey:)``.
  ///
  /// ```swift
  /// let created = try await waymark.responses.create(draft)
  /// let places = try await waymark.reading(after: created.position).places(near: draft.coordinate).firstPage()
  /// ```
  public func create(
    _ draft: PointDraft, id: UUID? = nil, idempotencyKey: String = UUID().uuidString
  ) async throws -> APIResponse<PointOfInterest> {
    if let id {
      let data = ReplacePointRequest.RequestData(id: id, draft: draft, condition: .absent)
      return try await waymark.loader(ReplacePointRequest(baseURL: baseURL)).load(requestData: data)
    }
    return try await waymark.loader(CreatePointRequest(baseURL: baseURL, idempotencyKey: { idempotencyKey }))
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

  /// Creates or updates many places. See ``Waymark/importPlaces(_:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.importPlaces([draft]).requestID
  /// ```
  public func importPlaces(_ drafts: [PointDraft]) async throws -> APIResponse<ImportReport> {
    try await importPlaces(PointImport(rows: drafts.map { PointImport.Row(draft: $0) }))
  }

  /// Creates or updates the places of a file or of rows. See ``Waymark/importPlaces(_:idempotencyKey:timeout:)``.
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

  /// Removes a data set without places and areas. See ``Waymark/deleteSource(_:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.deleteSource("osm").requestID
  /// ```
  public func deleteSource(_ name: String) async throws -> APIResponse<Void> {
    try await waymark.loader(DeleteSourceRequest(baseURL: baseURL)).load(requestData: name)
  }

  /// Writes places to a file. See ``Waymark/exportPlaces(_:as:to:timeout:progress:)``. The position of the response is
  /// the one from which the service reports changes to the exported places.
  ///
  /// ```swift
  /// let position = try await waymark.responses.exportPlaces(to: fileURL).position
  /// ```
  public func exportPlaces(
    _ filter: PointFilter = PointFilter(), as format: PointFormat = .ndjson, to file: URL,
    timeout: Duration? = .seconds(3600), progress: @escaping @Sendable (Int) -> Void = { _ in }
  ) async throws -> APIResponse<Void> {
    let request = try ExportPointsRequest(baseURL: baseURL, format: format).makeRequest(from: filter)
    let download = Download(file: file, progress: progress)
    var patient = waymark
    patient.configuration.totalTimeout = timeout
    return try await patient.loader(ExportPointsRequest(baseURL: baseURL, format: format))
      .load(request, into: download)
  }

  /// Loads the clusters of the places on a map. See ``Waymark/clusters(zoom:matching:filter:)``.
  ///
  /// ```swift
  /// let isStale = try await waymark.responses.clusters(zoom: 5, filter: PointFilter(box: box)).isStale
  /// ```
  public func clusters(
    zoom: Int, matching text: String? = nil, filter: PointFilter = PointFilter()
  ) async throws -> APIResponse<[PointCluster]> {
    try await waymark.loader(ClustersRequest(baseURL: waymark.baseURL, zoom: zoom, matching: text))
      .load(requestData: filter)
  }

  /// Loads the most frequent values of properties. See ``Waymark/facets(by:matching:filter:limit:)``.
  ///
  /// ```swift
  /// let age = try await waymark.responses.facets(by: [.category]).age
  /// ```
  public func facets(
    by properties: [PointProperty], matching text: String? = nil, filter: PointFilter = PointFilter(),
    limit: Int? = nil
  ) async throws -> APIResponse<PointFacets> {
    try await waymark.loader(FacetsRequest(baseURL: waymark.baseURL, by: properties, matching: text, limit: limit))
      .load(requestData: filter)
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
