import Geo
import Testing

@Suite struct EarthCentredTests {
  @Test func axesMeetTheSurfaceAtTheRadiiOfTheEllipsoid() throws {
    let greenwich = EarthCentred(try Coordinate(latitude: 0, longitude: 0))
    let bengal = EarthCentred(try Coordinate(latitude: 0, longitude: 90))
    let pole = EarthCentred(try Coordinate(latitude: 90, longitude: 0))

    #expect(greenwich == EarthCentred(x: WGS84.equatorialRadius, y: 0, z: 0))
    #expect(bengal == EarthCentred(x: 0, y: WGS84.equatorialRadius, z: 0))
    #expect(pole.x == 0 && pole.y == 0)
    #expect(abs(pole.z - WGS84.polarRadius) < 1e-8)
  }

  @Test func positionIsThatOfTheStandardFormula() throws {
    let position = EarthCentred(try Coordinate(latitude: 37.3318, longitude: -121.8893))

    #expect(abs(position.x - -2_682_471.1752) < 0.001)
    #expect(abs(position.y - -4_311_364.6407) < 0.001)
    #expect(abs(position.z - 3_846_737.3151) < 0.001)
  }

  @Test(arguments: [-90, -67.25, -0.0, 0, 1e-12, 51.5])
  func longitudes180AndMinus180HaveOnePosition(latitude: Double) throws {
    let east = EarthCentred(try Coordinate(latitude: latitude, longitude: 180))
    let west = EarthCentred(try Coordinate(latitude: latitude, longitude: -180))

    #expect(east.x.bitPattern == west.x.bitPattern)
    #expect(east.y.bitPattern == west.y.bitPattern)
    #expect(east.z.bitPattern == west.z.bitPattern)
  }

  @Test(arguments: [-180, -135, -90.5, -45, 0, 17, 45, 90, 135, 180])
  func poleIsOnePositionWhateverItsLongitude(longitude: Double) throws {
    let pole = EarthCentred(try Coordinate(latitude: -90, longitude: longitude))

    #expect(pole == EarthCentred(try Coordinate(latitude: -90, longitude: 0)))
    #expect(pole.x.bitPattern == 0 && pole.y.bitPattern == 0)
  }

  @Test func chordIsTheLengthOfTheStraightLine() {
    let chord = EarthCentred(x: 1, y: 2, z: 3).chordSquared(to: EarthCentred(x: 3, y: 5, z: 9))

    #expect(chord == 49)
  }
}
