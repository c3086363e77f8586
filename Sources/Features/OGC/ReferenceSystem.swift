import APIDescription
import Basics
import CQL2
import Geo
import LocationsAPI

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A coordinate reference system of OGC API Features, part 2 (OGC 18-058r1), by its URI.
enum ReferenceSystem: String, CaseIterable {
  /// WGS 84, longitude before latitude.
  case crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

  /// WGS 84, latitude before longitude.
  case epsg4326 = "http://www.opengis.net/def/crs/EPSG/0/4326"

  /// Web Mercator, easting before northing in metres.
  case epsg3857 = "http://www.opengis.net/def/crs/EPSG/0/3857"

  /// The value of the header field `Content-Crs`.
  var fieldValue: String { "<\(rawValue)>" }

  /// Creates the system of a value of the header field `Content-Crs`; `nil` where there is none.
  init?(fieldValue: String) {
    let text = fieldValue[...].trimmingBlanks
    guard text.hasPrefix("<"), text.hasSuffix(">") else { return nil }
    self.init(rawValue: String(text.dropFirst().dropLast()))
  }

  /// A position in the order of the system's axes.
  typealias Position = (first: Double, second: Double)

  func position(of coordinate: Coordinate) -> Position {
    switch self {
    case .crs84: (coordinate.longitude, coordinate.latitude)
    case .epsg4326: (coordinate.latitude, coordinate.longitude)
    case .epsg3857:
      (
        coordinate.longitude * .pi / 180 * WGS84.equatorialRadius,
        asinh(tan(coordinate.latitude * .pi / 180)) * WGS84.equatorialRadius
      )
    }
  }

  /// Returns the longitude and latitude of a position, which may be beyond their ranges.
  func degrees(first: Double, second: Double) -> (longitude: Double, latitude: Double) {
    switch self {
    case .crs84: (first, second)
    case .epsg4326: (second, first)
    case .epsg3857:
      (
        first / WGS84.equatorialRadius * 180 / .pi, atan(sinh(second / WGS84.equatorialRadius)) * 180 / .pi
      )
    }
  }

  /// Returns the box of its least and greatest position; `nil` where the least latitude is above the greatest.
  ///
  /// Edges beyond the ranges of longitude and latitude are moved to them. A box whose first longitude is greater than
  /// the other crosses the antimeridian.
  func box(least: Position, greatest: Position) -> BoundingBox? {
    let (first, last) = (
      degrees(first: least.first, second: least.second), degrees(first: greatest.first, second: greatest.second)
    )
    func clamp(_ degrees: Double, _ limits: ClosedRange<Double>) -> Double {
      min(max(degrees, limits.lowerBound), limits.upperBound)
    }
    return try? BoundingBox(
      west: clamp(first.longitude, Coordinate.longitudes), south: clamp(first.latitude, Coordinate.latitudes),
      east: clamp(last.longitude, Coordinate.longitudes), north: clamp(last.latitude, Coordinate.latitudes))
  }
}

extension ReferenceSystem {
  /// Returns the expression with its geometries in longitude and latitude instead of this system.
  ///
  /// The positions are converted, and the edges between them are straight lines in longitude and latitude.
  func inDegrees(_ expression: FilterExpression) -> FilterExpression {
    switch expression {
    case .geometry(let geometry): .geometry(inDegrees(geometry))
    case .operation(let operation, let operands): .operation(operation, operands.map(inDegrees))
    case .function(let name, let operands): .function(name, operands.map(inDegrees))
    case .array(let elements): .array(elements.map(inDegrees))
    case .string, .number, .boolean, .date, .timestamp, .interval, .property: expression
    }
  }

  private func inDegrees(_ geometry: FilterGeometry) -> FilterGeometry {
    switch geometry {
    case .simple(let part): return .simple(inDegrees(part))
    case .collection(let parts): return .collection(parts.map(inDegrees))
    case .box(let box):
      let least = degrees(first: box.west, second: box.south)
      let greatest = degrees(first: box.east, second: box.north)
      return .box(
        .init(
          west: least.longitude, south: min(least.latitude, greatest.latitude), east: greatest.longitude,
          north: max(least.latitude, greatest.latitude), heights: box.heights))
    }
  }

  private func inDegrees(_ part: FilterGeometry.Simple) -> FilterGeometry.Simple {
    func convert(_ positions: [FilterGeometry.Position]) -> [FilterGeometry.Position] {
      positions.map { position in
        let converted = degrees(first: position.x, second: position.y)
        return .init(x: converted.longitude, y: converted.latitude, z: position.z)
      }
    }
    switch part {
    case .point(let position): return .point(convert([position])[0])
    case .lineString(let positions): return .lineString(convert(positions))
    case .polygon(let rings): return .polygon(rings.map(convert))
    case .multiPoint(let positions): return .multiPoint(convert(positions))
    case .multiLineString(let lines): return .multiLineString(lines.map(convert))
    case .multiPolygon(let polygons): return .multiPolygon(polygons.map { $0.map(convert) })
    }
  }
}

// MARK: Descriptions

extension HeaderDescription {
  static let featureCRS = HeaderDescription(
    "Content-Crs", "Reference system of the positions in the body; CRS84 without it.",
    .contentReferenceSystem)

  static let contentCRS = HeaderDescription(
    "Content-Crs", "Reference system of the positions in the response.",
    .contentReferenceSystem)
}

extension Schema {
  static let referenceSystem = enumeration(ReferenceSystem.allCases.map(\.rawValue))
    .named("ReferenceSystem", order: 780)

  fileprivate static let contentReferenceSystem = enumeration(ReferenceSystem.allCases.map(\.fieldValue))
    .named("ContentReferenceSystem", order: 790)
}
