extension Waymark {
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
  ///   - text: the text that the names of the places match, as in a search; `nil` for any places.
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
  ///   - text: the text that the names of the places match, as in a search; `nil` for any places.
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
  ///   - text: the text that the names of the places match, as in a search; `nil` for any places.
  ///   - tags: the keys of the tags that the places in the tiles have, at most 20.
  public func tiles(
    of filter: PointFilter = PointFilter(), matching text: String? = nil, tags: [String] = []
  ) throws(RequestError) -> VectorTiles {
    try VectorTiles(baseURL: baseURL, matching: text, filter: filter, tags: tags)
  }
}
