import Geo
import Testing

@Suite struct BoundingBoxTests {
  @Test(arguments: [
    (10.0, 50.0), (5, 45), (15, 55), (5, 55), (15, 45),
  ])
  func boxContainsItsInteriorEdgesAndCorners(longitude: Double, latitude: Double) throws {
    let box = try BoundingBox(west: 5, south: 45, east: 15, north: 55)

    #expect(box.contains(try Coordinate(latitude: latitude, longitude: longitude)))
  }

  @Test(arguments: [
    (4.999_999_999, 50.0), (15.000_000_001, 50), (10, 44.999_999_999), (10, 55.000_000_001), (-170, 50), (180, 50),
  ])
  func boxExcludesCoordinatesBeyondAnEdge(longitude: Double, latitude: Double) throws {
    let box = try BoundingBox(west: 5, south: 45, east: 15, north: 55)

    #expect(!box.contains(try Coordinate(latitude: latitude, longitude: longitude)))
  }

  @Test(arguments: [
    (170.0, true), (180, true), (-180, true), (-170, true), (169.9, false), (-169.9, false), (0, false),
  ])
  func boxWithWestGreaterThanEastCrossesTheAntimeridian(longitude: Double, isInside: Bool) throws {
    let box = try BoundingBox(west: 170, south: -10, east: -170, north: 10)

    #expect(box.crossesAntimeridian)
    #expect(box.contains(try Coordinate(latitude: 0, longitude: longitude)) == isInside)
  }

  @Test(arguments: [(170.0, 180.0), (-180, -170), (180, 180), (-180, -180), (180, -180), (-180, 180)])
  func edgeOnTheAntimeridianContainsBothLongitudes(west: Double, east: Double) throws {
    let box = try BoundingBox(west: west, south: -10, east: east, north: 10)

    #expect(box.contains(try Coordinate(latitude: 0, longitude: 180)))
    #expect(box.contains(try Coordinate(latitude: 0, longitude: -180)))
  }

  @Test func poleIsInABoxOnlyByItsGivenLongitude() throws {
    let box = try BoundingBox(west: 0, south: 80, east: 10, north: 90)

    #expect(box.contains(try Coordinate(latitude: 90, longitude: 5)))
    #expect(!box.contains(try Coordinate(latitude: 90, longitude: 15)))
  }

  @Test(arguments: [
    (5.0, 15.0), (170, -170), (170, 180), (-180, -170), (180, 180), (-180, -180), (180, -180), (-180, 180), (0, 0),
  ])
  func longitudeRangesContainExactlyTheLongitudesOfTheBox(west: Double, east: Double) throws {
    let box = try BoundingBox(west: west, south: -10, east: east, north: 10)

    for longitude in [-180, -179.5, -170, -169.5, -5, -0.0, 0, 5, 10, 15, 15.5, 169.5, 170, 179.5, 180] {
      let isInRanges = box.longitudeRanges.contains { $0.contains(longitude) }

      #expect(isInRanges == box.contains(try Coordinate(latitude: 0, longitude: longitude)), "\(longitude)")
    }
  }

  @Test(arguments: [
    (-180.5, 0.0, 10.0, 10.0), (.nan, 0, 10, 10), (0, -91, 10, 10), (0, .nan, 10, 10), (0, 0, 181, 10),
    (0, 0, .infinity, 10), (0, 0, 10, 90.5), (0, 0, 10, .nan), (0, 10, 10, 9.999),
  ])
  func invalidEdgesAreRejected(west: Double, south: Double, east: Double, north: Double) {
    #expect(throws: BoundingBoxError.self) {
      try BoundingBox(west: west, south: south, east: east, north: north)
    }
  }

  @Test func boxMayBeAPoint() throws {
    let box = try BoundingBox(west: 7, south: 8, east: 7, north: 8)

    #expect(box.contains(try Coordinate(latitude: 8, longitude: 7)))
  }
}
