import Basics
import CQL2
import FuzzSupport
import JSONText
import Points

@testable import Geo

@main enum Main {
  static func main() { runFuzzer(fuzzShapes) }
}

private func coordinates(_ pairs: [(Double, Double)]) -> [Coordinate] {
  pairs.compactMap { try? Coordinate(latitude: $0.0, longitude: $0.1) }
}

/// Places on the vertices and edges of likely shapes, the poles and the antimeridian among them.
private let places = coordinates([(0, 0), (90, 0), (-90, 17), (51.5, -0.1), (-33, 180), (10, -180)])

/// Places beside those.
private let otherPlaces = coordinates([
  (0.123_456, 0.654_321), (89.987_654, -12.345_678), (-89.987_654, 98.765_432), (-33.333_321, 179.987_651),
  (10.121_212, -179.898_989), (5.432_198, 5.123_987), (81.232_323, 171.717_171),
])

/// Tests that any bytes are a shape or rejected, and the properties of shapes and routes.
private func fuzzShapes(_ data: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = expanded(UnsafeBufferPointer(start: data, count: count), upTo: FilterLimits().bytes)
  let text = String(decoding: bytes, as: UTF8.self)
  // The time of the tests grows with the vertices; with those of an expanded input they are still short.
  if let geometry = try? FilterGeometry(text: text) {
    testEncodings(of: geometry)
    if let area = try? GeodesicArea(geometry) { test(area) }
  }
  if let route = try? GeodesicRoute(text: text) { test(route) }
  return 0
}

/// Tests that a geometry is parsed from both of its encodings as the same.
private func testEncodings(of geometry: FilterGeometry) {
  let limits = FilterLimits(bytes: 1 << 24)
  let expression = FilterExpression.geometry(geometry)
  let again = try? FilterGeometry(text: expression.text, limits: limits)
  precondition(again == geometry, "the text of a geometry is another geometry")
  // A box has no GeoJSON.
  if case .box = geometry { return }
  let json = (try? JSONReader.value(of: expression.json)).flatMap { try? FilterGeometry(geoJSON: $0) }
  precondition(json == geometry, "the GeoJSON of a geometry is another geometry")
}

/// Tests that the relation of bounds to an area is that of the places in them, and that the direction of a ring and the
/// position at which it starts do not matter.
private func test(_ area: GeodesicArea) {
  precondition(area.byteCount < 64 << 20, "a short text has a large index")
  for place in places + otherPlaces {
    let relation = area.relation(
      west: place.longitude, south: place.latitude, east: place.longitude, north: place.latitude)
    precondition(relation == .mixed || (relation == .inside) == area.contains(place), "bounds contradict a place")
  }
  for place in otherPlaces {
    // Up to the rounding of the corners.
    let (east, north) = (min(place.longitude + 5, 180), min(place.latitude + 5, 90))
    let relation = area.relation(west: place.longitude, south: place.latitude, east: east, north: north)
    guard relation != .mixed else { continue }
    for share in [0, 0.25, 0.5, 1] {
      let inner = try? Coordinate(
        latitude: place.latitude + share * (north - place.latitude),
        longitude: place.longitude + share * share * (east - place.longitude))
      guard let inner else { fatalError("no place in bounds") }
      precondition((relation == .inside) == area.contains(inner), "bounds contradict a place in them")
    }
  }
  let rings = area.polygons.flatMap(\.self)
  guard rings.reduce(0, { $0 + $1.count }) <= 200 else { return }
  let others = area.polygons.map { $0.map(otherForm) }
  // Of a ring that halves the earth, rounding decides which half is the smaller.
  let hasHalves = rings.contains { ring in
    func measuredRing(_ ring: [Coordinate]) -> AreaRing? { try? AreaRing(ring, after: 0, maximumMetres: .infinity) }
    guard let one = measuredRing(ring), let other = measuredRing(otherForm(ring)) else { return false }
    return one.containsNorthPole != other.containsNorthPole
  }
  if hasHalves { return }
  guard let other = try? GeodesicArea(polygons: others) else { fatalError("a ring has no other direction") }
  for place in otherPlaces {
    precondition(area.contains(place) == other.contains(place), "the direction of a ring matters")
  }
}

/// Returns a ring in the other direction, from its second position on.
private func otherForm(_ ring: [Coordinate]) -> [Coordinate] {
  let open = ring.first == ring.last ? Array(ring.dropLast()) : ring
  return Array((open.dropFirst() + open.prefix(1)).reversed())
}

/// Tests that the nearest position of a route is within the radius and on it, and that no vertex is nearer.
private func test(_ route: GeodesicRoute) {
  precondition(route.byteCount < 64 << 20, "a short text has a large index")
  let radius = 500_000.0
  for place in places + otherPlaces {
    let position = EarthCentred(place)
    let vertices =
      route.coordinates.prefix(200)
      .map { Geodesic.distanceMetres(from: $0, at: EarthCentred($0), to: place, at: position) }.min() ?? .infinity
    guard let nearest = route.nearest(to: place, at: position, within: radius) else {
      precondition(vertices > radius - 0.01, "a vertex is near, but the route is not")
      continue
    }
    precondition(nearest.distanceMetres <= min(radius, vertices + 0.01), "a vertex is nearer than the nearest position")
    precondition((0...route.metres).contains(nearest.alongMetres), "the nearest position is beyond an end")
    precondition(
      nearest.alongMetres >= route.metres(toPiece: nearest.piece)
        && nearest.alongMetres <= route.metres(toPiece: nearest.piece + 1), "the nearest position is on another piece")
    let isNear = route.isNear(
      least: position, greatest: position, within: radius, pieces: nearest.piece..<nearest.piece + 1)
    precondition(isNear, "a near place is outside of the bounds")
  }
}
