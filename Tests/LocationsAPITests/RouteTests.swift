import Foundation
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct RouteTests {
  @Test func onePlaceComesWithTheETagOfItsVersion() async throws {
    let driver = try await ServiceDriver(places: [.at(1, 2, name: "Here")])
    let id = try #require(try await driver.send(.GET, "/locations").array[0]["id"] as? String)

    let response = try await driver.send(.GET, "/locations/\(id.uppercased())?fields=*")

    #expect(response.status == 200)
    #expect(response.headers["etag"] == ["\"1\""])
    #expect(try response.object["id"] as? String == id)
    #expect(try response.object["version"] as? Int == 1)
  }

  @Test(arguments: ["\"1\"", "W/\"1\"", "\"7\", \"1\"", "*", "W/\"x\" , W/\"1\"", "\"x,y\", \"1\""])
  func matchingETagGets304(ifNoneMatch: String) async throws {
    let driver = try await ServiceDriver(places: [.at(1, 2, name: "Here")])
    let id = try #require(try await driver.send(.GET, "/locations").array[0]["id"] as? String)

    let response = try await driver.send(.GET, "/locations/\(id)", headers: ["if-none-match": ifNoneMatch])

    #expect(response.status == 304)
    #expect(response.body.isEmpty)
    #expect(response.headers["etag"] == ["\"1\""])
  }

  @Test(arguments: ["\"2\"", "1", "\"1.geojson\"", "\"1", ""])
  func differentETagGetsThePlace(ifNoneMatch: String) async throws {
    let driver = try await ServiceDriver(places: [.at(1, 2, name: "Here")])
    let id = try #require(try await driver.send(.GET, "/locations").array[0]["id"] as? String)

    let response = try await driver.send(.GET, "/locations/\(id)", headers: ["if-none-match": ifNoneMatch])

    #expect(response.status == 200)
  }

  @Test(arguments: [HTTPMethod.GET, .HEAD])
  func readWhoseIfMatchFailsGets412(method: HTTPMethod) async throws {
    let driver = try await ServiceDriver(places: [.at(1, 2, name: "Here")])
    let id = try #require(try await driver.send(.GET, "/locations").array[0]["id"] as? String)
    let list = try #require(try await driver.send(.GET, "/locations").headers.first(name: "etag"))
    func status(_ target: String, _ headers: HTTPHeaders) async throws -> Int {
      try await driver.send(method, target, headers: headers).status
    }

    for tags in ["\"1\"", "*", "\"7\", \"1\"", "\"1.geojson\"", "\"1.gzip\""] {
      #expect(try await status("/locations/\(id)", ["if-match": tags]) == 200, "\(tags)")
    }
    for tags in ["\"2\"", "W/\"1\"", "\"x\""] {
      #expect(try await status("/locations/\(id)", ["if-match": tags]) == 412, "\(tags)")
      #expect(try await status("/locations/\(id)", ["if-match": tags, "if-none-match": "\"1\""]) == 412, "\(tags)")
    }
    #expect(try await status("/locations/\(id)", ["if-match": "\"1\"", "if-none-match": "\"1\""]) == 304)
    #expect(try await status("/locations/\(id)", ["if-match": "1"]) == 400)
    // A weak tag, or none, matches only the asterisk.
    for target in ["/locations", "/health/live"] {
      #expect(try await status(target, ["if-match": list]) == 412, "\(target)")
      #expect(try await status(target, ["if-match": "*"]) == 200, "\(target)")
    }
    #expect(try await status("/locations/0199a1b2-0000-7000-8000-000000000000", ["if-match": "\"1\""]) == 404)
  }

  @Test func anUnknownIDIsNotFound() async throws {
    let driver = try await ServiceDriver(places: [])

    let response = try await driver.send(.GET, "/locations/0199a1b2-0000-7000-8000-000000000000")

    #expect(response.status == 404)
    #expect(try response.code == "not-found")
  }

  @Test func aCheckFindsTheNearestPlaceWithinTheRadius() async throws {
    let driver = try await ServiceDriver(places: [.at(0, 0, name: "Near"), .at(0, 1, name: "Far")])

    let hit = try await driver.send(.GET, "/locations/check?lat=0&long=0.0004")
    let miss = try await driver.send(.GET, "/locations/check?lat=0&long=0.00045")
    let wide = try await driver.send(.GET, "/locations/check?lat=0&long=0.0005&radius=56")

    #expect(try hit.object["isPointOfInterest"] as? Bool == true)
    #expect(try (hit.object["location"] as? [String: Any])?["name"] as? String == "Near")
    #expect(try (hit.object["location"] as? [String: Any])?["distance"] as? Double == 44.5)
    #expect(miss.text == #"{"isPointOfInterest":false}"#)
    #expect(try wide.object["isPointOfInterest"] as? Bool == true)
  }

  @Test func featuredPlaceIsCacheableUntilTheEndOfItsInterval() async throws {
    let places = try (0..<50).map { try PointDraft.at(0, Double($0), name: "\($0)") }
    func featured(atSeconds seconds: Int64) async throws -> ServiceDriver.Response {
      let clock = FixedClock(Timestamp(microsecondsSinceEpoch: seconds * 1_000_000))
      return try await ServiceDriver(places: places, clock: clock).send(.GET, "/locations/featured")
    }

    let first = try await featured(atSeconds: 1_700_000_000)
    let last = try await featured(atSeconds: 1_700_000_009)
    var names: Set<String> = []
    for slot in 0..<50 {
      names.insert(
        try #require(try await featured(atSeconds: 1_700_000_000 + Int64(slot) * 10).object["name"] as? String))
    }

    #expect(first.body == last.body)
    #expect(first.headers["cache-control"] == ["public, max-age=10"])
    #expect(last.headers["cache-control"] == ["public, max-age=1"])
    #expect(names.count > 10)
  }

  @Test func withoutPlacesTheFeaturedPlaceIs404() async throws {
    let response = try await ServiceDriver(places: []).send(.GET, "/locations/featured")

    #expect(response.status == 404)
  }

  @Test func categoriesComeMostFrequentFirst() async throws {
    let categories = ["b", "a", "c", "c", nil]
    let driver = try await ServiceDriver(
      places: categories.enumerated().map { try .at(0, Double($0.offset), name: "x", category: $0.element) })

    let response = try await driver.send(.GET, "/categories")

    #expect(
      response.text == #"[{"category":"c","count":2},{"category":"a","count":1},{"category":"b","count":1}]"#)
  }

  @Test func indexHasTheVersionAndLinks() async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, "/")

    #expect(try response.object["name"] as? String == "waymark")
    #expect(try response.object["version"] as? String == "1.2.3")
    #expect(try (response.object["links"] as? [String: String])?["categories"] == "categories{?bbox,f,lang,tree}")
  }

  @Test func livenessIsIndependentOfTheStore() async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, "/health/live")

    #expect(response.status == 200)
  }

  @Test(arguments: [
    (PointStoreError.unavailable(reason: "host db.internal refused"), 503),
    (.schemaMismatch(reason: "run: waymark migrate"), 503),
    (.timeout, 503), (.overloaded, 503), (.unexpected(reason: "XX000"), 503),
  ])
  func aServiceWhoseStoreFailsIsNotReady(error: PointStoreError, status: Int) async throws {
    let response = try await ServiceDriver(store: StubStore(failing: error)).send(.GET, "/health/ready")

    #expect(response.status == status)
    #expect(response.headers["retry-after"].count == 1)
    #expect(!response.text.contains("db.internal") && !response.text.contains("XX000"))
  }

  @Test func serverThatRefusesWritesIsReadyAndSaysWhy() async throws {
    var store = StubStore()
    store.onReadiness = { () throws(PointStoreError) in .readOnly(reason: "the disk is full") }

    let response = try await ServiceDriver(store: store).send(.GET, "/health/ready")

    #expect(response.status == 200)
    #expect(response.text == #"{"status":"ok","writes":{"status":"refused","reason":"the disk is full"}}"#)
  }

  /// An index that is not complete.
  private struct BuiltIndex: StoreIndex {
    func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? { nil }
    var followsDatabase: Bool { true }
    var state: (phase: String, points: Int)? { ("building", 7) }
    var isAwaited: Bool { true }
  }

  @Test(arguments: [(StoreReadiness.ready, 503), (.readOnly(reason: "a standby"), 200)])
  func serverIsReadyWithoutAnIndexOnlyWhereThereWillBeNone(readiness: StoreReadiness, status: Int) async throws {
    var store = StubStore()
    store.index = BuiltIndex()
    store.onReadiness = { () throws(PointStoreError) in readiness }

    let response = try await ServiceDriver(store: store).send(.GET, "/health/ready")

    #expect(response.status == status)
  }

  /// An index that follows no database, and whose opening hours are not evaluated.
  private struct EvaluatedIndex: StoreIndex {
    var isAwaited: Bool
    func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? { nil }
    var state: (phase: String, points: Int)? { isAwaited ? ("evaluating_hours", 7) : nil }
  }

  @Test(arguments: [true, false])
  func serverIsNotReadyBeforeTheIndexOfAMemoryStoreIs(isAwaited: Bool) async throws {
    var store = StubStore()
    store.index = EvaluatedIndex(isAwaited: isAwaited)
    store.onReadiness = { () throws(PointStoreError) in .ready }

    let response = try await ServiceDriver(store: store).send(.GET, "/health/ready")

    #expect(response.status == (isAwaited ? 503 : 200))
    #expect(response.text.contains("its phase is evaluating_hours") == isAwaited)
  }

  /// Areas that are not read yet.
  private struct AwaitedAreas: AreaStore {
    func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas { Areas() }
    func recentAreas() -> Areas? { nil }
    var isAwaited: Bool { true }
    func commit(
      _ change: AreaChange, onto version: Int64, for client: String?
    ) async throws(PointStoreError) -> Areas? { nil }
    func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? { nil }
  }

  @Test func serverIsNotReadyBeforeTheAreasAreInMemory() async throws {
    var store = StubStore()
    store.onReadiness = { () throws(PointStoreError) in .ready }
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")
    api.areas = ObservedAreas(AwaitedAreas(), observers: [])

    let response = try await ServiceDriver(LocationsAPI(api)).send(.GET, "/health/ready")

    #expect(response.status == 503)
    #expect(try response.code == "index-not-ready")
    #expect(response.text.contains("the phase is reading_areas"))
  }

  @Test func readinessNamesTheMigrateCommandForAnOutdatedSchema() async throws {
    let store = StubStore(failing: .schemaMismatch(reason: "0002 is missing; run: waymark migrate"))

    let response = try await ServiceDriver(store: store).send(.GET, "/health/ready")

    #expect(try response.object["detail"] as? String == "0002 is missing; run: waymark migrate")
  }

  @Test(
    arguments: ["/locations", "/locations/0199a1b2-0000-7000-8000-000000000000", "/locations/featured", "/categories"],
    [
      (PointStoreError.unavailable(reason: "SELECT secret"), 503, "store-unavailable", true),
      (.schemaMismatch(reason: "SELECT secret"), 503, "store-unavailable", true),
      (.overloaded, 503, "overloaded", true),
      (.timeout, 504, "store-timeout", false),
      (.outcomeUnknown(reason: "SELECT secret"), 504, "outcome-unknown", false),
      (.unexpected(reason: "SELECT secret"), 500, "internal", false),
    ])
  func storeErrorIsAProblemWithoutSecrets(
    target: String, failure: (error: PointStoreError, status: Int, code: String, retries: Bool)
  ) async throws {
    let response = try await ServiceDriver(store: StubStore(failing: failure.error)).send(.GET, target)

    #expect(response.status == failure.status)
    #expect(try response.code == failure.code)
    #expect(response.headers["retry-after"].isEmpty != failure.retries)
    #expect(!response.text.contains("SELECT"))
  }

  @Test(arguments: [
    ("/locations", "DELETE, GET, HEAD, OPTIONS, POST"), ("/locations/check", "GET, HEAD, OPTIONS"),
    ("/locations/featured", "GET, HEAD, OPTIONS"), ("/categories", "GET, HEAD, OPTIONS"),
    ("/health/live", "GET, HEAD, OPTIONS"), ("/", "GET, HEAD, OPTIONS"),
  ])
  func otherMethodsAreRejectedWithTheAllowedOnes(target: String, allowed: String) async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.PUT, target)

    #expect(response.status == 405)
    #expect(response.headers["allow"] == [allowed])
    #expect(try response.code == "method-not-allowed")
  }
}
