import HTTPServer
import MemoryStore
import NIOHTTP1
import PointFormats
import Points
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct RevalidationTests {
  private static let start = Timestamp(microsecondsSinceEpoch: 784_111_777_000_000)

  /// A store whose places are from the second before the time of the responses.
  private func store() async throws -> MemoryStore {
    let store = MemoryStore(clock: FixedClock(Self.start))
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

  // MARK: Dates

  @Test func changeAfterTheClockWasSetBackInvalidatesTheDate() async throws {
    let time = Switchable(Self.start)
    let clock = MonotoneClock(SwitchableClock(time: time))
    let store = MemoryStore(clock: clock)
    let created = try await store.create(try .at(1, 1, name: "A"), once: nil)
    let api = LocationsAPI(.init(service: PointsService(store: store), clock: clock, version: "1")).router()
    func get(_ headers: HTTPHeaders = [:]) async -> HTTPResponse {
      await api.respond(to: ServiceDriver.request(.GET, "/locations", headers: headers))
    }
    time.value = Timestamp(microsecondsSinceEpoch: Self.start.microsecondsSinceEpoch + 2_000_000)
    let date = try #require(await get().headers.first(name: "last-modified"))

    // The clock is set back into the second of the first change, a change comes, and time goes on.
    time.value = Timestamp(microsecondsSinceEpoch: Self.start.microsecondsSinceEpoch + 1)
    _ = try await store.put(try .at(1, 1, name: "B"), id: created.id, if: .none)
    for seconds in [0, 1, 2, 3, 60] as [Int64] {
      time.value = Timestamp(microsecondsSinceEpoch: Self.start.microsecondsSinceEpoch + seconds * 1_000_000)
      let response = await get(["if-modified-since": date])
      #expect(response.status == .ok)
      #expect(response.headers.first(name: "last-modified") != date)
    }
  }

  @Test func ifModifiedSinceIsUsedWithoutIfNoneMatch() async throws {
    let driver = driver(try await store())
    let date = try #require(try await driver.send(.GET, "/locations").headers.first(name: "last-modified"))

    let same = try await driver.send(.GET, "/locations", headers: ["if-modified-since": date])
    let later = "Sun, 06 Nov 1994 08:49:38 GMT"
    let other = try await driver.send(.GET, "/locations", headers: ["if-modified-since": later])
    let both = try await driver.send(
      .GET, "/locations", headers: ["if-modified-since": date, "if-none-match": "W/\"x\""])

    #expect(date == "Sun, 06 Nov 1994 08:49:37 GMT")
    #expect(same.status == 304)
    #expect(other.status == 200)
    #expect(both.status == 200)
  }

  @Test(arguments: [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 200), ("Sun, 06 Nov 1994 08:49:38 GMT", 200),
    ("Sun, 06 Nov 1994 08:49:36 GMT", 412), ("Mon, 31 Oct 1994 23:59:59 GMT", 412), ("yesterday", 200),
    ("Sun, 06 Nov 1994 08:49:36 CET", 200), ("Sun, 06 Foo 1994 08:49:36 GMT", 200), ("", 200),
  ])
  func readWhoseIfUnmodifiedSinceFailsGets412(date: String, status: Int) async throws {
    let driver = driver(try await store())
    let modified = try #require(try await driver.send(.GET, "/locations").headers.first(name: "last-modified"))

    let response = try await driver.send(.GET, "/locations", headers: ["if-unmodified-since": date])
    let head = try await driver.send(.HEAD, "/locations", headers: ["if-unmodified-since": date])
    let current = try await driver.send(
      .GET, "/locations", headers: ["if-unmodified-since": date, "if-modified-since": modified])
    let tagged = try await driver.send(.GET, "/locations", headers: ["if-unmodified-since": date, "if-match": "*"])

    #expect(response.status == status && head.status == status)
    #expect(current.status == (status == 412 ? 412 : 304))
    #expect(tagged.status == 200)
    #expect(try status == 200 || response.code == "version-mismatch")
    // Health has no time of a last change.
    #expect(try await driver.send(.GET, "/health/live", headers: ["if-unmodified-since": date]).status == 200)
  }

  @Test func lastModifiedIsOmittedDuringTheCurrentSecond() async throws {
    let store = try await store()
    let revalidation = Revalidation(
      service: PointsService(store: store), policy: CachePolicy(), program: ProgramTag(version: "1", settingsDigest: 0),
      clock: FixedClock(Self.start))
    let later = Revalidation(
      service: PointsService(store: store), policy: CachePolicy(), program: ProgramTag(version: "1", settingsDigest: 0),
      clock: FixedClock(Timestamp(microsecondsSinceEpoch: Self.start.microsecondsSinceEpoch + 1_000_000)))
    let request = ServiceDriver.request(.GET, "/locations")

    let during = try await revalidation.respond(to: request, in: .json) { ExpiringResponse(HTTPResponse()) }
    let after = try await later.respond(to: request, in: .json) { ExpiringResponse(HTTPResponse()) }

    #expect(!during.headers.contains(name: "last-modified"))
    #expect(after.headers.contains(name: "last-modified"))
  }

  /// The tag of a version, as this service writes it.
  private func tag(token: String) async throws -> String {
    var store = StubStore { _ in PointPage(points: [], hasMore: false) }
    store.onKnownDataVersion = { DataVersion(token: token) }
    return try #require(try await ServiceDriver(store: store).send(.GET, "/locations").headers.first(name: "etag"))
  }
}

/// A clock that a test sets.
private struct SwitchableClock: WallClock {
  let time: Switchable<Timestamp>

  func now() -> Timestamp { time.value }
}
