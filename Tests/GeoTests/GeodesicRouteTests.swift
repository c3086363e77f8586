import Foundation
import Testing

@testable import Geo

@Suite struct GeodesicRouteTests {
  @Test(arguments: [1, 2, 3] as [UInt64])
  func nearestPositionIsThatOfASearchAlongTheLine(seed: UInt64) throws {
    var shapes = RandomShapes(seed: seed)
    var found = 0
    for _ in 0..<20 {
      let start = try shapes.center()
      let degrees = pow(10, shapes.number(in: -3...0.8))
      let line = try shapes.line(from: start, degrees: degrees, vertices: shapes.integer(in: 2...6))
      let route = try GeodesicRoute(line)
      let reference = ReferenceLine(try GeodesicWaypoints(line))
      let radius = degrees * 111_000 * shapes.number(in: 0.01...1)
      for _ in 0..<10 {
        let place = try shapes.place(around: line[shapes.integer(in: 0...line.count - 1)], degrees: radius / 100_000)
        let expected = reference.distance(to: place)
        let nearest = route.nearest(to: place, at: EarthCentred(place), within: radius)

        if abs(expected - radius) < 0.01 { continue }
        #expect((nearest != nil) == (expected < radius), "\(place) from \(line)")
        guard let nearest else { continue }
        found += 1
        #expect(abs(nearest.distanceMetres - expected) < 0.01, "\(place) from \(line)")
        // The position at the length has the distance.
        let rest = nearest.alongMetres - route.metres(toPiece: nearest.piece)
        let foot = reference.place(onPiece: nearest.piece, at: rest)
        #expect(abs(Geodesic.distanceMetres(from: foot, to: place) - nearest.distanceMetres) < 0.01)
        let piece = route.metres(toPiece: nearest.piece)...route.metres(toPiece: nearest.piece + 1)
        #expect(piece.contains(nearest.alongMetres))
      }
    }
    #expect(found > 50)
  }

  /// A line whose nearest position is found by comparing distances of positions on it.
  private struct ReferenceLine {
    let waypoints: GeodesicWaypoints

    init(_ waypoints: GeodesicWaypoints) {
      self.waypoints = waypoints
    }

    /// Returns the position on the ellipsoid over a share of a piece's chord, found by Newton's method.
    private func place(onPiece piece: Int, share: Double) -> Coordinate {
      let (a, b) = (waypoints.positions[piece], waypoints.positions[piece + 1])
      let up = EarthCentred(x: a.x + b.x, y: a.y + b.y, z: (a.z + b.z) / (1 - WGS84.eccentricitySquared)).normalized
      let (x, y, z) = (a.x + share * (b.x - a.x), a.y + share * (b.y - a.y), a.z + share * (b.z - a.z))
      var height = 0.0
      for _ in 0..<5 {
        let (u, v) = (WGS84.equatorialRadius, WGS84.polarRadius)
        let (px, py, pz) = ((x + height * up.x) / u, (y + height * up.y) / u, (z + height * up.z) / v)
        let slope = 2 * (px * up.x / u + py * up.y / u + pz * up.z / v)
        height -= (px * px + py * py + pz * pz - 1) / slope
      }
      return EarthCentred(x: x + height * up.x, y: y + height * up.y, z: z + height * up.z).coordinate
    }

    /// Returns the place at a length from the start of a piece, metres.
    func place(onPiece piece: Int, at metres: Double) -> Coordinate {
      var (low, high) = (0.0, 1.0)
      for _ in 0..<45 {
        let middle = (low + high) / 2
        let length = Geodesic.distanceMetres(
          from: waypoints.coordinates[piece], to: place(onPiece: piece, share: middle))
        if length < metres { low = middle } else { high = middle }
      }
      return place(onPiece: piece, share: high)
    }

    func distance(to place: Coordinate) -> Double {
      func distance(_ piece: Int, _ share: Double) -> Double {
        Geodesic.distanceMetres(from: self.place(onPiece: piece, share: share), to: place)
      }
      // The three pieces with the nearest of a few positions, by ternary search.
      let pieces = (0..<waypoints.positions.count - 1).map { piece in
        (piece: piece, distance: [0, 0.25, 0.5, 0.75, 1].map { distance(piece, $0) }.min() ?? .infinity)
      }
      return pieces.sorted { $0.distance < $1.distance }.prefix(3).map { piece, _ in
        var (low, high) = (0.0, 1.0)
        for _ in 0..<50 {
          let (first, second) = (low + (high - low) / 3, high - (high - low) / 3)
          if distance(piece, first) < distance(piece, second) { high = second } else { low = first }
        }
        return min(distance(piece, (low + high) / 2), distance(piece, 0), distance(piece, 1))
      }.min() ?? .infinity
    }
  }

  @Test func placesAlongALineAreInItsOrder() throws {
    let line = [(0.0, 0.0), (10, 10), (20, 10), (20, 0)].compactMap {
      try? Coordinate(latitude: $0.1, longitude: $0.0)
    }
    let route = try GeodesicRoute(line)
    let waypoints = try GeodesicWaypoints(line).coordinates

    let lengths = waypoints.compactMap { place in
      route.nearest(to: place, at: EarthCentred(place), within: 0.001)?.alongMetres
    }

    #expect(lengths.count == waypoints.count)
    #expect(zip(lengths, lengths.dropFirst()).allSatisfy { $0 < $1 })
    #expect(lengths.last == route.metres)
  }

  @Test func firstOfTwoNearestPositionsCounts() throws {
    let (start, end) = (try Coordinate(latitude: 0, longitude: 0), try Coordinate(latitude: 0.5, longitude: 0.5))
    let route = try GeodesicRoute([start, end, start])
    let place = try Coordinate(latitude: 0.2, longitude: 0.21)

    let nearest = try #require(route.nearest(to: place, at: EarthCentred(place), within: 10_000))

    #expect(nearest.piece == 0)
    #expect(nearest.alongMetres < route.metres / 2)
  }

  @Test func boundsOfNearPlacesAreNear() throws {
    var shapes = RandomShapes(seed: 9)
    var (near, far) = (0, 0)
    for _ in 0..<100 {
      let start = try shapes.center()
      let degrees = pow(10, shapes.number(in: -3...1))
      let route = try GeodesicRoute(
        try shapes.line(from: start, degrees: degrees, vertices: shapes.integer(in: 2...30)))
      let radius = degrees * 10_000
      for _ in 0..<50 {
        let place = try shapes.place(around: start, degrees: degrees * 3)
        let position = EarthCentred(place)
        let size = radius * shapes.number(in: 0...1)
        let isNear = route.isNear(
          least: EarthCentred(x: position.x - size, y: position.y - 1, z: position.z),
          greatest: EarthCentred(x: position.x, y: position.y + size, z: position.z + 2), within: radius,
          pieces: 0..<route.pieceCount)
        if let nearest = route.nearest(to: place, at: position, within: radius) {
          #expect(isNear)
          #expect(
            route.isNear(
              least: position, greatest: position, within: radius, pieces: nearest.piece..<nearest.piece + 1))
        }
        if isNear { near += 1 } else { far += 1 }
      }
    }
    #expect(near > 500 && far > 500)
  }

  @Test func polylineOfThePublishedExampleIsDecoded() throws {
    let coordinates = try EncodedPolyline.coordinates(of: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", maximumCount: 3)

    #expect(coordinates.map(\.latitude) == [38.5, 40.7, 43.252])
    #expect(coordinates.map(\.longitude) == [-120.2, -120.95, -126.453])
    #expect(throws: EncodedPolylineError(character: 27, reason: "expected at most 2 positions")) {
      try EncodedPolyline.coordinates(of: "_p~iF~ps|U_ulLnnqC_mqNvxq`@", maximumCount: 2)
    }
  }

  @Test(arguments: [
    ("_p~iF", 6), ("_p~iF~ps|", 10), ("_p~iF ps|U", 6), ("____________", 7), ("_p~iF~ps|U_p~iF_____", 21),
  ])
  func textThatIsNoPolylineIsRejectedWithItsPosition(text: String, character: Int) {
    let error = #expect(throws: EncodedPolylineError.self) {
      try EncodedPolyline.coordinates(of: text, maximumCount: 10)
    }

    #expect(error?.character == character, "\(error.debugDescription)")
  }
}
