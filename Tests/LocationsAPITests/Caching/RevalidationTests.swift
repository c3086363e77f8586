import HTTPServer
import MemoryStore
import NIOHTTP1
import PointFormats
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct RevalidationTests {
  private func store() async throws -> MemoryStore {
    let store = MemoryStore()
    _ = try await store.create(try .at(1, 1, name: "A", category: "cafe"), once: nil)
    return store
  }

  private func driver(_ store: some PointStore) -> ServiceDriver { ServiceDriver(writing: store) }

  private static let targets = [
    "/locations", "/locations?lat=1&long=1", "/locations?f=csv", "/locations?f=geojson&bbox=0,0,2,2",
    "/locations?fields=*", "/locations/check?lat=1&long=1", "/categories",
  ]

  @Test(arguments: targets, [HTTPMethod.GET, .HEAD])
  func unchangedResponseGets304(target: String, method: HTTPMethod) async throws {
    let driver = driver(try await store())
    let first = try await driver.send(.GET, target)
    let tag = try #require(first.headers.first(name: "etag"))

    let second = try await driver.send(method, target, headers: ["if-none-match": "\"other\", \(tag)"])

    #expect(tag.hasPrefix("W/\""))
    #expect(first.headers["cache-control"] == ["no-cache"])
    #expect(second.status == 304)
    #expect(second.body.isEmpty)
    #expect(second.headers["etag"] == [tag])
    #expect(second.headers["cache-control"] == ["no-cache"])
    #expect(second.headers["vary"] == first.headers["vary"])
  }

  @Test(arguments: targets) func everyChangeChangesTheEntityTag(target: String) async throws {
    let store = try await store()
    let driver = driver(store)
    let tag = try #require(try await driver.send(.GET, target).headers.first(name: "etag"))

    _ = try await store.create(try .at(2, 2, name: "B"), once: nil)
    let after = try await driver.send(.GET, target, headers: ["if-none-match": tag])

    #expect(after.status == 200)
    #expect(after.headers.first(name: "etag") != tag)
  }

  @Test func notModifiedResponseNeedsNoSearch() async throws {
    // It fails the test where it is asked for a page.
    var store = StubStore()
    store.onDataVersion = { DataVersion(token: "v1") }
    let driver = ServiceDriver(store: store)
    let tag = try await self.tag(token: "v1")

    let response = try await driver.send(.GET, "/locations", headers: ["if-none-match": tag])

    #expect(response.status == 304)
  }

  @Test func entityTagHasTheVersionKnownBeforeTheSearch() async throws {
    let known = Switchable(DataVersion(token: "before"))
    var store = StubStore { _ in
      known.value = DataVersion(token: "after")
      return PointPage(points: [], hasMore: false)
    }
    store.onKnownDataVersion = { known.value }

    let response = try await ServiceDriver(store: store).send(.GET, "/locations")

    #expect(response.headers["etag"].first?.hasPrefix("W/\"before") == true)
  }

  @Test(arguments: ["/locations", "/locations?f=geojson", "/locations?f=csv"])
  func differentResultsOfAnOutdatedVersionHaveDifferentTags(target: String) async throws {
    let places = try ["before", "after"].map { try PointDraft.at(1, 1, name: $0) }
    let shown = Switchable(0)
    var store = StubStore { _ in
      let time = Timestamp(microsecondsSinceEpoch: 0)
      let point = PointOfInterest(
        id: PointID(high: 1, low: 1), draft: places[shown.value], version: 1, createdAt: time, updatedAt: time)
      return PointPage(points: [FoundPoint(point: point, distanceMetres: nil)], hasMore: false)
    }
    store.onKnownDataVersion = { DataVersion(token: "v1", isExact: false) }
    store.onDataVersion = { DataVersion(token: shown.value == 0 ? "v1" : "v2") }
    let driver = ServiceDriver(store: store)

    let first = try await driver.send(.GET, target)
    let again = try await driver.send(.GET, target)
    let tag = try #require(first.headers.first(name: "etag"))
    let confirmed = try await driver.send(.GET, target, headers: ["if-none-match": tag])
    shown.value = 1
    let second = try await driver.send(.GET, target)
    let changed = try await driver.send(.GET, target, headers: ["if-none-match": tag])

    #expect(again.headers["etag"] == [tag])
    #expect(first.body != second.body)
    #expect(second.headers.first(name: "etag") != tag)
    #expect(confirmed.status == 304)
    #expect(confirmed.headers["etag"] == [tag])
    #expect(changed.status == 200)
  }

  @Test func responseOfAnotherSourceHasNoEntityTag() async throws {
    let known = Switchable(DataVersion(token: "v", source: 1))
    var store = StubStore { _ in
      known.value = DataVersion(token: "v", source: 2)
      return PointPage(points: [], hasMore: false)
    }
    store.onKnownDataVersion = { known.value }

    let response = try await ServiceDriver(store: store).send(.GET, "/locations")

    #expect(response.status == 200)
    #expect(response.headers["etag"].isEmpty)
    #expect(response.headers["cache-control"] == ["no-cache"])
  }

  @Test(arguments: ["/locations?fields=attribution", "/locations/reverse?lat=1&long=1&fields=attribution"])
  func responseWithAttributionsHasNoEntityTag(target: String) async throws {
    // An attribution changes without a change of the places.
    let response = try await driver(try await store()).send(.GET, target)

    #expect(response.status == 200)
    #expect(response.headers["etag"].isEmpty)
  }

  @Test func entityTagDependsOnFormatAndProgramVersion() async throws {
    let store = try await store()
    let driver = driver(store)
    var tags: Set<String> = []
    for format in PointFormat.responses {
      tags.formUnion(try await driver.send(.GET, "/locations", headers: ["accept": format.mediaType]).headers["etag"])
    }

    let other = LocationsAPI(.init(service: PointsService(store: store), version: "1.2.4")).router()
    let response = await other.respond(to: ServiceDriver.request(.GET, "/locations"))

    #expect(tags.count == PointFormat.responses.count)
    #expect(response.headers["etag"].count == 1)
    #expect(tags.isDisjoint(with: response.headers["etag"]))
  }

  @Test func conditionalRequestDuringAnOutageGets503() async throws {
    let driver = ServiceDriver(store: StubStore(failing: .unavailable(reason: "gone")))

    let response = try await driver.send(.GET, "/locations", headers: ["if-none-match": "W/\"1\""])

    #expect(response.status == 503)
    #expect(response.headers.contains(name: "retry-after"))
  }

  @Test(arguments: targets) func listsHaveNoDateAndConditionsByDateAreIgnored(target: String) async throws {
    let driver = driver(try await store())
    let first = try await driver.send(.GET, target)
    let (past, future) = ("Sun, 06 Nov 1994 08:49:36 GMT", "Sat, 21 Nov 2126 10:15:00 GMT")

    let since = try await driver.send(.GET, target, headers: ["if-modified-since": future])
    let unmodified = try await driver.send(.GET, target, headers: ["if-unmodified-since": past])

    #expect(!first.headers.contains(name: "last-modified"))
    #expect(since.status == 200 && unmodified.status == 200)
    #expect(since.headers["etag"] == first.headers["etag"])
  }

  /// The tag of a version, as this service writes it.
  private func tag(token: String) async throws -> String {
    var store = StubStore { _ in PointPage(points: [], hasMore: false) }
    store.onKnownDataVersion = { DataVersion(token: token) }
    return try #require(try await ServiceDriver(store: store).send(.GET, "/locations").headers.first(name: "etag"))
  }
}
