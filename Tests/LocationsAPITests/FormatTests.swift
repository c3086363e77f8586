import Foundation
import Geo
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct FormatTests {
  private let hostileName = "O'Hare \"quoted\" \\ , <b>\u{2028}日本 🗽é"

  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(48.8584, 2.2945, name: hostileName, category: "tower", tags: ["b": "2", "a": "line\nbreak\t\"q\""]),
      .at(-89.9999999, -0.0000001, name: "Tiny"),
    ])
  }

  @Test func jsonRoundTrips() async throws {
    let response = try await driver().send(.GET, "/locations?lat=48.8584&long=2.2945")

    let places = try JSONDecoder().decode([DecodedPoint].self, from: response.body)
    #expect(places.map(\.name) == [hostileName, "Tiny"])
    #expect(places.map(\.category) == ["tower", nil])
    #expect(places.map(\.lat) == [48.8584, -89.9999999])
    #expect(places.map(\.long) == [2.2945, -0.0000001])
    #expect(places[0].distance == 0)
    #expect(places.map(\.tags) == [["b": "2", "a": "line\nbreak\t\"q\""], [:]])
  }

  @Test func geoJSONFeaturesHaveTheOtherFieldsAsProperties() async throws {
    let response = try await driver().send(.GET, "/locations?lat=48.8584&long=2.2945&limit=1&f=geojson")

    let collection = try JSONDecoder().decode(DecodedCollection.self, from: response.body)
    let feature = try #require(collection.features.first)
    #expect(response.headers["content-type"] == ["application/geo+json"])
    #expect(collection.type == "FeatureCollection")
    #expect(feature.type == "Feature")
    #expect(PointID(feature.id) != nil)
    #expect(feature.geometry.type == "Point")
    #expect(feature.geometry.coordinates == [2.2945, 48.8584])
    #expect(feature.properties.name == hostileName)
    #expect(feature.properties.distance == 0)
    #expect(feature.properties.tags == ["b": "2", "a": "line\nbreak\t\"q\""])
  }

  @Test func featureCollectionHasLinksAndNumberReturned() async throws {
    let driver = try await driver()

    let first = try await driver.send(.GET, "/locations?limit=1&f=geojson")
    let again = try await driver.send(.GET, "/locations?limit=1&f=geojson")
    let links = try #require(try first.object["links"] as? [[String: String]])
    let last = try await driver.send(.GET, try #require(first.next))

    #expect(try first.object["numberReturned"] as? Int == 1)
    #expect(try (first.object["timeStamp"] as? String).flatMap { Timestamp(rfc3339: $0) } != nil)
    #expect(links.map { $0["rel"] } == ["next", "license"])
    #expect(links[0]["type"] == "application/geo+json")
    #expect(first.headers["link"] == ["<\(links[0]["href"] ?? "")>; rel=\"next\""])
    #expect(first.body == again.body && first.headers["etag"] == again.headers["etag"])
    let license = ["rel": "license", "type": "application/json", "href": "sources"]
    #expect(links[1] == license)
    #expect(try last.object["links"] as? [[String: String]] == [license])
    #expect(try last.object["numberReturned"] as? Int == 1)
  }

  @Test func aGeoJSONSequenceHasARecordSeparatorBeforeEachFeature() async throws {
    let response = try await driver().send(.GET, "/locations?f=geojsonseq&fields=name")

    let records = response.text.split(separator: "\u{1E}")
    #expect(response.headers["content-type"] == ["application/geo+json-seq"])
    #expect(response.text.hasPrefix("\u{1E}"))
    #expect(records.count == 2)
    #expect(records.allSatisfy { $0.hasSuffix("\n") })
    for record in records {
      let feature = try JSONSerialization.jsonObject(with: Data(record.utf8)) as? [String: Any]
      #expect(feature?["id"] == nil)
    }
  }

  @Test func csvQuotesFieldsByRFC4180() async throws {
    let response = try await driver().send(
      .GET, "/locations?lat=48.8584&long=2.2945&f=csv&fields=name,lat,distance,tags&limit=1")

    #expect(response.headers["content-type"] == ["text/csv; charset=utf-8"])
    #expect(
      response.text == "name,lat,distance,tags\r\n"
        + "\"O'Hare \"\"quoted\"\" \\ , <b>\u{2028}日本 🗽é\",48.8584,0.0,"
        + #""{""a"":""line\nbreak\t\""q\"""",""b"":""2""}""# + "\r\n")
  }

  @Test func emptyResponseIsWellFormedInEveryFormat() async throws {
    let driver = try await ServiceDriver(places: [])

    #expect(try await driver.send(.GET, "/locations").text == "[]")
    #expect(
      try await driver.send(.GET, "/locations?f=geojson").text
        == #"{"type":"FeatureCollection","features":[],"numberReturned":0,"#
        + #""links":[{"rel":"license","type":"application/json","href":"sources"}]}"#)
    #expect(try await driver.send(.GET, "/locations?f=geojsonseq").text == "")
    #expect(try await driver.send(.GET, "/locations?f=csv&fields=name").text == "name\r\n")
  }

  @Test(arguments: [
    ("application/geo+json", "application/geo+json"),
    ("text/csv;q=0.5, application/geo+json;q=0.9", "application/geo+json"),
    ("text/*", "text/csv; charset=utf-8"),
    ("*/*", "application/json"),
    ("application/json;q=0, */*", "application/geo+json"),
    ("text/html, application/*;q=0.8", "application/json"),
    ("APPLICATION/GEO+JSON", "application/geo+json"),
    ("application/geo+json;q=0.1, nonsense, ;;, */*;q=0.01", "application/geo+json"),
    // An invalid weight counts as none.
    ("application/geo+json;q=2", "application/geo+json"), ("text/csv;q=-1, */*;q=0.9", "text/csv; charset=utf-8"),
    ("application/json;q=0.5, text/csv;q=high", "text/csv; charset=utf-8"),
    ("application/json;q=nan", "application/json"),
  ])
  func theAcceptHeaderChoosesTheFormat(accept: String, contentType: String) async throws {
    let response = try await driver().send(.GET, "/locations", headers: ["accept": accept])

    #expect(response.status == 200)
    #expect(response.headers["content-type"] == [contentType])
    #expect(response.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test(arguments: [["*/*", "application/json;q=0"], ["application/json;q=0", "*/*"]])
  func allAcceptHeadersChooseTheFormatTogether(values: [String]) async throws {
    let headers = HTTPHeaders(values.map { ("Accept", $0) })

    let response = try await driver().send(.GET, "/locations", headers: headers)

    #expect(response.headers["content-type"] == ["application/geo+json"])
  }

  @Test(arguments: ["text/html", "application/json;q=0", "image/*"])
  func unacceptableMediaTypesGet406(accept: String) async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, "/locations", headers: ["accept": accept])

    #expect(response.status == 406)
    #expect(try response.code == "not-acceptable")
    #expect(response.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test func theFormatParameterOverridesTheHeader() async throws {
    let response = try await driver().send(.GET, "/locations?f=json", headers: ["accept": "text/csv"])

    #expect(response.headers["content-type"] == ["application/json"])
  }

  @Test func theLongestPlaceFitsTheBufferReservedForIt() async throws {
    let tags = Dictionary(uniqueKeysWithValues: (0..<100).map { ("\($0)", String(repeating: "\u{1}", count: 500)) })
    let quotes = String(repeating: "\"", count: 500)
    let place = try PointDraft(
      name: quotes, category: String(repeating: "\\", count: 100),
      coordinate: .init(latitude: -Double.leastNonzeroMagnitude, longitude: -1e-300 / 3), tags: Tags(tags),
      source: String(repeating: "\"", count: 200), sourceID: String(repeating: "\"", count: 200))
    let driver = try await ServiceDriver(places: [place])

    for format in ["json", "geojson", "geojsonseq", "csv"] {
      let response = try await driver.send(.GET, "/locations?lat=1&long=1&fields=*&f=\(format)")
      #expect(response.status == 200)
    }
    let response = try await driver.send(.GET, "/locations?lat=1&long=1&fields=*")
    let read = try JSONDecoder().decode([DecodedPoint].self, from: response.body)
    #expect(read[0].lat == -Double.leastNonzeroMagnitude)
    #expect(read[0].name == quotes)
    #expect(read[0].tags == tags)
  }

  @Test func aPlaceIsTheSameBytesInEveryResponseAndExport() async throws {
    let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
    let created = try await driver.send(
      .POST, "/locations",
      json: #"""
        {"name":"=A \"b\", c","category":"x,y","lat":1.25,"long":-2e-7,"tags":{"k":"v\n"},"source":"+s","sourceId":"1"}
        """#)
    let path = try #require(created.headers.first(name: "location"))
    func text(_ target: String) async throws -> String { try await driver.send(.GET, target).text }

    let feature = try await text("/\(path)?f=geojson")

    #expect(try await text("/\(path)") == created.text)
    #expect(try await text("/locations?fields=*") == "[\(created.text)]")
    #expect(try await text("/locations/export?f=ndjson") == created.text + "\n")
    #expect(try await text("/locations/export?f=json") == "[\n\(created.text)\n]\n")
    #expect(try await text("/locations?f=geojson&fields=*").contains("[\(feature)]"))
    #expect(try await text("/locations/export?f=geojson").contains("[\n\(feature)\n]"))
    #expect(try await text("/locations/export?f=geojsonseq") == "\u{1E}\(feature)\n")
    #expect(try await text("/locations?f=geojsonseq&fields=*") == "\u{1E}\(feature)\n")
    #expect(try await text("/locations/export?f=csv") == text("/locations?f=csv&fields=*"))
    #expect(try await text("/\(path)?f=csv") == text("/locations/export?f=csv"))
  }

  private struct DecodedPoint: Decodable {
    let name: String
    let category: String?
    let lat: Double
    let long: Double
    let distance: Double?
    let tags: [String: String]
  }

  private struct DecodedCollection: Decodable {
    struct Feature: Decodable {
      struct Geometry: Decodable {
        let type: String
        let coordinates: [Double]
      }
      struct Properties: Decodable {
        let name: String
        let distance: Double?
        let tags: [String: String]
      }
      let type: String
      let id: String
      let geometry: Geometry
      let properties: Properties
    }
    let type: String
    let features: [Feature]
  }
}
