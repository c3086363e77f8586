import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
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

  @Test(arguments: [
    (
      HTTPMethod.POST, "/locations", "application/json", #"{"name":"a","lat":1,"long":2,"tags":{"b":"1","b":"2"}}"#,
      "/tags/b"
    ),
    (
      .POST, "/locations", "application/geo+json",
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"a"},"properties":{}}"#,
      "/properties"
    ),
    (
      .PUT, "/locations/\(PointID.sample(9))", "application/json", #"{"name":"a","name":"b","lat":1,"long":2}"#, "/name"
    ),
    (
      .PATCH, "/locations/\(PointID.sample(9))", "application/merge-patch+json", #"{"tags":{"b":null,"b":"2"}}"#,
      "/tags/b"
    ),
    (.POST, "/locations/search", "application/json", #"{"limit":1,"limit":2}"#, "/limit"),
    (
      .POST, "/locations/search", "application/json", #"{"filter":{"op":"not","args":[{"op":"=","op":"<"}]}}"#,
      "/filter/args/0/op"
    ),
    (
      .POST, "/ogc/collections/places/items", "application/geo+json",
      #"{"type":"Feature","geometry":null,"properties":{"population":1,"population":2}}"#, "/properties/population"
    ),
  ])
  func bodyWithANameTwiceIsMalformed(
    method: HTTPMethod, target: String, mediaType: String, body: String, pointer: String
  ) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let response = try await driver.send(method, target, headers: ["content-type": mediaType], json: body)

    #expect(response.status == 400)
    #expect(try response.code == "malformed-body")
    #expect(try response.pointers == [pointer], "\(response.text)")
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
