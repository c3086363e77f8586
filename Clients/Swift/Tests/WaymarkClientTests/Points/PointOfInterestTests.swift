import Foundation
import Testing
import WaymarkClient

@Suite struct PointOfInterestTests {
  private func place(_ json: String) throws -> PointOfInterest {
    try JSONDecoder().decode(PointOfInterest.self, from: Data(json.utf8))
  }

  @Test func everyFieldOfTheServiceIsDecoded() throws {
    let json = """
      {"id":"0199a1b2-0000-7000-8000-000000000001","name":"Winchester Mystery House","category":"museum",
      "lat":37.3184,"long":-121.9511,"distance":5632.4,"tags":{"website":"https://w.example"},"source":"osm",
      "sourceId":"node/358829","version":3,"createdAt":"2026-11-20T10:15:00Z","updatedAt":"2026-11-20T10:15:00.25Z"}
      """

    let place = try place(json)

    #expect(
      place
        == PointOfInterest(
          id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"), name: "Winchester Mystery House",
          category: "museum", coordinate: try Coordinate(latitude: 37.3184, longitude: -121.9511),
          distanceMetres: 5632.4, tags: ["website": "https://w.example"], source: "osm", sourceID: "node/358829",
          version: 3, createdAt: Date(timeIntervalSince1970: 1_795_169_700),
          updatedAt: Date(timeIntervalSince1970: 1_795_169_700.25)))
  }

  @Test func aNameAloneIsAPlace() throws {
    #expect(try place(#"{"name":"My Location"}"#) == PointOfInterest(name: "My Location"))
  }

  @Test func unknownMembersAreIgnored() throws {
    #expect(try place(#"{"name":"A","openNow":true,"lat":1}"#) == PointOfInterest(name: "A"))
  }

  @Test(
    arguments: [
      #"{"name":null}"#, #"{"name":"A","lat":91,"long":0}"#, #"{"name":"A","lat":"1","long":0}"#,
      #"{"name":"A","id":"7"}"#, #"{"name":"A","createdAt":"yesterday"}"#, #"{"name":"A","tags":{"a":1}}"#,
    ])
  func malformedPlacesAreRejected(json: String) {
    #expect(throws: DecodingError.self) { try place(json) }
  }

  @Test(
    arguments: [
      (["website": "https://a.example/x"], "https://a.example/x"),
      (["contact:website": "http://b.example"], "http://b.example"),
      (["website": "javascript:alert(1)", "url": "https://c.example"], "https://c.example"),
      (["website": "file:///etc/passwd"], nil), (["website": "www.example.com"], nil), (["website": "https:"], nil),
      ([:], nil),
    ] as [([String: String], String?)])
  func websiteHasAWebScheme(tags: [String: String], website: String?) {
    #expect(PointOfInterest(name: "A", tags: tags).website?.absoluteString == website)
  }
}
