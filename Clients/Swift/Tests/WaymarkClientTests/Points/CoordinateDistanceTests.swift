import Testing
import WaymarkClient

@Suite struct CoordinateDistanceTests {
  private func distance(_ from: (Double, Double), _ to: (Double, Double)) throws -> Double {
    try Coordinate(latitude: from.0, longitude: from.1)
      .distanceMetres(to: try Coordinate(latitude: to.0, longitude: to.1))
  }

  /// A quarter of a meridian, a degree of the equator, and the axes of the ellipsoid give the distances.
  @Test func distancesAlongMeridianAndEquatorAreKnown() throws {
    #expect(abs(try distance((0, 0), (90, 0)) - 10_001_965.729) < 0.002)
    #expect(abs(try distance((0, 10), (0, 11)) - 111_319.491) < 0.002)
    #expect(abs(try distance((0, 0), (1, 0)) - 110_574.389) < 0.002)
    #expect(abs(try distance((89, 0), (89, 180)) - 2 * 111_693.865) < 0.01)
  }

  @Test func distanceIsSymmetricAndZeroAtHome() throws {
    var generator = SeededGenerator(seed: 9)
    for _ in 0..<500 {
      let from = (Double.random(in: -90...90, using: &generator), Double.random(in: -180...180, using: &generator))
      let to = (Double.random(in: -90...90, using: &generator), Double.random(in: -180...180, using: &generator))
      let there = try distance(from, to)
      #expect(abs(there - (try distance(to, from))) < 0.001)
      #expect((0...20_040_000).contains(there))
      #expect(try distance(from, from) == 0)
    }
  }

  @Test func antimeridianIsNoBarrier() throws {
    #expect(abs(try distance((10, 179.5), (10, -179.5)) - (try distance((10, 0), (10, 1)))) < 0.001)
    #expect(try distance((10, 180), (10, -180)) < 0.001)
    #expect(try distance((90, 10), (90, -120)) < 0.001)
  }

  @Test(arguments: [(0.0, 180.0), (0.5, 179.5), (0, 179.9), (0, 179), (-0.3, 179.8)])
  func nearlyAntipodalCoordinatesHaveAnApproximateDistance(latitude: Double, longitude: Double) throws {
    let metres = try distance((0, 0), (latitude, longitude))

    #expect((19_780_000...20_040_000).contains(metres))
  }
}
