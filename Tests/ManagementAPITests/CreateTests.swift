import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing

@testable import LocationsAPI

@Suite struct CreateTests {
  private let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
  private let cafe = #"{"name":"Café","lat":1.5,"long":2,"category":"cafe","source":"osm","sourceId":"1"}"#

  @Test func newPlaceIsReturnedWithLocationAndEntityTag() async throws {
    let created = try await driver.send(.POST, "/locations", json: cafe)
    let location = try #require(created.location)

    let got = try await driver.send(.GET, location)

    #expect(created.status == 201)
    #expect(created.headers["etag"] == ["\"1\""])
    #expect(try created.object["name"] as? String == "Café")
    #expect(got.body == created.body)
    #expect(got.headers["etag"] == created.headers["etag"])
  }

  @Test func aTakenOriginIsAConflict() async throws {
    _ = try await driver.send(.POST, "/locations", json: cafe)

    let response = try await driver.send(.POST, "/locations", json: cafe)

    #expect(response.status == 409)
    #expect(try response.code == "conflict")
  }

  @Test(arguments: [
    (#"{"name":"x"}"#, ["/lat", "/long"]),
    (#"{"name":"","lat":91,"long":"east"}"#, ["/long", "/lat", "/name"]),
    (#"{"name":"x","lat":1,"long":2,"adress":"?"}"#, ["/adress"]),
    (#"{"name":"x","lat":1,"long":2,"tags":{"a/b":[1]}}"#, ["/tags/a~1b"]),
    (#"{"name":"x","lat":1,"long":2,"source":"osm"}"#, ["/sourceId"]),
    (#"{"name":"x","lat":1,"long":2,"type":"Feature"}"#, ["/type"]),
    ("[]", [""]),
  ])
  func everyBrokenRuleIsNamedByItsPointer(body: String, pointers: [String]) async throws {
    let response = try await driver.send(.POST, "/locations", json: body)

    #expect(response.status == 422)
    #expect(try response.code == "invalid-place")
    #expect(try Set(response.pointers) == Set(pointers))
    #expect(try (response.object["detail"] as? String)?.hasSuffix(" more") == false)
  }

  @Test func onlyTheFirstOfManyBrokenRulesAreNamed() async throws {
    let members = (0..<5_000).map { "\"member \($0)\":0" }.joined(separator: ",")

    let response = try await driver.send(.POST, "/locations", json: "{\(members)}")

    #expect(response.status == 422)
    #expect(try response.pointers.count == Problem.maximumErrorCount)
    #expect(try (response.object["detail"] as? String)?.hasSuffix("; and 4903 more") == true)
    #expect(response.text.utf8.count < 50_000)
  }

  @Test(arguments: ["", "{", #"{"name":"x",}"#, "\u{FEFF}{}", #"{"name":"\ud800"}"#])
  func aBodyThatIsNotJSONIsMalformed(body: String) async throws {
    let response = try await driver.send(.POST, "/locations", json: body)

    #expect(response.status == 400)
    #expect(try response.code == "malformed-body")
  }

  @Test func fieldsThatTheServiceSetsAreIgnoredInABody() async throws {
    let body = #"{"name":"x","lat":1,"long":2,"version":9,"createdAt":"?","updatedAt":"?","distance":4}"#

    let response = try await driver.send(.POST, "/locations?fields=*", json: body)

    #expect(response.status == 201)
    #expect(try response.object["version"] as? Int == 1)
  }

  @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json"])
  func otherMediaTypeIsRejectedWithTheAcceptedOnes(type: String) async throws {
    let response = try await driver.send(.POST, "/locations", headers: ["content-type": type], json: cafe)

    #expect(response.status == 415)
    #expect(try response.code == "unsupported-media-type")
    #expect(response.headers["accept-post"] == ["application/json, application/geo+json"])
  }

  @Test func aFeatureIsAPlaceToo() async throws {
    let feature =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"x","tags":{"height":3}}}"#
    let unknown =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"x","adress":3}}"#

    let response = try await driver.send(
      .POST, "/locations?f=json", headers: ["content-type": "application/geo+json"], json: feature)
    let misspelt = try await driver.send(
      .POST, "/locations", headers: ["content-type": "application/geo+json"], json: unknown)

    #expect(response.status == 201)
    #expect(try response.object["lat"] as? Double == 1)
    #expect(try response.object["tags"] as? [String: String] == ["height": "3"])
    #expect(misspelt.status == 422)
    #expect(try misspelt.pointers == ["/properties/adress"])
  }

  @Test func readOnlyStoreRefusesAPlaceWithTheReason() async throws {
    let store = RefusingStore(creations: .store(.readOnly(reason: "the database is a standby")))

    let response = try await ServiceDriver(writing: store).send(.POST, "/locations", json: cafe)

    #expect(response.status == 503)
    #expect(response.headers["retry-after"] == ["2"])
    #expect(try response.code == "store-unavailable")
    #expect(response.text.contains("the store refuses writes at the moment: the database is a standby"))
  }
}

@Suite struct IdempotencyTests {
  private let place = #"{"name":"x","lat":1,"long":2}"#

  @Test func repeatedRequestGetsTheFirstResponse() async throws {
    let store = MemoryStore()
    let driver = ServiceDriver(writing: store)

    let first = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)
    let repeated = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)
    let other = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "b"], json: place)

    #expect(first.status == 201 && repeated.status == 201)
    #expect(repeated.body == first.body && repeated.headers["location"] == first.headers["location"])
    #expect(other.body != first.body)
    #expect(store.count == 2)
  }

  @Test func idempotencyKeyWithAnotherBodyIsRejected() async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    _ = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)

    let response = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place + " ")

    #expect(response.status == 422)
    #expect(try response.code == "idempotency-key-reused")
  }

  @Test func idempotencyKeyOfARequestInProgressIsAConflict() async throws {
    let driver = ServiceDriver(writing: RefusingStore(creations: .keyInFlight))

    let response = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)

    #expect(response.status == 409)
    #expect(response.headers["retry-after"] == ["1"])
  }

  @Test(arguments: ["", "a b", "é", String(repeating: "x", count: 256)])
  func idempotencyKeyIsVisibleASCIIOfBoundedLength(key: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let response = try await driver.send(.POST, "/locations", headers: ["idempotency-key": key], json: place)

    #expect(response.status == 400)
    #expect(try response.parameters == ["Idempotency-Key"])
  }
}
