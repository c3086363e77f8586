import JSONText

/// The position that stands for a GeoJSON geometry.
enum GeoJSONPosition {
  /// Returns the position of a Point, or of the first of a MultiPoint, in the middle of a LineString or inside a
  /// Polygon; of several lines or polygons, of the longest or largest. `nil` for anything else.
  static func position(of geometry: JSONValue) -> (latitude: Double, longitude: Double)? {
    guard case .string(let type)? = geometry["type"] else { return nil }
    if type == "GeometryCollection" {
      guard case .array(let geometries)? = geometry["geometries"] else { return nil }
      return geometries.lazy.compactMap { $0["type"] == .string(type) ? nil : position(of: $0) }.first
    }
    guard let coordinates = geometry["coordinates"] else { return nil }
    let point: PlanePoint? =
      switch type {
      case "Point": PlanePoint(coordinates)
      case "MultiPoint": elements(coordinates).first.flatMap(PlanePoint.init)
      case "LineString": middle(of: points(coordinates))
      case "MultiLineString": elements(coordinates).map(points).max { length(of: $0) < length(of: $1) }.flatMap(middle)
      case "Polygon": inside(rings(coordinates))
      case "MultiPolygon":
        elements(coordinates).map(rings).max { area(of: $0.first ?? []) < area(of: $1.first ?? []) }.flatMap(inside)
      default: nil
      }
    return point.map { ($0.y, $0.x) }
  }

  private static func elements(_ value: JSONValue) -> [JSONValue] {
    if case .array(let elements) = value { elements } else { [] }
  }

  private static func points(_ value: JSONValue) -> [PlanePoint] { elements(value).compactMap(PlanePoint.init) }

  private static func rings(_ value: JSONValue) -> [[PlanePoint]] { elements(value).map(points) }

  private static func length(of line: [PlanePoint]) -> Double {
    zip(line, line.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) }
  }

  /// Returns the point at half of a line's length.
  private static func middle(of line: [PlanePoint]) -> PlanePoint? {
    var rest = length(of: line) / 2
    for (start, end) in zip(line, line.dropFirst()) {
      let distance = start.distance(to: end)
      if distance >= rest, distance > 0 {
        let share = rest / distance
        return PlanePoint(x: start.x + (end.x - start.x) * share, y: start.y + (end.y - start.y) * share)
      }
      rest -= distance
    }
    return line.first
  }

  /// Returns twice the area of a ring.
  private static func area(of ring: [PlanePoint]) -> Double {
    abs(zip(ring, ring.dropFirst()).reduce(0) { $0 + ($1.0.x * $1.1.y - $1.1.x * $1.0.y) })
  }

  /// Returns a point inside a polygon: the middle of the longest of the segments in it at a few latitudes.
  private static func inside(_ rings: [[PlanePoint]]) -> PlanePoint? {
    guard let outer = rings.first, let first = outer.first else { return nil }
    let latitudes = outer.map(\.y)
    guard let south = latitudes.min(), let north = latitudes.max(), south < north else { return first }
    var best: (length: Double, point: PlanePoint)?
    // Irrational shares avoid the latitudes of corners.
    for share in [0.5000173, 0.3819660, 0.6180340, 0.2360680, 0.7639320] {
      let y = south + (north - south) * share
      let crossings = rings.flatMap { ring in
        zip(ring, ring.dropFirst()).compactMap { start, end -> Double? in
          guard (start.y > y) != (end.y > y) else { return nil }
          return start.x + (y - start.y) / (end.y - start.y) * (end.x - start.x)
        }
      }.sorted()
      for index in stride(from: 0, to: crossings.count - 1, by: 2) {
        let length = crossings[index + 1] - crossings[index]
        if length > best?.length ?? 0 {
          best = (length, PlanePoint(x: (crossings[index] + crossings[index + 1]) / 2, y: y))
        }
      }
    }
    return best?.point ?? first
  }
}

/// A position in the plane of longitude and latitude.
private struct PlanePoint {
  let x: Double
  let y: Double

  init(x: Double, y: Double) {
    self.x = x
    self.y = y
  }

  /// Creates the point of a GeoJSON position; `nil` where it is none.
  init?(_ value: JSONValue) {
    guard case .array(let numbers) = value, numbers.count >= 2, case .number(let x) = numbers[0],
      case .number(let y) = numbers[1], let x = Double(x), let y = Double(y), x.isFinite, y.isFinite
    else { return nil }
    self.init(x: x, y: y)
  }

  /// Returns the distance in degrees of latitude, with the longitude shortened as at the latitude of both.
  func distance(to other: PlanePoint) -> Double {
    let scale = max(0.01, 1 - ((y + other.y) / 2 / 90) * ((y + other.y) / 2 / 90))
    let (dx, dy) = ((other.x - x) * scale, other.y - y)
    return (dx * dx + dy * dy).squareRoot()
  }
}
