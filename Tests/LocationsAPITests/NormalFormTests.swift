import MemoryStore
import NIOCore
import NIOHTTP1
import Testing

@testable import LocationsAPI

/// Canonically equivalent texts stay distinct in every input and output.
@Suite struct NormalFormTests {
  private static let places = #"""
    {"name":"composed","lat":1,"long":1,"category":"\u00e9","source":"s","sourceId":"\u00e9"}
    {"name":"decomposed","lat":1,"long":2,"category":"e\u0301","source":"s","sourceId":"e\u0301"}

    """#

  private func driver() async throws -> ServiceDriver {
    let driver = ServiceDriver(writing: MemoryStore())
    let report = try await driver.send(
      .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"],
      body: ByteBuffer(string: Self.places))
    #expect(try report.object["created"] as? Int == 2)
    return driver
  }

  @Test(arguments: ["category=\u{E9},e%CC%81", "category=%C3%A9&category=e%CC%81", "category=e%CC%81,%C3%A9"])
  func categoriesOfBothFormsFindBothPlaces(query: String) async throws {
    let driver = try await driver()

    let first = try await driver.send(.GET, "/locations?\(query)&limit=1")
    let second = try await driver.send(.GET, try #require(first.next))

    #expect(try Set(first.names + second.names) == ["composed", "decomposed"])
  }

  @Test func normalFormsOfACategoryAreCountedSeparately() async throws {
    let counts = try await driver().send(.GET, "/categories").array

    #expect(counts.map { $0["count"] as? Int } == [1, 1])
  }

  @Test func mergePatchChangesOnlyTheTagWithTheSameBytes() async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let place = #"{"name":"x","lat":1,"long":2,"tags":{"\u00e9":"composed","e\u0301":"decomposed"}}"#
    let target = try #require(try await driver.send(.POST, "/locations", json: place).location)

    let changed = try await driver.send(
      .PATCH, target, headers: ["content-type": "application/merge-patch+json"], json: #"{"tags":{"\u00e9":null}}"#)

    #expect(changed.text.utf8.contains("\"tags\":{\"e\u{301}\":\"decomposed\"}".utf8))
  }

  @Test func csvHeaderMayHaveBothNormalForms() async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let report = try await driver.send(
      .POST, "/locations/import", headers: ["content-type": "text/csv"],
      body: ByteBuffer(string: "name,lat,long,\u{E9},e\u{301}\nx,1,2,composed,decomposed\n"))
    let list = try await driver.send(.GET, "/locations")

    #expect(try report.object["created"] as? Int == 1)
    #expect(list.text.utf8.contains("\"e\u{301}\":\"decomposed\",\"\u{E9}\":\"composed\"".utf8))
  }
}
