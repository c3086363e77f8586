import Geo
package import Points
import PostgresClient

extension PostgresStore {
  /// Returns the statement for the number of places that match certainly.
  ///
  /// - Parameter chord: the chord in metres up to which a place is within the radius, whatever its exact distance;
  ///   `nil` without a radius.
  static func count(_ filter: PointFilter, center: EarthCentred?, chord: Double?) -> (Statement, Parameters) {
    var values = BoundValues()
    let conditions = conditions(filter, center: center, &values) { point, values in
      chord.map { "position <<->> \(point) <= \(values.bind($0))" }
    }
    let sql = """
      SELECT count(*)
      FROM points
      \(conditions.asWhereClause)
      """
    return (Statement("count\(filter.shape)", planning: .eachTime, sql), values.parameters)
  }

  /// Returns the statement for the positions of places so near the edge of the radius that their distance decides.
  static func edge(_ filter: PointFilter, center: EarthCentred, chord: Double) -> (Statement, Parameters) {
    var values = BoundValues()
    let conditions = conditions(filter, center: center, &values) { point, values in
      "position <<->> \(point) > \(values.bind(chord))"
    }
    let sql = """
      SELECT lat, long
      FROM points
      \(conditions.asWhereClause)
      """
    return (Statement("edge\(filter.shape)", planning: .eachTime, sql), values.parameters)
  }

  private static func conditions(
    _ filter: PointFilter, center: EarthCentred?, _ values: inout BoundValues,
    onChord condition: (String, inout BoundValues) -> String?
  ) -> [String] {
    guard let center else { return filter.conditions(&values) }
    let point = values.bind(center)
    return filter.conditions(&values, center: point) + [condition(point, &values)].compactMap(\.self)
  }

  /// Returns the number of places that match. It reads all of them.
  package func count(matching query: PointQuery) async throws(PointStoreError) -> Int {
    guard !query.needsIndex else { throw .indexRequired }
    guard let proximity = query.proximity, let radius = proximity.radiusMetres,
      radius < Geodesic.greatestDistanceMetres
    else {
      var query = query
      query.proximity = nil
      return try await number(Self.count(PointFilter(query, center: nil), center: nil, chord: nil))
    }
    let center = EarthCentred(proximity.center)
    let filter = PointFilter(query, center: center)
    if filter.isEmpty { return 0 }
    let chord = max(0, Geodesic.leastChordMetres(distanceMetres: radius) - SpatialBox.slackMetres)
    let inside = chord > 0 ? try await number(Self.count(filter, center: center, chord: chord)) : 0
    var count = inside
    for row in try await read(Self.edge(filter, center: center, chord: chord > 0 ? chord : -1)).rows {
      let position: Coordinate
      do {
        position = try Coordinate(latitude: try row.double(0), longitude: try row.double(1))
      } catch {
        throw .unexpected(reason: "a place has an invalid position")
      }
      if Geodesic.distanceMetres(from: proximity.center, to: position) <= radius { count += 1 }
    }
    return count
  }

  private func number(_ query: (Statement, Parameters)) async throws(PointStoreError) -> Int {
    guard let row = try await read(query).rows.first else { throw .unexpected(reason: "a count has no row") }
    return Int(try row.integer(0))
  }
}
