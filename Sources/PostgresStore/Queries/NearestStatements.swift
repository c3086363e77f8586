import Geo
import Points
import PostgresClient

/// The SQL of a page of nearest places. Its rows are ranked again by the geodesic, which decides, so SQL only needs to
/// order by chord, and ties at a limit may be broken arbitrarily.
enum NearestStatements {
  /// Returns the statement for the nearest places by chord.
  ///
  /// - Parameter ids: the places whose long tags are included.
  static func nearest(
    _ columns: PointColumns,
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues(planning: filter.planning)
    let point = values.bind(center)
    let sql = """
      SELECT \(columns.list(including: ids, &values))
      FROM (
        SELECT \(columns)
        FROM points
        \(filter.conditions(&values, center: point).asWhereClause)
        ORDER BY position <<->> \(point)
        LIMIT \(count)
      ) AS found
      """
    let name = "\(columns.prefix(including: ids))nearest_\(count)\(filter.shape)"
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// Returns the statement that takes the nearest places by chord and drops those nearer than a minimum chord. Each row
  /// has the number of dropped places; if no other place is left, there is one row of nulls with that number.
  static func nearest(
    _ columns: PointColumns,
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    notNearerThan chord: Double,
    amongFirst depth: Int,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues(planning: filter.planning)
    let point = values.bind(center)
    let conditions = filter.conditions(&values, center: point).asWhereClause
    let sql = """
      WITH first AS MATERIALIZED (
        SELECT \(columns), position <<->> \(point) AS chord
        FROM points
        \(conditions)
        ORDER BY chord
        LIMIT \(depth)
      )
      SELECT \(columns.list(including: ids, &values)), total
      FROM (SELECT count(*) AS total FROM first) AS counted
      LEFT JOIN (
        SELECT * FROM first WHERE chord >= \(values.bind(chord)) ORDER BY chord, id LIMIT \(count)
      ) AS rest ON true
      ORDER BY chord, id
      """
    let name = "\(columns.prefix(including: ids))next_\(depth)_\(count)\(filter.shape)"
    return (Statement(name, planning: filter.planning, sql), values.parameters)
  }

  /// Returns the statement for all matches in no particular order, up to a limit.
  static func few(
    _ columns: PointColumns,
    including ids: [PointID] = [],
    _ center: EarthCentred,
    _ filter: PointFilter,
    atMost count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    let point = filter.greatestChord == nil ? nil : values.bind(center)
    let sql = """
      SELECT \(columns.list(including: ids, &values))
      FROM points
      \(filter.conditions(&values, center: point).asWhereClause)
      LIMIT \(count)
      """
    return (Statement("\(columns.prefix(including: ids))few", planning: .eachTime, sql), values.parameters)
  }

  /// Returns the statement for the nearest places in a ring by PostGIS's geodesic, whose error is below a thousandth of
  /// the tolerance. It returns at most one page of places for each spot. Spots within the tolerance of the position
  /// count twice, once for the places up to the position's id and once for those after it.
  static func ring(
    _ columns: PointColumns,
    including ids: [PointID] = [],
    _ center: (coordinate: Coordinate, position: EarthCentred),
    _ filter: PointFilter,
    chords: ClosedRange<Double>,
    cover: [SpatialBox],
    after position: PointQuery.Position,
    toleranceMetres: Double,
    perSpot: Int,
    count: Int
  ) -> (Statement, Parameters) {
    var values = BoundValues()
    let point = values.bind(center.position)
    let ring = inRing(columns, point, filter, chords: chords, cover: cover, &values)
    let origin = values.bind([center.coordinate.longitude, center.coordinate.latitude])
    let (least, greatest) = (
      values.bind(position.distanceMetres - toleranceMetres), values.bind(position.distanceMetres + toleranceMetres)
    )
    let sql = """
      SELECT \(columns.list(including: ids, &values))
      FROM (
        SELECT \(columns)
        FROM (
          SELECT *, row_number() OVER (
            PARTITION BY lat, long, distance <= \(greatest) AND id > \(values.bind(position.id)) ORDER BY id
          ) AS place
          FROM (
            SELECT DISTINCT ON (id) \(columns), ST_Distance(
              ST_SetSRID(ST_MakePoint(long, lat), 4326)::geography,
              ST_SetSRID(ST_MakePoint((\(origin))[1], (\(origin))[2]), 4326)::geography
            ) AS distance
            FROM (\(ring)) AS ring
            ORDER BY id
          ) AS measured
          WHERE distance >= \(least)
        ) AS ranked
        WHERE place <= \(values.bind(Int64(perSpot)))
        ORDER BY distance, id
        LIMIT \(values.bind(Int64(count)))
      ) AS found
      """
    return (Statement("\(columns.prefix(including: ids))ring_\(filter.shape)", sql), values.parameters)
  }

  /// Returns a subquery for the places in the boxes and between the chords. A place on the common face of two boxes
  /// occurs twice.
  private static func inRing(
    _ columns: PointColumns,
    _ point: String,
    _ filter: PointFilter,
    chords: ClosedRange<Double>,
    cover: [SpatialBox],
    _ values: inout BoundValues
  ) -> String {
    let edges = (0..<6).map { edge in
      values.bind(cover.map { edge < 3 ? $0.least[edge] : $0.greatest[edge - 3] })
    }
    let bounds = "\(values.bind(chords.lowerBound)) AND \(values.bind(chords.upperBound))"
    let conditions =
      ["position <<->> \(point) BETWEEN \(bounds)"]
      + filter.conditions(&values, center: point, skippingRegion: true)
    return """
      SELECT \(columns), position <<->> \(point) AS chord
      FROM (
        SELECT ST_SetSRID(ST_MakeLine(ST_MakePoint(x1, y1, z1), ST_MakePoint(x2, y2, z2)), 4978) AS bounds
        FROM unnest(\(edges.joined(separator: ", "))) AS edges (x1, y1, z1, x2, y2, z2)
      ) AS boxes
      JOIN points ON position &&& bounds
      \(conditions.asWhereClause)
      """
  }
}
