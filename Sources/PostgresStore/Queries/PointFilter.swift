import Geo
import JSONText
import Points

/// The conditions of a query other than nearness's order, as SQL and values.
struct PointFilter: Sendable {
  /// What every match is in; `nil` for anywhere.
  private(set) var region: SpatialBox?
  /// Whether nothing can match.
  private(set) var isEmpty = false
  private let box: BoundingBox?
  private let categories: [String]
  private let source: PointQuery.Source?
  /// The greatest chord from the centre that a match within the radius can have, metres.
  let greatestChord: Double?

  /// Takes a query's conditions.
  init(_ query: PointQuery, center: EarthCentred?) {
    box = query.box
    categories = query.categories.sorted().map(\.text)
    source = query.source
    greatestChord = query.proximity?.radiusMetres.map { radius in
      Geodesic.greatestChordMetres(distanceMetres: radius) + SpatialBox.slackMetres
    }
    if let box { region = SpatialBox(box) }
    if let center, let greatestChord {
      let ball = SpatialBox(around: center, chordMetres: greatestChord)
      if let other = region {
        region = other.intersection(ball)
        isEmpty = region == nil
      } else {
        region = ball
      }
    }
  }

  /// Whether not every place matches.
  var hasConditions: Bool { region != nil || greatestChord != nil || mayBeSelective }

  private var hasCategories: Bool { !categories.isEmpty }

  /// PostgreSQL does well to know the values when it chooses its way: some categories are rare and some are not, some
  /// boxes are small and some are not.
  var planning: Statement.Planning { mayBeSelective ? .eachTime : .once }

  /// Whether all that matters is a box so small that what is in it may be looked up and sorted, whatever else there is.
  var isSmallBox: Bool {
    guard let region, box != nil, greatestChord == nil, !hasCategories, source == nil else { return false }
    return region.diagonalMetres <= Self.smallBoxDiagonalMetres
  }

  private static let smallBoxDiagonalMetres = 20_000.0

  /// Whether few places may match, wherever they are.
  var mayBeSelective: Bool { box != nil || hasCategories || source != nil }

  /// A few letters that tell the SQL of one filter from that of another.
  var shape: String {
    var shape = ""
    if region != nil { shape += "r" }
    if greatestChord != nil { shape += "d" }
    if let box { shape += "b\(box.longitudeRanges.count)" }
    if hasCategories { shape += "c" }
    if let source { shape += source.sourceID == nil ? "s" : "i" }
    return shape
  }

  /// Those of the conditions that say how far a place may be: all of them, unless ``mayBeSelective``.
  func spatialConditions(
    _ values: inout some SpatialBinding,
    center: String?,
    skippingRegion: Bool = false
  ) -> [String] {
    var conditions: [String] = []
    if let region, !skippingRegion { conditions.append("position &&& \(values.bind(region))") }
    if let greatestChord, let center {
      conditions.append("position <<->> \(center) <= \(values.bind(greatestChord))")
    }
    return conditions
  }

  /// The edges of the box; `nil` where there is none.
  func boxCondition(_ values: inout some SpatialBinding) -> String? {
    guard let box else { return nil }
    let latitudes = "lat BETWEEN \(values.bind(box.south)) AND \(values.bind(box.north))"
    let longitudes = box.longitudeRanges.map { range in
      "long BETWEEN \(values.bind(range.lowerBound)) AND \(values.bind(range.upperBound))"
    }
    // Nearly all places of the region are in the box, but the planner would take the three for independent, expect
    // next to none and sort thousands; it doesn't see through a CASE.
    return "CASE WHEN \(latitudes) THEN \(longitudes.joined(separator: " OR ")) ELSE false END"
  }

  /// The conditions, each a Boolean expression, their values bound.
  ///
  /// - Parameters:
  ///   - center: the placeholder of the centre, where there is one.
  ///   - skippingRegion: whether the region is left to the caller.
  func conditions(
    _ values: inout BoundValues,
    center: String? = nil,
    skippingRegion: Bool = false
  ) -> [String] {
    var conditions = spatialConditions(&values, center: center, skippingRegion: skippingRegion)
    if let condition = boxCondition(&values) { conditions.append(condition) }
    if hasCategories { conditions.append("category = ANY (\(values.bind(categories)))") }
    if let source {
      conditions.append("source = \(values.bind(source.name.text))")
      if let sourceID = source.sourceID { conditions.append("source_id = \(values.bind(sourceID.text))") }
    }
    return conditions
  }
}

/// What takes values in and gives the SQL that stands for them.
protocol SpatialBinding {
  /// Binds a `float8`.
  mutating func bind(_ value: Double) -> String

  /// Binds a `geometry`: a point.
  mutating func bind(_ value: EarthCentred) -> String

  /// Binds a `geometry` that has the box for its bounds.
  mutating func bind(_ value: SpatialBox) -> String
}

/// Values, and the placeholders that stand for them in SQL.
struct BoundValues: SpatialBinding, Sendable {
  private(set) var parameters = Parameters()

  /// Binds an `int8`.
  mutating func bind(_ value: Int64) -> String {
    parameters.add(value)
    return placeholder("int8")
  }

  /// Binds a `float8`.
  mutating func bind(_ value: Double) -> String {
    parameters.add(value)
    return placeholder("float8")
  }

  /// Binds a `uuid`.
  mutating func bind(_ value: PointID) -> String {
    parameters.add(value)
    return placeholder("uuid")
  }

  /// Binds a `uuid[]`.
  mutating func bind(_ value: [PointID]) -> String {
    parameters.add(value)
    return placeholder("uuid[]")
  }

  /// Binds a `text`.
  mutating func bind(_ value: String) -> String {
    parameters.add(value)
    return placeholder("text")
  }

  /// Binds a `text[]`.
  mutating func bind(_ value: [String]) -> String {
    parameters.add(value)
    return placeholder("text[]")
  }

  /// Binds a `float8[]`.
  mutating func bind(_ value: [Double]) -> String {
    parameters.add(value)
    return placeholder("float8[]")
  }

  /// Binds a `geometry`: a point.
  mutating func bind(_ value: EarthCentred) -> String {
    parameters.add(value)
    return placeholder("geometry")
  }

  /// Binds a `geometry` that has the box for its bounds.
  mutating func bind(_ value: SpatialBox) -> String {
    parameters.add(value)
    return placeholder("geometry")
  }

  private func placeholder(_ type: String) -> String { "$\(parameters.ranges.count)::\(type)" }
}

extension Array where Element == String {
  /// The conditions as a `WHERE` clause, or nothing.
  var asWhereClause: String { isEmpty ? "" : "WHERE " + joined(separator: " AND ") }
}
