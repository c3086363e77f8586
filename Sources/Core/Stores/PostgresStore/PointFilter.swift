import Basics
import Geo
import JSONText
import Points
import PostgresClient

/// The filter conditions of a query as SQL and values, without the order by distance.
struct PointFilter: Sendable {
  /// A box that contains every match; `nil` for the whole earth.
  private(set) var region: SpatialBox?
  /// A Boolean value that indicates whether nothing can match.
  private(set) var isEmpty = false
  private let box: BoundingBox?
  private let categories: [String]
  private let excludedCategories: [String]
  private let source: PointQuery.Source?
  private let ids: [PointID]
  /// The maximum chord from the centre to a match within the radius, in metres.
  let greatestChord: Double?

  /// Creates the filter of a query.
  init(_ query: PointQuery, center: EarthCentred?) {
    box = query.box
    categories = query.categories.sorted().map(\.text)
    excludedCategories = query.excludedCategories.sorted().map(\.text)
    source = query.source
    ids = query.ids
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

  /// A Boolean value that indicates whether the filter excludes any place.
  var hasConditions: Bool { region != nil || greatestChord != nil || mayBeSelective }

  private var hasCategories: Bool { !categories.isEmpty }
  private var excludesCategories: Bool { !excludedCategories.isEmpty }

  /// The time of planning. The planner needs the values where categories differ in frequency and boxes in size.
  var planning: Statement.Planning { mayBeSelective ? .eachTime : .once }

  /// A Boolean value that indicates whether few places may match, independent of their distance.
  var mayBeSelective: Bool { box != nil || hasCategories || excludesCategories || source != nil || !ids.isEmpty }

  /// A short identifier of the filter's SQL, for statement names.
  var shape: String {
    var shape = ""
    if region != nil { shape += "r" }
    if greatestChord != nil { shape += "d" }
    if let box { shape += "b\(box.longitudeRanges.count)" }
    if hasCategories { shape += "c" }
    if excludesCategories { shape += "e" }
    if let source { shape += source.sourceID == nil ? "s" : "i" }
    if !ids.isEmpty { shape += "n" }
    return shape
  }

  /// Returns the conditions as Boolean expressions and binds their values.
  ///
  /// - Parameters:
  ///   - center: the placeholder of the centre, if there is one.
  ///   - skippingRegion: a Boolean value that indicates whether the caller adds the condition on the region.
  func conditions(
    _ values: inout BoundValues,
    center: String? = nil,
    skippingRegion: Bool = false
  ) -> [String] {
    var conditions: [String] = []
    if let region, !skippingRegion { conditions.append("position &&& \(values.bind(region))") }
    if let greatestChord, let center {
      conditions.append("position <<->> \(center) <= \(values.bind(greatestChord))")
    }
    if let box {
      let latitudes = "lat BETWEEN \(values.bind(box.south)) AND \(values.bind(box.north))"
      let longitudes = box.longitudeRanges.map { range in
        "long BETWEEN \(values.bind(range.lowerBound)) AND \(values.bind(range.upperBound))"
      }
      // Nearly all places of the region are in the box, but the planner would treat the three conditions as independent,
      // expect almost no rows and sort thousands. It doesn't look inside a CASE.
      conditions.append("CASE WHEN \(latitudes) THEN \(longitudes.joined(separator: " OR ")) ELSE false END")
    }
    if hasCategories { conditions.append("category = ANY (\(values.bind(categories)))") }
    if excludesCategories {
      conditions.append("(category IS NULL OR category <> ALL (\(values.bind(excludedCategories))))")
    }
    if let source {
      conditions.append("source = \(values.bind(source.name.text))")
      if let sourceID = source.sourceID { conditions.append("source_id = \(values.bind(sourceID.text))") }
    }
    if !ids.isEmpty { conditions.append("id = ANY (\(values.bind(ids)))") }
    return conditions
  }
}

/// The values of a statement, bound to placeholders.
struct BoundValues: Sendable {
  private(set) var parameters = Parameters()
  private let planning: Statement.Planning

  /// - Parameter planning: the time of planning of the statement. With ``Statement/Planning/once`` the values are hidden
  ///   from the planner in subqueries, which it doesn't inspect: it would consider a plan for these values cheaper than
  ///   the generic one, and plan each execution anew.
  init(planning: Statement.Planning = .eachTime) { self.planning = planning }

  mutating func bind(_ value: Int64) -> String { bind("int8") { $0.add(value) } }
  mutating func bind(_ value: Double) -> String { bind("float8") { $0.add(value) } }
  mutating func bind(_ value: PointID) -> String { bind("uuid") { $0.add(value) } }
  mutating func bind(_ value: [PointID]) -> String { bind("uuid[]") { $0.add(value) } }
  mutating func bind(_ value: String) -> String { bind("text") { $0.add(value) } }
  mutating func bind(_ value: [String]) -> String { bind("text[]") { $0.add(value) } }
  mutating func bind(_ value: [Double]) -> String { bind("float8[]") { $0.add(value) } }
  mutating func bind(_ value: EarthCentred) -> String { bind("geometry") { $0.add(value) } }
  mutating func bind(_ value: SpatialBox) -> String { bind("geometry") { $0.add(value) } }

  private mutating func bind(_ type: String, _ add: (inout Parameters) -> Void) -> String {
    add(&parameters)
    let value = "$\(parameters.ranges.count)::\(type)"
    // With a cast, or `ANY` would take an array's subquery for a set of rows.
    return planning == .once ? "(SELECT \(value))::\(type)" : value
  }
}

extension Array where Element == String {
  /// The conditions as a `WHERE` clause; empty without conditions.
  var asWhereClause: String { isEmpty ? "" : "WHERE " + joined(separator: " AND ") }
}

/// The encoding of geometries as EWKB, PostGIS's binary format: the byte order, a type with flags, the reference
/// system, the coordinates.
extension Parameters {
  private static let hasZ: UInt32 = 0x8000_0000
  private static let hasReferenceSystem: UInt32 = 0x2000_0000
  /// The EPSG code of earth-centred x, y, z on WGS 84.
  private static let referenceSystem: UInt32 = 4978

  /// Adds a `geometry`: a point.
  mutating func add(_ position: EarthCentred) {
    var bytes = Self.header(type: 1)
    Self.append(SIMD3(position.x, position.y, position.z), to: &bytes)
    add(bytes: bytes)
  }

  /// Adds a `geometry` whose bounds are the box: the line between two opposite corners.
  mutating func add(_ box: SpatialBox) {
    var bytes = Self.header(type: 2)
    withUnsafeBytes(of: UInt32(2).littleEndian) { bytes.append(contentsOf: $0) }
    Self.append(box.least, to: &bytes)
    Self.append(box.greatest, to: &bytes)
    add(bytes: bytes)
  }

  private static func header(type: UInt32) -> [UInt8] {
    var bytes: [UInt8] = [1]  // least significant byte first
    withUnsafeBytes(of: (type | hasZ | hasReferenceSystem).littleEndian) { bytes.append(contentsOf: $0) }
    withUnsafeBytes(of: referenceSystem.littleEndian) { bytes.append(contentsOf: $0) }
    return bytes
  }

  private static func append(_ position: SIMD3<Double>, to bytes: inout [UInt8]) {
    for axis in 0..<3 {
      withUnsafeBytes(of: position[axis].bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }
  }
}
