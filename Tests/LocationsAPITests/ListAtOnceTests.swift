import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

/// Responses of `GET /locations`, and with a place, without waiting.
@Suite struct ListAtOnceTests {
  private static func driver() async throws -> ServiceDriver {
    let places = try (0..<40).map { index in
      try PointDraft.at(
        Double(index) / 100, 1, name: "Place \(index)", category: index.isMultiple(of: 2) ? "cafe" : "bank",
        tags: ["number": "\(index)"])
    }
    return try await ServiceDriver(places: places)
  }

  private static func bytes(of response: HTTPResponse) async throws -> String {
    String(buffer: try await response.body.collect())
  }

  @Test(arguments: [
    "", "?lat=0&long=1", "?lat=0.1&long=1.2&radius=5000", "?bbox=0,0,2,0.1", "?category=cafe&limit=3", "?limit=100",
    "?lat=0&long=1&fields=id,name,distance", "?ids=00000000-0000-4000-8000-000000000000", "?lat=91&long=1", "?lat=1",
    "?nothing=1", "?limit=0", "?cursor=AAAA",
  ])
  func responseIsTheSameAsWithWaiting(query: String) async throws {
    let (atOnce, waiting) = try await Self.driver().bothResponses("/locations" + query)

    let response = try #require(atOnce)
    #expect(response.status == waiting.status)
    #expect(response.headers.map { "\($0): \($1)" } == waiting.headers.map { "\($0): \($1)" })
    #expect(response.route == waiting.route)
    #expect(try await Self.bytes(of: response) == Self.bytes(of: waiting))
  }

  @Test func unchangedPlacesAreConfirmedAtOnce() async throws {
    let driver = try await Self.driver()
    let tag = try #require(await driver.bothResponses("/locations").atOnce?.headers.first(name: "etag"))

    let (atOnce, waiting) = await driver.bothResponses("/locations", headers: ["if-none-match": tag])

    let response = try #require(atOnce)
    #expect(response.status == .notModified)
    #expect(response.headers.map { "\($0): \($1)" } == waiting.headers.map { "\($0): \($1)" })
  }

  @Test(arguments: [
    "?q=place", "?limit=101", "?format=geojson", "?lang=de", "?fields=attribution", "?fields=label", "?filter=name='a'",
    "?within=POLYGON((0 0,2 0,2 1,0 0))", "?source=osm", "?category=!cafe", "?open=true", "?in=Vienna",
  ])
  func searchThatMayTakeLongHasNoneAtOnce(query: String) async throws {
    let target = "/locations" + query.replacing(" ", with: "%20")
    let (atOnce, _) = try await Self.driver().bothResponses(target)

    #expect(atOnce == nil || atOnce?.status.code == 400)
  }

  @Test func responseThatMayBeCompressedIsNotThereAtOnce() async throws {
    let (atOnce, waiting) = try await Self.driver().bothResponses("/locations", headers: ["accept-encoding": "gzip"])

    #expect(atOnce == nil)
    #expect(waiting.headers.first(name: "content-encoding") == "gzip")
  }

  @Test(arguments: [
    "", "?fields=name,tags", "?format=geojson", "?format=csv", "?nothing=1", "?view=details&format=csv",
  ])
  func placeIsTheSameAsWithWaiting(query: String) async throws {
    let driver = try await Self.driver()
    let list = try await driver.send(.GET, "/locations?limit=1&fields=id")
    let id = try #require(list.text.split(separator: "\"").dropFirst(3).first)
    for target in ["/locations/\(id)", "/locations/00000000-0000-4000-8000-000000000000", "/locations/none"] {
      let (atOnce, waiting) = await driver.bothResponses(target + query)

      let response = try #require(atOnce)
      #expect(response.status == waiting.status)
      #expect(response.headers.map { "\($0): \($1)" } == waiting.headers.map { "\($0): \($1)" })
      #expect(try await Self.bytes(of: response) == Self.bytes(of: waiting))
      guard let tag = response.headers.first(name: "etag") else { continue }
      let known = await driver.bothResponses(target + query, headers: ["if-none-match": "\"1\", \(tag)"])
      #expect(known.atOnce?.status == .notModified)
      #expect(known.waiting.status == .notModified)
      #expect(known.atOnce?.headers.first(name: "etag") == tag)
    }
  }

  @Test(arguments: ["?lang=de", "?fields=attribution", "?fields=openState", "?view=details"])
  func placeThatDependsOnMoreIsNotThereAtOnce(query: String) async throws {
    let (atOnce, _) = try await Self.driver().bothResponses("/locations/00000000-0000-4000-8000-000000000000" + query)

    #expect(atOnce == nil)
  }

  /// An index whose places change once, right after they were taken for a search.
  private struct ChangingIndex: StoreIndex {
    let places = MemoryStore()
    let version = Counter()

    func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? { places.snapshotAtOnce() }

    func snapshotAtOnce() -> (any IndexSnapshot)? {
      let snapshot = places.snapshotAtOnce()
      if version.value == 0 { version.add() }
      return snapshot
    }
  }

  @Test func placesThatChangeDuringASearchAreNotConfirmedAfterwards() async throws {
    let index = ChangingIndex()
    var store = StubStore()
    store.index = index
    store.onKnownDataVersion = { DataVersion(token: "v\(index.version.value)") }
    let driver = ServiceDriver(store: store)
    let tag = try #require(await driver.send(.GET, "/locations").headers.first(name: "etag"))

    let later = try await driver.send(.GET, "/locations", headers: ["if-none-match": tag])

    #expect(later.status == 200)
  }

  @Test func placesOfADatabaseAreWaitedFor() async throws {
    let service = PointsService(store: StubStore())

    #expect(service.snapshotAtOnce() == nil)
  }
}
