import CQL2
import FuzzSupport
import Geo
import Points

@main enum Main {
  static func main() { runFuzzer(fuzzShapes) }
}

private let places = [(0.0, 0.0), (90, 0), (-90, 17), (51.5, -0.1), (-33, 180), (10, -180)].compactMap {
  try? Coordinate(latitude: $0.0, longitude: $0.1)
}

/// Tests that any bytes are a shape or rejected, that the relation of bounds to an area is that of the places in them,
/// and that the nearest position of a route is within the radius and on it.
private func fuzzShapes(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let text = String(decoding: UnsafeBufferPointer(start: data, count: count), as: UTF8.self)
  let limits = FilterLimits(vertices: 200)
  if let geometry = try? FilterGeometry(text: text, limits: limits), let area = try? GeodesicArea(geometry) {
    precondition(area.byteCount < 64 << 20, "a short text has a large index")
    for place in places {
      let relation = area.relation(
        west: place.longitude, south: place.latitude, east: place.longitude, north: place.latitude)
      precondition(relation == .mixed || (relation == .inside) == area.contains(place), "bounds contradict a place")
    }
  }
  if let route = try? GeodesicRoute(text: text) {
    for place in places {
      let position = EarthCentred(place)
      guard let nearest = route.nearest(to: place, at: position, within: 500_000) else { continue }
      precondition(nearest.distanceMetres <= 500_000 && (0...route.metres).contains(nearest.alongMetres))
      let isNear = route.isNear(
        least: position, greatest: position, within: 500_000, pieces: nearest.piece..<nearest.piece + 1)
      precondition(isNear, "a near place is outside of the bounds")
    }
  }
  return 0
}
