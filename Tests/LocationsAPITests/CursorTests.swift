import HTTPServer
import JSONText
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// Cursors with the parameters of the page before them, and with others.
@Suite struct CursorTests {
  /// Four places that have the same tags, a cafe, a museum, a cafe and a museum.
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(
      places: try (0..<4).map { number in
        try .at(
          1, 2 + Double(number) / 10, name: "House \(number)", category: ["cafe", "museum"][number % 2],
          tags: ["a": "1", "b": "2"], sourceID: "\(number)")
      })
  }

  private static let items = "/ogc/collections/places/items?"

  /// Returns the cursor of the page after the first place of a list.
  private func cursor(_ driver: ServiceDriver, _ target: String) async throws -> String {
    let first = try await driver.send(.GET, target + "&limit=1")
    #expect(first.status == 200, "\(first.text)")
    return String(try #require(first.headers.first(name: "link")?.firstMatch(of: /cursor=([^&>]*)/)).1)
  }

  @Test(arguments: [
    ("lat=1&long=2", "lng=2.0&lat=1.00"), ("lat=1&long=2&radius=90000", "radius=90000.0&long=2&lat=1"),
    ("lat=1&long=2", "lat=1&long=2&fields=name&lang=de&f=json"),
    ("category=cafe,museum", "category=museum&category=cafe"), ("bbox=0,0,10,10", "bbox=0.0,0,10,10.00"),
    ("tag.a=1&tag.b=2", "tag.b=2&tag.a=1"), ("tag.a=1", "tag.a=1&status=any"),
    ("filter=a%3D%271%27", "filter=a%3D%271%27&filter-lang=cql2-text"),
    ("q=house", "q=house&autocomplete=false&sort=relevance"), ("source=test", "source=test&fields=*,attribution"),
  ])
  func cursorContinuesWithTheSameConditionsInAnotherForm(query: String, other: String) async throws {
    let driver = try await driver()
    let cursor = try await cursor(driver, "/locations?" + query)

    let next = try await driver.send(.GET, "/locations?\(other)&cursor=\(cursor)")

    #expect(next.status == 200, "\(next.text)")
    #expect(try next.names.count == 3)
  }

  @Test func cursorContinuesWithTheConditionsInABody() async throws {
    let driver = try await driver()
    let cursor = try await cursor(driver, "/locations?lat=1&long=2&category=museum,cafe&bbox=0,0,10,10&tag.a=1")

    let next = try await driver.send(
      .POST, "/locations/search?cursor=\(cursor)",
      json: #"{"long":2,"lat":1.0,"category":["cafe","museum"],"bbox":[0,0,10,10],"tag.a":1}"#)

    #expect(try next.names == ["House 1", "House 2", "House 3"])
  }

  @Test(arguments: [
    ("lat=1&long=2", "lat=2&long=1"), ("lat=1&long=2", "lat=1&long=2&radius=90000"), ("lat=1&long=2", "limit=2"),
    ("category=cafe", "category=museum"), ("category=cafe", "category=!cafe"), ("bbox=0,0,10,10", "bbox=0,0,10,11"),
    ("tag.a=1", "tag.b=1"), ("tag.a=1&tag.b=2", "tag.a=2&tag.b=1"), ("tag.a=1", "tag.a=1&status=operating"),
    ("source=test", "source=test&sourceId=1"), ("q=house", "q=house&autocomplete=true"), ("q=house", "q=houses"),
    ("filter=a%3D%271%27", "filter=b%3D%271%27"), ("limit=2", "open=2026-11-23T12:30"),
    ("route=LINESTRING(2%201,3%201)&radius=900", "route=LINESTRING(2%201,3%202)&radius=900"),
    ("within=POLYGON((1%200,3%200,3%202,1%200))", "within=POLYGON((1%200,3%200,3%203,1%200))"),
  ])
  func cursorOfOtherConditionsIsRejected(query: String, other: String) async throws {
    let driver = try await driver()
    let cursor = try await cursor(driver, "/locations?" + query.replacing("limit=2", with: ""))

    let next = try await driver.send(.GET, "/locations?\(other)&cursor=\(cursor)")

    #expect(next.status == 400)
    #expect(try next.code == "invalid-parameter")
    #expect(try next.parameters == ["cursor"])
  }

  @Test func cursorOfIdsIsThatOfTheirOrder() async throws {
    let driver = try await driver()
    let ids = try await driver.send(.GET, "/locations").array.compactMap { $0["id"] as? String }
    let cursor = try await cursor(driver, "/locations?ids=" + ids.joined(separator: ","))

    let same = try await driver.send(.GET, "/locations?ids=\(ids.joined(separator: "&ids="))&cursor=\(cursor)")
    let reversed = try await driver.send(
      .GET, "/locations?ids=\(ids.reversed().joined(separator: ","))&cursor=\(cursor)")

    #expect(try same.names.count == 3)
    #expect(try reversed.parameters == ["cursor"])
  }

  @Test func cursorOfFeaturesDependsOnTheBoxAndNotOnReferenceSystems() async throws {
    let driver = try await driver()
    let axes = "http://www.opengis.net/def/crs/EPSG/0/4326"
    let cursor = try await cursor(driver, Self.items + "bbox=0,0,10,5&datetime=1970-01-01T00:00:00Z/..")

    let rest = "datetime=1970-01-01T00:00:00Z/&crs=\(axes)&cursor=\(cursor)"
    let same = try await driver.send(.GET, Self.items + "bbox=0,0,5,10&bbox-crs=\(axes)&" + rest)
    let other = try await driver.send(.GET, Self.items + "bbox=0,0,10,5&bbox-crs=\(axes)&" + rest)
    let later = try await driver.send(
      .GET, Self.items + "bbox=0,0,10,5&datetime=1970-01-01T00:00:00Z/2100-01-01T00:00:00Z&cursor=\(cursor)")

    #expect(same.status == 200, "\(same.text)")
    #expect(try other.parameters == ["cursor"] && later.parameters == ["cursor"])
  }
}
