import Geo
import Testing

@Suite struct CoordinateTests {
  @Test(arguments: [(-90.0, -180.0), (90, 180), (0, 0), (-0.0, -0.0), (37.3293, -121.8893)])
  func degreesWithinTheRangesAreKeptAsGiven(latitude: Double, longitude: Double) throws {
    let coordinate = try Coordinate(latitude: latitude, longitude: longitude)

    #expect(coordinate.latitude.bitPattern == latitude.bitPattern)
    #expect(coordinate.longitude.bitPattern == longitude.bitPattern)
  }

  @Test(arguments: [90.000_000_000_000_02, -91, .infinity, -.infinity, 1e300])
  func latitudeOutOfRangeIsRejected(latitude: Double) {
    #expect(throws: CoordinateError.latitude(latitude)) { try Coordinate(latitude: latitude, longitude: 0) }
  }

  @Test(arguments: [180.000_000_000_000_03, -181, .infinity, -.infinity])
  func longitudeOutOfRangeIsRejected(longitude: Double) {
    #expect(throws: CoordinateError.longitude(longitude)) { try Coordinate(latitude: 0, longitude: longitude) }
  }

  @Test(arguments: [(Double.nan, 0.0), (0, .nan), (-.nan, .nan), (.signalingNaN, 0)])
  func nanIsRejected(latitude: Double, longitude: Double) {
    #expect(throws: CoordinateError.self) { try Coordinate(latitude: latitude, longitude: longitude) }
  }

  @Test func decimalCoordinatesAreTheSameNumbers() throws {
    for number in stride(from: -1_800_000_000, through: 1_800_000_000, by: 1_237_919) {
      // As a parser reads the decimal.
      let longitude = try #require(Double("\(number)e-7"))
      let coordinate = try Coordinate(latitude: longitude / 2, longitude: longitude)
      let halved = try Coordinate(latitude: try #require(Double("\(number / 2)e-7")), longitude: longitude)

      #expect(DecimalCoordinate(halved)?.coordinate == halved)
      if let decimal = DecimalCoordinate(coordinate) { #expect(decimal.coordinate == coordinate) }
    }
  }

  @Test(arguments: [(12.345_678_91, 0.0), (0.0, -179.999_999_99), (-0.0, 1.0), (1.0, -0.0)])
  func otherCoordinatesHaveNoDecimals(latitude: Double, longitude: Double) throws {
    #expect(DecimalCoordinate(try Coordinate(latitude: latitude, longitude: longitude)) == nil)
  }

  @Test func errorNamesTheRangeAndTheValue() {
    let description = String(describing: CoordinateError.latitude(91))

    #expect(description == "latitude must be a number from -90 to 90 degrees, got 91.0")
  }
}
