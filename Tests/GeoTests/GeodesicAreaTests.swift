import Foundation
import Testing

@testable import Geo

@Suite struct GeodesicAreaTests {
  private static func area(
    _ polygons: [[[(Double, Double)]]], maximumMetres: Double? = nil
  ) throws -> GeodesicArea {
    try GeodesicArea(
      polygons: polygons.map { rings in
        try rings.map { ring in try ring.map { try Coordinate(latitude: $0.1, longitude: $0.0) } }
      }, maximumMetres: maximumMetres)
  }

  struct Example: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let polygons: [[[(Double, Double)]]]
    let inside: [(Double, Double)]
    let outside: [(Double, Double)]
  }

  static let examples = [
    Example(
      testDescription: "a box whose northern edge is a geodesic", polygons: [[[(0, 0), (10, 0), (10, 10), (0, 10)]]],
      inside: [(5, 5), (0.001, 0.001), (5, 10.03), (9.999, 9.9)],
      outside: [(5, 10.05), (-0.001, 5), (10.001, 5), (5, -0.001), (185, -5), (5, 90), (5, -90)]
        .map { ($0.0 > 180 ? $0.0 - 360 : $0.0, $0.1) }),
    Example(
      testDescription: "across the antimeridian", polygons: [[[(170, 0), (-170, 0), (-170, 10), (170, 10), (170, 0)]]],
      inside: [(180, 5), (-180, 5), (175, 5), (-171, 9)], outside: [(0, 5), (169, 5), (-169, 5), (180, -1)]),
    Example(
      testDescription: "around the north pole", polygons: [[[(-180, 60), (-90, 60), (0, 60), (90, 60), (180, 60)]]],
      inside: [(0, 90), (77, 90), (45, 70), (0, 60.001), (180, 61), (-180, 61)],
      outside: [(45, 61), (0, 59.9), (180, 59.9), (0, -90), (33, -70)]),
    Example(
      testDescription: "around the south pole, westwards", polygons: [[[(120, -80), (0, -80), (-120, -80)]]],
      inside: [(0, -90), (60, -86), (0, -80.001)], outside: [(60, -83), (60, -80), (0, -79.9), (0, 90), (120, 80)]),
    Example(
      testDescription: "with a vertex at the north pole", polygons: [[[(0, 90), (0, 80), (90, 80), (0, 90)]]],
      inside: [(45, 85), (1, 89.9), (89, 81)], outside: [(-45, 85), (45, 79), (180, 89.9), (-1, 85)]),
    Example(
      testDescription: "with a vertex at the south pole, given last", polygons: [[[(20, -80), (40, -80), (7, -90)]]],
      inside: [(30, -85), (21, -81)], outside: [(10, -85), (-150, -89), (30, -79)]),
    Example(
      testDescription: "with a hole",
      polygons: [[[(0, 0), (9, 0), (9, 9), (0, 9)], [(3, 3), (6, 3), (6, 6), (3, 6)]]],
      inside: [(1, 1), (4, 8)], outside: [(4, 4), (5.9, 5.9), (10, 4)]),
    Example(
      testDescription: "two that overlap",
      polygons: [[[(0, 0), (4, 0), (4, 4), (0, 4)]], [[(2, 2), (6, 2), (6, 6), (2, 6)]]],
      inside: [(1, 1), (3, 3), (5, 5)], outside: [(1, 5), (5, 1)]),
    Example(
      testDescription: "two, one around a pole",
      polygons: [[[(0, 80), (120, 80), (-120, 80)]], [[(0, 0), (1, 0), (1, 1), (0, 1)]]],
      inside: [(0, 90), (0.5, 0.5), (60, 89), (-170, 88)], outside: [(60, 80), (0.5, 2), (-170, 0)]),
    Example(
      testDescription: "a hole around a pole",
      polygons: [[[(0, 60), (120, 60), (-120, 60)], [(0, 80), (120, 80), (-120, 80)]]],
      inside: [(0, 70), (60, 77)], outside: [(0, 90), (60, 89), (0, 59)]),
    Example(
      testDescription: "positions that repeat", polygons: [[[(0, 0), (0, 0), (5, 0), (5, 5), (5, 5), (0, 5), (0, 0)]]],
      inside: [(1, 1)], outside: [(6, 1)]),
  ]

  @Test(arguments: examples)
  func placesAreInOrOutside(example: Example) throws {
    let area = try Self.area(example.polygons)

    for (longitude, latitude) in example.inside {
      #expect(area.contains(try Coordinate(latitude: latitude, longitude: longitude)), "\(longitude) \(latitude)")
    }
    for (longitude, latitude) in example.outside {
      #expect(!area.contains(try Coordinate(latitude: latitude, longitude: longitude)), "\(longitude) \(latitude)")
    }
  }

  @Test func shapesWithoutGeodesicsAreRejected() {
    #expect(throws: GeodesicShapeError.tooFewPositions) { try Self.area([[[(0, 0), (1, 1), (0, 0)]]]) }
    #expect(throws: GeodesicShapeError.self) { try Self.area([[[(0, 0), (180, 0), (90, 50)]]]) }
    let long = (0..<2_000).map { $0.isMultiple(of: 2) ? (0.0, -50.0) : (100.0, 50.0) }
    #expect(throws: GeodesicShapeError.tooLong(maximumKilometres: 2_000_000)) { try Self.area([[long]]) }
  }

  @Test func maximumLengthIsThatOfAllRingsTogether() throws {
    // 100 edges of 14,500 km.
    let ring = (0..<100).map { index in
      let shift = Double(index) / 100
      return index.isMultiple(of: 2) ? (shift, -50.0) : (100 + shift, 50.0)
    }

    _ = try Self.area([[ring]])

    let error = GeodesicShapeError.tooLong(maximumKilometres: 2_000_000)
    #expect(throws: error) { try Self.area([[ring], [ring]]) }
    #expect(throws: error) { try Self.area([[ring, ring]]) }
  }

  /// Returns a Boolean value that indicates whether a place is inside by counting how often the great circle to a place
  /// outside crosses the edges, on the sphere of latitudes.
  private static func isInside(_ place: Coordinate, outside: Coordinate, _ rings: [GeodesicWaypoints]) -> Bool {
    func vector(_ coordinate: Coordinate) -> EarthCentred {
      let (latitude, longitude) = (Angle(degrees: coordinate.latitude), Angle(degrees: coordinate.longitude))
      return EarthCentred(
        x: latitude.cosine * longitude.cosine, y: latitude.cosine * longitude.sine, z: latitude.sine)
    }
    let (p, q) = (vector(place), vector(outside))
    let path = p.cross(q)
    var isInside = false
    for ring in rings {
      let vertices = ring.coordinates.map(vector)
      for (a, b) in zip(vertices, vertices.dropFirst()) {
        let edge = a.cross(b)
        guard (path.dot(a) < 0) != (path.dot(b) < 0), (edge.dot(p) < 0) != (edge.dot(q) < 0) else { continue }
        let crossing = path.cross(edge)
        let sign: Double = crossing.dot(EarthCentred(x: a.x + b.x, y: a.y + b.y, z: a.z + b.z)) < 0 ? -1 : 1
        let middle = EarthCentred(x: p.x + q.x, y: p.y + q.y, z: p.z + q.z)
        if sign * crossing.dot(middle) > 0 { isInside.toggle() }
      }
    }
    return isInside
  }

  @Test(arguments: [1, 2, 3, 4] as [UInt64])
  func placesOfRandomPolygonsAreThoseByCrossings(seed: UInt64) throws {
    var shapes = RandomShapes(seed: seed)
    var (inside, compared) = (0, 0)
    for _ in 0..<60 {
      let center = try shapes.center()
      let degrees = pow(10, shapes.number(in: -3...1.6))
      var rings = [try shapes.ring(around: center, degrees: degrees, vertices: shapes.integer(in: 3...40))]
      if rings[0].count > 12, shapes.integer(in: 0...1) == 0 {
        rings.append(try shapes.ring(around: center, degrees: degrees * 0.2, vertices: shapes.integer(in: 3...9)))
      }
      let area = try GeodesicArea(polygons: [rings])
      let waypoints = try rings.map { ring in try GeodesicWaypoints(ring) }
      let edges = try rings.map { ring in try GeodesicRoute(ring) }
      let outside = try shapes.place(from: center, azimuth: 77, degrees: degrees * 1.3 + 30)
      for _ in 0..<60 {
        let place = try shapes.place(around: center, degrees: degrees * 1.2)
        // On the sphere the edges are up to 1.3 m elsewhere.
        guard
          edges.allSatisfy({ $0.nearest(to: place, at: EarthCentred(place), within: 3) == nil })
        else { continue }
        let expected = Self.isInside(place, outside: outside, waypoints)

        compared += 1
        inside += expected ? 1 : 0
        #expect(area.contains(place) == expected, "\(place) in \(rings)")
      }
    }
    #expect(compared > 3_000 && inside > 500 && inside < compared - 500)
  }

  @Test func placesOfManyPolygonsAroundThePoleAreThoseOfEach() throws {
    let rings = (0..<300).map { number -> [(Double, Double)] in
      let (east, latitude) = (Double(number) / 100, 89 - Double(number) / 10)
      return [(east, latitude), (120 + east, latitude), (-120 + east, latitude)]
    }
    let area = try Self.area(rings.map { [$0] }, maximumMetres: .infinity)
    let parts = try rings.map { try Self.area([[$0]]) }

    for latitude in stride(from: -90.0, through: 90, by: 5.5) {
      for longitude in stride(from: -179.5, through: 180, by: 29) {
        let place = try Coordinate(latitude: latitude, longitude: longitude)
        let isInPart = parts.contains { $0.contains(place) }
        #expect(area.contains(place) == isInPart)
        // The vertices are north of 59 degrees, and the edges between them reach to 74.
        if latitude < 59 || latitude > 75 { #expect(area.contains(place) == (latitude > 75)) }
      }
    }
  }

  @Test func relationOfBoundsHoldsForTheirPlaces() throws {
    var shapes = RandomShapes(seed: 5)
    var counts: [GeodesicArea.Relation: Int] = [:]
    for _ in 0..<200 {
      let center = try shapes.center()
      let degrees = pow(10, shapes.number(in: -2...1.6))
      let area = try GeodesicArea(polygons: [
        [try shapes.ring(around: center, degrees: degrees, vertices: shapes.integer(in: 3...200))]
      ])
      for _ in 0..<20 {
        let middle = try shapes.place(around: center, degrees: degrees * 1.5)
        let size = degrees * pow(10, shapes.number(in: -3...0))
        let (south, north) = (max(middle.latitude - size, -90), min(middle.latitude + size, 90))
        let (west, east) = (max(middle.longitude - size, -180), min(middle.longitude + size, 180))
        let relation = area.relation(west: west, south: south, east: east, north: north)
        counts[relation, default: 0] += 1
        guard relation != .mixed else { continue }
        for _ in 0..<20 {
          let place = try Coordinate(
            latitude: shapes.number(in: south...north), longitude: shapes.number(in: west...east))

          #expect(area.contains(place) == (relation == .inside))
        }
      }
    }
    let around = try Self.area([[[(114, 34), (115, 34), (115, 35)]]])
    #expect(around.relation(west: -180, south: -90, east: 180, north: 90) == .mixed)
    #expect(around.relation(west: 100, south: 34.1, east: 180, north: 34.2) == .mixed)
    #expect(counts.count == 3 && counts.values.allSatisfy { $0 > 100 }, "\(counts)")
  }

  @Test func placesAreInExactlyOneOfTwoNeighbours() throws {
    var shapes = RandomShapes(seed: 6)
    for _ in 0..<40 {
      let center = try shapes.center()
      let degrees = pow(10, shapes.number(in: -4...1))
      let ring = try shapes.ring(around: center, degrees: degrees, vertices: 12).dropLast()
      // Two parts of the ring with a line through the centre between them.
      let common = [ring[0], center, ring[6]]
      let first = try GeodesicArea(polygons: [[Array(ring[1..<6].reversed()) + common]])
      let second = try GeodesicArea(polygons: [[Array(ring[7..<12]) + common]])
      let whole = try GeodesicArea(polygons: [[Array(ring)]])
      for number in 0..<50 {
        let place =
          number < 40
          ? try shapes.place(around: center, degrees: degrees)
          : try shapes.place(from: center, azimuth: 0, degrees: degrees * 0.001 * Double(number - 40))
        let count = (first.contains(place) ? 1 : 0) + (second.contains(place) ? 1 : 0)

        #expect(count == (whole.contains(place) ? 1 : 0), "\(place) of \(ring)")
      }
    }
  }

  @Test(
    arguments: [[0, 120, 240], [0, 90, 100], [-170, 10, 20, 150], [179, -179, 0], [0, 1, 2, 3, 119, 239]] as [[Double]])
  func placeAtAPoleIsInExactlyOneOfTheNeighboursAroundIt(meridians: [Double]) throws {
    for pole in [90.0, -90.0] {
      let areas = try zip(meridians, meridians.dropFirst() + meridians.prefix(1)).map { west, east in
        // A vertex in the middle, as an edge may not be longer than half a circle.
        let degrees = (east - west).truncatingRemainder(dividingBy: 360)
        let middle = west + (degrees < 0 ? degrees + 360 : degrees) / 2
        return try Self.area([
          [
            [(0, pole), (west, 0), (middle > 180 ? middle - 360 : middle, 0), (east, 0)].map {
              ($0.0 > 180 ? $0.0 - 360 : $0.0, $0.1)
            }
          ]
        ])
      }
      for latitude in [pole, pole * 0.9999999, pole * 0.99] {
        for longitude in stride(from: -180.0, through: 180, by: 7.5) {
          let place = try Coordinate(latitude: latitude, longitude: longitude)
          #expect(areas.count { $0.contains(place) } == 1, "\(place)")
        }
      }
    }
  }

  @Test func edgesDepartFromGeodesicsByLessThanTheTolerance() throws {
    var shapes = RandomShapes(seed: 7)
    for _ in 0..<300 {
      let start = try shapes.center()
      let end = try shapes.place(
        from: start, azimuth: shapes.number(in: 0...360), degrees: shapes.number(in: 0.1...170))
      let route = try GeodesicRoute([start, end])
      let distance = Geodesic.distanceMetres(from: start, to: end)
      #expect(abs(route.metres - distance) < 0.001)
      // A place off the line makes the way longer.
      let waypoints = try GeodesicWaypoints([start, end]).coordinates
      for place in waypoints {
        let way = Geodesic.distanceMetres(from: start, to: place) + Geodesic.distanceMetres(from: place, to: end)
        #expect(abs(way - distance) < 0.001, "\(place) between \(start) and \(end)")
      }
    }
  }
}
