import Basics
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct DeleteSourceTests {
  private static func store() async throws -> MemoryStore {
    let store = MemoryStore.countingFromOne()
    var rows: [ImportRow] = []
    for number in 1...2_500 {
      let (category, source) = (number % 2 == 0 ? "even" : "odd", number > 2_490 ? "other" : "osm")
      rows.append(try .sample("\(number)", 1, 2, category: category, source: source, sourceID: "node/\(number)"))
    }
    _ = try await store.load(AsyncStream([rows]))
    return store
  }

  @Test func deletionOfASourceReportsTheNumberOfPlaces() async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let first = try await driver.send(.DELETE, "/locations?source=osm&confirm=true")
    let second = try await driver.send(.DELETE, "/locations?source=osm&confirm=true")
    let rest = try await driver.send(.GET, "/locations")

    #expect((first.status, first.text) == (200, #"{"deleted":2490}"#))
    #expect((second.status, second.text) == (200, #"{"deleted":0}"#))
    #expect(try rest.array.count == 10)
  }

  @Test func aSourceIsRemovedFromTheListOnceItHasNoPlaces() async throws {
    let store = MemoryStore.countingFromOne()
    let rows = [try ImportRow.sample("a", 1, 2, source: "a b/c", sourceID: "1")]
    _ = try await store.importRows(
      AsyncStream([rows]), options: ImportOptions(sources: [DataSource(name: "a b/c")]))
    let driver = ServiceDriver(writing: store)

    let refused = try await driver.send(.DELETE, "/sources/a%20b%2Fc")
    _ = try await driver.send(.DELETE, "/locations?source=a%20b%2Fc&confirm=true")
    let removed = try await driver.send(.DELETE, "/sources/a%20b%2Fc")
    let unknown = try await driver.send(.DELETE, "/sources/a%20b%2Fc")
    let listed = try await driver.send(.GET, "/sources")

    #expect(refused.status == 409 && removed.status == 204 && unknown.status == 404)
    #expect(!listed.text.contains("a b/c"))
  }

  @Test func aSourceWithAreasIsNotRemoved() async throws {
    let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
    let ring = "[[0,0],[2,0],[2,2],[0,2],[0,0]]"
    let row = #"{"name":"A","sourceId":"1","geometry":{"type":"Polygon","coordinates":[\#(ring)]}}"#
    let imported = try await driver.send(
      .POST, "/areas/import?source=zones", headers: ["content-type": "application/x-ndjson"], json: row)
    let id = try #require(try await driver.send(.GET, "/areas").array.first?["id"] as? String)

    let refused = try await driver.send(.DELETE, "/sources/zones")
    let deleted = try await driver.send(.DELETE, "/areas/\(id)")
    let removed = try await driver.send(.DELETE, "/sources/zones")

    #expect(imported.status == 200 && deleted.status == 204, "\(imported.text)")
    #expect(refused.status == 409 && refused.text.contains("has areas; DELETE /areas/{id}"), "\(refused.text)")
    #expect(removed.status == 204, "\(removed.text)")
  }

  @Test(arguments: [
    ("", "source"), ("?source=osm", "confirm"), ("?source=osm&confirm=false", "confirm"),
    ("?source=osm&confirm=yes", "confirm"), ("?confirm=true", "source"), ("?source=&confirm=true", "source"),
    ("?source=osm&confirm=true&sourceId=node/1", "sourceId"), ("?source=osm&confirm=true&bbox=1,2,3,4", "bbox"),
  ])
  func unconfirmedDeletionIsRejectedAndDeletesNothing(query: String, parameter: String) async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let response = try await driver.send(.DELETE, "/locations" + query)

    #expect(response.status == 400)
    let errors = try response.object["errors"] as? [[String: Any]]
    #expect(errors?.contains { $0["parameter"] as? String == parameter } == true)
    #expect(try await driver.send(.GET, "/locations?limit=1000&source=osm").array.count == 1_000)
  }

  @Test(arguments: [("if-match", "\"1\""), ("if-none-match", "*")])
  func conditionalDeletionOfASourceIsRejected(field: String, value: String) async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let response = try await driver.send(
      .DELETE, "/locations?source=osm&confirm=true", headers: [field: value])

    #expect(response.status == 412)
    #expect(try await driver.send(.GET, "/locations").array.count == 20)
  }

  @Test func failedDeletionReportsTheNumberOfDeletedPlaces() async throws {
    let store = RefusingStore(try await Self.store(), allowingBatches: 2)
    let driver = ServiceDriver(writing: store)

    let response = try await driver.send(.DELETE, "/locations?source=osm&confirm=true")

    #expect(response.status == 503)
    #expect(try response.object["deleted"] as? Int == 2_000)
    #expect(try (response.object["detail"] as? String)?.contains("2000 places were deleted") == true)
    #expect(try response.object["code"] as? String == "store-unavailable")
  }

  @Test func disconnectStopsTheDeletionAfterABatch() async throws {
    let store = try await Self.store()
    let driver = ServiceDriver(writing: HangUp(store: store))

    let response = try await Task {
      try await driver.send(.DELETE, "/locations?source=osm&confirm=true")
    }.value

    #expect(response.status == 503)
    #expect(try response.object["deleted"] as? Int == 1_000)
    let rest = try await store.allMatches(of: PointQuery(source: .init(name: "osm"), limit: 1_000))
    #expect(rest.count == 1_490)
  }

  @Test func sourceAndItsIdFilterListsAndExports() async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let one = try await driver.send(.GET, "/locations?source=osm&sourceId=node/17")
    let none = try await driver.send(.GET, "/locations?source=other&sourceId=node/17")
    let all = try await driver.send(.GET, "/locations?source=other&limit=4&fields=name,source")
    let near = try await driver.send(.GET, "/locations?source=other&lat=1&long=2&category=even")
    let export = try await driver.send(.GET, "/locations/export?source=other&f=csv")

    #expect(try one.names == ["17"])
    #expect(try none.names == [])
    #expect(try all.array.compactMap { $0["source"] as? String } == Array(repeating: "other", count: 4))
    #expect(all.headers.first(name: "link")?.contains("source=other") == true)
    #expect(try near.array.count == 5)
    #expect(export.text.split(whereSeparator: \.isNewline).count == 11)
  }

  @Test(arguments: ["/locations?sourceId=node/1", "/locations/export?sourceId=node/1"])
  func sourceIdAloneIsRejected(target: String) async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let response = try await driver.send(.GET, target)

    #expect(response.status == 400)
    #expect(try response.object["code"] as? String == "missing-parameter")
    #expect(try response.object["detail"] as? String == "source must be given if sourceId is given")
  }

  @Test func cursorOfOneSourceIsRejectedForAnother() async throws {
    let driver = ServiceDriver(writing: try await Self.store())
    let page = try await driver.send(.GET, "/locations?source=other&limit=4")
    let link = try #require(page.headers.first(name: "link"))
    let query = try #require(link.dropFirst().split(separator: ">").first)

    let next = try await driver.send(.GET, "/locations" + query)
    let other = try await driver.send(.GET, "/locations" + query.replacing("source=other", with: "source=osm"))

    #expect(try next.array.count == 4)
    #expect(other.status == 400)
  }

  @Test func categoriesOfABoxAreCounted() async throws {
    let driver = ServiceDriver(writing: try await Self.store())

    let there = try await driver.send(.GET, "/categories?bbox=1,0,3,2")
    let elsewhere = try await driver.send(.GET, "/categories?bbox=10,0,11,2")
    let invalid = try await driver.send(.GET, "/categories?bbox=1,2")

    #expect(there.text == #"[{"category":"even","count":1250},{"category":"odd","count":1250}]"#)
    #expect(elsewhere.text == "[]")
    #expect(invalid.status == 400)
  }
}

/// A store whose caller is cancelled while it removes a batch, as by a client that hangs up.
private struct HangUp: ForwardingStore {
  let store: MemoryStore

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    withUnsafeCurrentTask { $0?.cancel() }
    return try await store.deleteBatch(ofSource: source, after: position)
  }
}
