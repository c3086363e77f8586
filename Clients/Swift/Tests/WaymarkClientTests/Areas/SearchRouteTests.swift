import Foundation
import Testing

@testable import WaymarkClient

@Suite struct SearchRouteTests {
  private let line: [Coordinate]
  private let text = "_p~iF~ps|U_ulLnnqC_mqNvxq`@"

  init() throws {
    line = try [(38.5, -120.2), (40.7, -120.95), (43.252, -126.453)].map {
      try Coordinate(latitude: $0.0, longitude: $0.1)
    }
  }

  @Test func polylineIsDecoded() throws {
    let route = try SearchRoute(polyline: text, radiusMetres: 500)

    #expect(route.line == line)
    #expect(route.text == text)
  }

  @Test func polylineOfAnotherPrecisionIsSentAsWKT() throws {
    let route = try SearchRoute(polyline: "_izlhA~rlgdF_{geC~ywl@_kwzCn`{nI", precision: 6, radiusMetres: 500)

    #expect(route.line == line)
    #expect(route.text == "LINESTRING(-120.2 38.5,-120.95 40.7,-126.453 43.252)")
  }

  @Test func coordinatesAreSentAsWKTOrGeoJSON() throws {
    let route = try SearchRoute(Array(line.prefix(2)), radiusMetres: 0)

    #expect(route.text == "LINESTRING(-120.2 38.5,-120.95 40.7)")
    #expect(
      String(decoding: try ServiceJSON.data(of: route.geoJSON), as: UTF8.self)
        == #"{"coordinates":[[-120.2,38.5],[-120.95,40.7]],"type":"LineString"}"#)
  }

  @Test func fewerThanTwoDifferentPositionsAreRejected() throws {
    let first = line[0]

    for line in [[], [first], [first, first]] {
      #expect(throws: RequestError.tooFewPositions) { try SearchRoute(line, radiusMetres: 1) }
    }
    #expect(throws: RequestError.tooFewPositions) { try SearchRoute(polyline: "", radiusMetres: 1) }
    #expect(throws: RequestError.tooFewPositions) { try SearchRoute(polyline: "_p~iF~ps|U", radiusMetres: 1) }
  }

  @Test(arguments: [-0.1, 1_000_000.1, .infinity]) func invalidRadiusIsRejected(radius: Double) {
    #expect(throws: RequestError.invalidRadius) { try SearchRoute(line, radiusMetres: radius) }
    #expect(throws: RequestError.self) { try SearchRoute(line, radiusMetres: .nan) }
  }

  @Test(arguments: ["_p~iF", "_p~iF~ps|", "_p~iF ps|U", "é", "~~~~~~~~~~~~~~~~~~", "_p~iF~ps|U\u{1F600}"])
  func malformedPolylineIsRejected(text: String) {
    #expect(throws: RequestError.invalidGeometry("the text is not an encoded polyline")) {
      try SearchRoute(polyline: text, radiusMetres: 1)
    }
  }

  @Test func polylineOutOfRangeIsRejected() {
    #expect(throws: RequestError.invalidCoordinate) {
      try SearchRoute(polyline: text, precision: 4, radiusMetres: 1)
    }
    #expect(throws: RequestError.invalidGeometry("the precision of a polyline must be from 1 to 9, got 10")) {
      try SearchRoute(polyline: text, precision: 10, radiusMetres: 1)
    }
  }

  @Test func anyTextIsDecodedOrRejected() throws {
    var generator = SeededGenerator(seed: 2)
    for _ in 0..<2000 {
      let bytes = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
        UInt8.random(in: 60...127, using: &generator)
      }
      if let route = try? SearchRoute(polyline: String(decoding: bytes, as: UTF8.self), radiusMetres: 1) {
        #expect(route.line.count >= 2)
      }
    }
  }
}
