import Geo
package import Points

extension ImportRow {
  /// Returns a row with sample values.
  ///
  /// - Throws: an error if the coordinate or the place is invalid.
  package static func sample(
    _ name: String,
    _ latitude: Double,
    _ longitude: Double,
    category: String? = nil,
    tags: KeyValuePairs<String, String> = [:],
    source: String? = nil,
    sourceID: String? = nil,
    id: PointID? = nil,
    number: Int = 1
  ) throws -> ImportRow {
    ImportRow(
      number: number,
      id: id,
      draft: try PointDraft(
        name: name,
        category: category,
        coordinate: try Coordinate(latitude: latitude, longitude: longitude),
        tags: try Tags(tags),
        source: source,
        sourceID: sourceID
      )
    )
  }
}

extension PointID {
  /// Returns a sample id; a greater number gives a greater id.
  package static func sample(_ number: UInt64) -> PointID {
    PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0000 | number)
  }
}

extension PointQuery {
  /// Returns a query for places by their distance from a coordinate.
  ///
  /// - Throws: an error if the coordinate is invalid.
  package static func near(
    _ latitude: Double,
    _ longitude: Double,
    radiusMetres: Double? = nil,
    limit: Int = defaultLimit
  ) throws -> PointQuery {
    let center = try Coordinate(latitude: latitude, longitude: longitude)
    return PointQuery(proximity: .init(center: center, radiusMetres: radiusMetres), limit: limit)
  }
}

extension PointStore {
  /// Returns the names of the places on the first page.
  ///
  /// - Throws: ``Points/PointStoreError``.
  package func names(_ query: PointQuery) async throws -> [String] {
    try await page(matching: query).points.map(\.point.draft.name)
  }
}
