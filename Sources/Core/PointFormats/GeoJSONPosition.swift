import Geo
package import JSONText

/// The position that stands for a GeoJSON geometry.
package enum GeoJSONPosition {
  /// Returns the position of a Point, or of the first of a MultiPoint, in the middle of a LineString or of the longest
  /// of several, or inside Polygons. `nil` for anything else, and for lines and areas with a position that is out of
  /// range.
  package static func position(of geometry: JSONValue) -> (latitude: Double, longitude: Double)? {
    guard case .string(let type)? = geometry["type"] else { return nil }
    if type == "GeometryCollection" {
      guard case .array(let geometries)? = geometry["geometries"] else { return nil }
      return geometries.lazy.compactMap { $0["type"] == .string(type) ? nil : position(of: $0) }.first
    }
    guard let coordinates = geometry["coordinates"] else { return nil }
    return switch type {
    case "Point": degrees(coordinates)
    case "MultiPoint": elements(coordinates).first.flatMap(degrees)
    case "LineString": middle(ofLongest: [points(coordinates)])
    case "MultiLineString": middle(ofLongest: elements(coordinates).map(points))
    case "Polygon": inside([elements(coordinates).map(points)])
    case "MultiPolygon": inside(elements(coordinates).map { elements($0).map(points) })
    default: nil
    }
  }

  private static func elements(_ value: JSONValue) -> [JSONValue] {
    if case .array(let elements) = value { elements } else { [] }
  }

  /// Returns the numbers of a position, in whichever range; `nil` if it is none.
  private static func degrees(_ value: JSONValue) -> (latitude: Double, longitude: Double)? {
    guard case .array(let numbers) = value, numbers.count >= 2, case .number(let x) = numbers[0],
      case .number(let y) = numbers[1], let longitude = Double(x), let latitude = Double(y), longitude.isFinite,
      latitude.isFinite
    else { return nil }
    return (latitude, longitude)
  }

  /// Returns the points of a line or ring; `nil` where one is no position on the earth.
  private static func points(_ value: JSONValue) -> [PlanePoint]? {
    var points: [PlanePoint] = []
    for element in elements(value) {
      guard let (latitude, longitude) = degrees(element), Coordinate.latitudes.contains(latitude),
        Coordinate.longitudes.contains(longitude)
      else { return nil }
      points.append(PlanePoint(latitude: latitude, longitude: longitude))
    }
    return points
  }

  private static func middle(ofLongest lines: [[PlanePoint]?]) -> (latitude: Double, longitude: Double)? {
    var longest: (length: Double, path: [PlanePoint])?
    for line in lines {
      guard let line else { return nil }
      let path = Plane.path(line).points
      let length = Plane.length(ofLine: path)
      if length > longest?.length ?? -1 { longest = (length, path) }
    }
    return longest.flatMap { Plane.middle(ofLine: $0.path) }?.degrees
  }

  /// Returns a point inside polygons, the first ring of each of which is its outer one; a corner where they are empty.
  private static func inside(_ polygons: [[[PlanePoint]?]]) -> (latitude: Double, longitude: Double)? {
    var shape = AreaShape()
    for rings in polygons {
      for (index, ring) in rings.enumerated() {
        guard let ring else { return nil }
        shape.add(ring, isHole: index > 0)
      }
    }
    return (shape.pointInside() ?? polygons.first?.first??.first)?.degrees
  }
}
