import Geo
public import Points

extension ImportRow {
  /// A row of a place that a test makes up.
  ///
  /// - Throws: what is wrong with the coordinate or the place.
  public static func sample(
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
      place: try Place(
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
  /// An id that a test makes up; a greater number makes a greater id.
  public static func sample(_ number: UInt64) -> PointID {
    PointID(high: 0x0199_0000_0000_7000, low: 0x8000_0000_0000_0000 | number)
  }
}

extension PointQuery {
  /// A query for places by their distance from a coordinate.
  ///
  /// - Throws: what is wrong with the coordinate.
  public static func near(
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
  /// The names of the places on the first page of an answer.
  ///
  /// - Throws: ``Points/PointStoreError``.
  public func names(_ query: PointQuery) async throws -> [String] {
    try await page(matching: query).points.map(\.point.place.name)
  }
}
