import Foundation
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct DetailsTests {
  private static func driver() async throws -> (driver: ServiceDriver, id: String) {
    let places: [(String, KeyValuePairs<String, String>)] = [
      ("Open", ["phone": "01 5134567", "addr:country": "AT", "addr:street": "Graben", "addr:housenumber": "1"]),
      ("Gone", ["operating_status": "permanently_closed"]), ("Paused", ["operating_status": "temporarily_closed"]),
    ]
    let rows = try places.enumerated().map { number, place in
      try ImportRow(
        number: number + 1, id: nil,
        draft: .at(0, Double(number) / 100, name: place.0, category: "cafe", tags: place.1, sourceID: "\(number)"))
    }
    let store = MemoryStore.countingFromOne()
    let source = DataSource(name: "test", licence: "ODbL-1.0", attribution: "© Town")
    _ = try await store.importRows(AsyncStream([rows]), options: ImportOptions(sources: [source]))
    let driver = ServiceDriver(writing: store)
    let found = try await driver.send(.GET, "/locations?source=test&sourceId=0&fields=id").array
    return (driver, try #require(found.first?["id"] as? String))
  }

  @Test func detailsAreAMemberOfThePlace() async throws {
    let (driver, id) = try await Self.driver()

    let response = try await driver.send(.GET, "/locations/\(id)?view=details")
    let alone = try await driver.send(.GET, "/locations/\(id)?view=details&fields=distance")
    let standard = try await driver.send(.GET, "/locations/\(id)?view=standard")

    #expect(response.status == 200 && response.text.contains(#""name":"Open""#))
    #expect(
      alone.text == """
        {"details":{"status":"operating","address":{"lines":["Graben 1"],"houseNumber":"1","street":"Graben",\
        "country":"AT"},"phones":["+4315134567"],"licence":"ODbL-1.0","attribution":"© Town"}}
        """)
    #expect(!standard.text.contains("details"))
    #expect(try await standard.text == driver.send(.GET, "/locations/\(id)").text)
  }

  @Test func detailsAreNotRevalidatedByTheVersion() async throws {
    let (driver, id) = try await Self.driver()
    let tag = try #require(try await driver.send(.GET, "/locations/\(id)?view=details").headers.first(name: "etag"))

    let again = try await driver.send(.GET, "/locations/\(id)?view=details", headers: ["if-none-match": tag])

    #expect(again.status == 200)
  }

  @Test(arguments: [
    ("view=all", 400), ("view=details&f=csv", 400), ("view=details&f=geojson", 400), ("view=details&view=details", 400),
  ])
  func invalidViewsAreRejected(query: String, status: Int) async throws {
    let (driver, id) = try await Self.driver()

    #expect(try await driver.send(.GET, "/locations/\(id)?\(query)").status == status)
  }

  @Test(
    arguments: [
      ("status=operating", ["Open"]), ("status=any", ["Open", "Gone", "Paused"]), ("", ["Open", "Gone", "Paused"]),
      ("filter=operatingStatus%20%3C%3E%20'closed'", ["Open", "Paused"]),
      ("status=operating&filter=operatingStatus%20%3D%20'closed'", []), ("status=operating&category=cafe", ["Open"]),
      ("status=operating&limit=1", ["Open"]),
    ] as [(String, [String])])
  func placesAreFilteredByStatus(query: String, names: [String]) async throws {
    let driver = try await Self.driver().driver

    #expect(try await driver.send(.GET, "/locations?lat=0&long=0&\(query)").names == names)
  }

  @Test func statusIsAFilterOfEverySearch() async throws {
    let driver = try await Self.driver().driver

    #expect(
      try await driver.send(.POST, "/locations/search", json: #"{"lat":0,"long":0,"status":"operating"}"#).names
        == ["Open"])
    #expect(try await driver.send(.GET, "/locations/facets?by=category&status=operating").object["count"] as? Int == 1)
    #expect(try await !driver.send(.GET, "/locations?q=gone&status=operating").names.contains("Gone"))
    #expect(try await driver.send(.GET, "/locations?status=closed").status == 400)
  }
}
