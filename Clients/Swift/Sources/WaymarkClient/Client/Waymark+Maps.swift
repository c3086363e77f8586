extension Waymark {
  /// Returns the places in an area, by id.
  ///
  /// ```swift
  /// let area = try SearchArea(geoJSON: String(decoding: file, as: UTF8.self))
  /// let museums = try await waymark.places(in: area, category: "museum")
  /// ```
  ///
  /// - Parameters:
  ///   - area: the area.
  ///   - category: the category; `nil` for any.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    in area: SearchArea, category: String? = nil, limit: Int? = nil
  ) async throws -> [PointOfInterest] {
    try await responses.places(in: area, category: category, limit: limit).value
  }

  /// Returns the search for all places in an area, by id. `limit` is the size of a page.
  ///
  /// ```swift
  /// for try await place in waymark.places(in: area).all {
  ///   print(place.name)
  /// }
  /// ```
  public func places(in area: SearchArea, category: String? = nil, limit: Int? = nil) -> PointQuery {
    query(PointFilter(area: area, categories: category.map { [$0] } ?? []), limit: limit)
  }

  /// Returns the first places along a route, in their order along it.
  ///
  /// ```swift
  /// let route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", radiusMetres: 500)
  /// for place in try await waymark.places(along: route, category: "fuel", limit: 3) {
  ///   print(place.name, place.alongMetres ?? 0, place.distanceMetres ?? 0)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - route: the route, with the maximum distance from it.
  ///   - category: the category; `nil` for any.
  ///   - limit: the maximum number of places, 1 to 1,000; `nil` for the service's default, 20.
  public func places(
    along route: SearchRoute, category: String? = nil, limit: Int? = nil
  ) async throws -> [PointOfInterest] {
    try await responses.places(along: route, category: category, limit: limit).value
  }

  /// Returns the search for all places along a route, in their order along it. `limit` is the size of a page.
  ///
  /// ```swift
  /// for try await place in waymark.places(along: route).all {
  ///   print(place.name, place.alongMetres ?? 0)
  /// }
  /// ```
  public func places(along route: SearchRoute, category: String? = nil, limit: Int? = nil) -> PointQuery {
    query(PointFilter(route: route, categories: category.map { [$0] } ?? []), limit: limit)
  }

  /// Returns the clusters of the places on a map.
  ///
  /// ```swift
  /// for cluster in try await waymark.clusters(zoom: 5, filter: PointFilter(box: box)) {
  ///   print(cluster.coordinate, cluster.count)
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - zoom: the zoom level of the map, 0 to 22, as in the addresses of tiles.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  ///   - filter: the conditions, without center, radius and route. Cells that touch the box are whole.
  public func clusters(
    zoom: Int, matching text: String? = nil, filter: PointFilter = PointFilter()
  ) async throws -> [PointCluster] {
    try await responses.clusters(zoom: zoom, matching: text, filter: filter).value
  }

  /// Returns the most frequent categories, or values of tags, of the places that match a filter.
  ///
  /// ```swift
  /// let facets = try await waymark.facets(by: [.category, .tag("cuisine")], filter: PointFilter(box: box))
  /// print(facets.count, facets[.category]?.values.first?.value ?? "")
  /// ```
  ///
  /// - Parameters:
  ///   - properties: the properties whose values are counted, 1 to 20 different ones.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  ///   - filter: the conditions, without center, radius and route.
  ///   - limit: the maximum number of values of each property, 1 to 1,000; `nil` for the service's default, 20.
  public func facets(
    by properties: [PointProperty], matching text: String? = nil, filter: PointFilter = PointFilter(),
    limit: Int? = nil
  ) async throws -> PointFacets {
    try await responses.facets(by: properties, matching: text, filter: filter, limit: limit).value
  }

  /// Returns the addresses of vector tiles with the places that match a filter. It sends no request.
  ///
  /// ```swift
  /// let tiles = try waymark.tiles(of: PointFilter(categories: ["museum"]), tags: ["website"])
  /// ```
  ///
  /// - Parameters:
  ///   - filter: the conditions, without center, radius, route and box.
  ///   - text: the text that the names of the places match, as in ``PointSearch/text``; `nil` for any places.
  ///   - tags: the keys of the tags that the places in the tiles have, at most 20.
  public func tiles(
    of filter: PointFilter = PointFilter(), matching text: String? = nil, tags: [String] = []
  ) throws(RequestError) -> VectorTiles {
    try VectorTiles(baseURL: baseURL, matching: text, filter: filter, tags: tags)
  }
}

extension WaymarkResponses {
  /// Loads the first places in an area. See ``Waymark/places(in:category:limit:)``.
  ///
  /// ```swift
  /// let next = try await waymark.responses.places(in: area, limit: 100).nextPage
  /// ```
  public func places(
    in area: SearchArea, category: String? = nil, limit: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(in: area, category: category, limit: limit).firstPage()
  }

  /// Loads the first places along a route. See ``Waymark/places(along:category:limit:)``.
  ///
  /// ```swift
  /// let requestID = try await waymark.responses.places(along: route).requestID
  /// ```
  public func places(
    along route: SearchRoute, category: String? = nil, limit: Int? = nil
  ) async throws -> APIResponse<[PointOfInterest]> {
    try await waymark.places(along: route, category: category, limit: limit).firstPage()
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
