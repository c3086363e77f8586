import Testing
import WaymarkClient

@Suite struct BoundingBoxTests {
  @Test(arguments: [
    (-10.0, 30.0, 0.0, true), (-10, 30, -10, true), (-10, 30, 30, true), (-10, 30, 31, false),
    // Across the antimeridian.
    (170, -170, 175, true), (170, -170, -175, true), (170, -170, 180, true), (170, -170, 0, false),
    // The antimeridian has two names.
    (170, 180, -180, true), (-180, -170, 180, true), (-10, 30, 180, false),
  ])
  func containsLongitudesBetweenItsEdges(west: Double, east: Double, longitude: Double, isInside: Bool) throws {
    let box = try BoundingBox(west: west, south: -10, east: east, north: 10)

    #expect(box.contains(try Coordinate(latitude: 0, longitude: longitude)) == isInside)
    #expect(!box.contains(try Coordinate(latitude: 11, longitude: longitude)))
  }

  @Test func edgesOutOfOrderOrRangeAreRejected() {
    #expect(throws: RequestError.invalidBox) {
      try BoundingBox(west: 0, south: 1, east: 0, north: 0)
    }
    #expect(throws: RequestError.invalidCoordinate) { try BoundingBox(west: 0, south: 0, east: 181, north: 0) }
    #expect(throws: RequestError.invalidCoordinate) { try BoundingBox(west: 0, south: -91, east: 0, north: 0) }
  }

  @Test func coordinatesOutOfRangeAreRejected() {
    #expect(throws: RequestError.invalidCoordinate) { try Coordinate(latitude: 90.1, longitude: 0) }
    #expect(throws: RequestError.invalidCoordinate) { try Coordinate(latitude: 0, longitude: .infinity) }
    #expect(throws: RequestError.invalidCoordinate) { try Coordinate(latitude: .nan, longitude: 0) }
  }
}
