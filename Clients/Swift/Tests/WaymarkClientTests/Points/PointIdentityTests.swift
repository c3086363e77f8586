import Foundation
import Testing

@testable import WaymarkClient

@Suite struct PointIdentityTests {
  @Test func placeWithoutAnIDHasAFallbackThatDependsOnItsContents() throws {
    let json = Data(#"[{"name":"My Location"},{"name":"My Location"},{"name":"B"},{"name":"B","lat":1,"long":2}]"#.utf8)

    let places = try JSONDecoder().decode([PointOfInterest].self, from: json)

    #expect(places[0] == places[1])
    #expect(Set(places.map(\.id)).count == 3)
    #expect(places.allSatisfy { $0.hasFallbackID })
    #expect(places[0].id.uuidString.lowercased() == PointOfInterest(name: "My Location").id.uuidString.lowercased())
    #expect(places.map { Array($0.id.uuidString)[14] } == ["8", "8", "8", "8"])
  }

  @Test func fallbackIsStableAcrossLaunches() {
    #expect(PointOfInterest(name: "My Location").id.uuidString == "328F4BF5-368F-8866-8CDD-CDDF515272B8")
  }

  @Test func idOfTheServiceIsNoFallback() {
    let id = UUID()
    var place = PointOfInterest(name: "A")
    #expect(!PointOfInterest(id: id, name: "A").hasFallbackID)

    place.id = id

    #expect(!place.hasFallbackID)
    #expect(place == PointOfInterest(id: id, name: "A"))
  }

  @Test func encodedPlaceIsDecodedAsTheSame() throws {
    let place = PointOfInterest(
      id: UUID(), name: "Café \u{1F600}\"\\", category: "cafe",
      coordinate: try Coordinate(latitude: 37.3184, longitude: -121.9511), distanceMetres: 5632.4,
      tags: ["website": "https://w.example"], source: "osm", sourceID: "node/358829", version: 3,
      createdAt: Date(timeIntervalSince1970: 1_795_169_700), updatedAt: Date(timeIntervalSince1970: 1_795_169_700.25))

    let decoded = try JSONDecoder().decode(PointOfInterest.self, from: JSONEncoder().encode(place))

    #expect(decoded == place)
  }

  @Test func placeWithAFallbackIsDecodedAsTheSame() throws {
    let place = PointOfInterest(name: "My Location")

    let data = try JSONEncoder().encode(place)

    #expect(String(decoding: data, as: UTF8.self) == #"{"name":"My Location"}"#)
    #expect(try JSONDecoder().decode(PointOfInterest.self, from: data) == place)
  }

  @Test(arguments: [0, 0.25, 0.000001, 0.999999, 1_795_169_700.123456, -1.5])
  func timesAreEncodedToAMicrosecond(seconds: Double) throws {
    let date = Date(timeIntervalSince1970: seconds)

    let decoded = try #require(RFC3339.date(from: RFC3339.text(of: date)))

    #expect(abs(decoded.timeIntervalSince(date)) < 1e-6)
  }

  @Test(
    arguments: [
      ([10, 20, 4, 6], [17, 8, 23, 12]), ([0, 179, 2, 6], [176, -1, -178, 1]), ([0, -179, 2, 6], [178, -1, -176, 1]),
      ([89, 0, 10, 2], [-1, 84, 1, 90]), ([-89, 0, 10, 2], [-1, -90, 1, -84]),
      ([0, 50, 180, 360], [-180, -90, 180, 90]),
      ([0, 50, 200, 400], [-180, -90, 180, 90]), ([5, 5, 0, 0], [5, 5, 5, 5]),
    ] as [([Double], [Double])])
  func regionOfAMapIsABox(region: [Double], edges: [Double]) throws {
    let box = try BoundingBox(
      centerLatitude: region[0], centerLongitude: region[1], latitudeDelta: region[2], longitudeDelta: region[3])

    #expect([box.west, box.south, box.east, box.north] == edges)
  }

  @Test(
    arguments: [[91, 0, 1, 1], [0, 181, 1, 1], [0, 0, -1, 1], [0, 0, 1, .infinity], [.nan, 0, 1, 1]] as [[Double]])
  func invalidRegionIsAnError(region: [Double]) {
    #expect(throws: RequestError.self) {
      try BoundingBox(
        centerLatitude: region[0], centerLongitude: region[1], latitudeDelta: region[2], longitudeDelta: region[3])
    }
  }
}
