import Geo
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func distanceOfTheExampleIsAsItSays() throws {
    let vienna = try Coordinate(latitude: 48.2082, longitude: 16.3738)
    let tokyo = try Coordinate(latitude: 35.6762, longitude: 139.6503)
    let metres = Geodesic.distanceMetres(from: vienna, to: tokyo)  // 9149159.2749

    // By the formulae of T. Vincenty, "Direct and inverse solutions of geodesics on the ellipsoid", Survey Review 23
    // (1975), which are accurate to 0.1 mm here.
    #expect(abs(metres - 9_149_159.2749) < 0.000_5)
  }
}
