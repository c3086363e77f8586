import MemoryStore
import NIOHTTP1
import Points
import Testing

@Suite struct CreateTests {
  private let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
  private let cafe = #"{"name":"Café","lat":1.5,"long":2,"category":"cafe","source":"osm","sourceId":"1"}"#

  @Test func aNewPlaceIsToldWithItsAddressAndTag() async throws {
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

    let answer = try await driver.send(.POST, "/locations", json: cafe)

    #expect(answer.status == 409)
    #expect(try answer.code == "conflict")
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
    let answer = try await driver.send(.POST, "/locations", json: body)

    #expect(answer.status == 422)
    #expect(try answer.code == "invalid-place")
    #expect(try Set(answer.pointers) == Set(pointers))
  }

  @Test(arguments: ["", "{", #"{"name":"x",}"#, "\u{FEFF}{}", #"{"name":"\ud800"}"#])
  func aBodyThatIsNotJSONIsMalformed(body: String) async throws {
    let answer = try await driver.send(.POST, "/locations", json: body)

    #expect(answer.status == 400)
    #expect(try answer.code == "malformed-body")
  }

  @Test func whatTheServiceMakesIsLeftOutSoThatAPlaceCanBeSentBack() async throws {
    let body = #"{"name":"x","lat":1,"long":2,"version":9,"createdAt":"?","updatedAt":"?","distance":4}"#

    let answer = try await driver.send(.POST, "/locations?fields=*", json: body)

    #expect(answer.status == 201)
    #expect(try answer.object["version"] as? Int == 1)
  }

  @Test(arguments: ["text/plain", "application/x-www-form-urlencoded", "application/merge-patch+json"])
  func anotherMediaTypeIsRefusedWithThoseThatAreTaken(type: String) async throws {
    let answer = try await driver.send(.POST, "/locations", headers: ["content-type": type], json: cafe)

    #expect(answer.status == 415)
    #expect(try answer.code == "unsupported-media-type")
    #expect(answer.headers["accept-post"] == ["application/json, application/geo+json"])
  }

  @Test func aFeatureIsAPlaceToo() async throws {
    let feature =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"x","tags":{"height":3}}}"#
    let unknown =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"x","adress":3}}"#

    let answer = try await driver.send(
      .POST, "/locations?f=json", headers: ["content-type": "application/geo+json"], json: feature)
    let misspelt = try await driver.send(
      .POST, "/locations", headers: ["content-type": "application/geo+json"], json: unknown)

    #expect(answer.status == 201)
    #expect(try answer.object["lat"] as? Double == 1)
    #expect(try answer.object["tags"] as? [String: String] == ["height": "3"])
    #expect(misspelt.status == 422)
    #expect(try misspelt.pointers == ["/properties/adress"])
  }

  @Test func aStoreThatIsOnlyReadHasNoCallsThatWrite() async throws {
    let answer = try await ServiceDriver(places: []).send(.POST, "/locations", json: cafe)

    #expect(answer.status == 405)
  }
}

@Suite struct IdempotencyTests {
  private let place = #"{"name":"x","lat":1,"long":2}"#

  @Test func aRepeatAnswersAsTheFirstDid() async throws {
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

  @Test func aKeyWithAnotherBodyIsRefused() async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    _ = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)

    let answer = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place + " ")

    #expect(answer.status == 422)
    #expect(try answer.code == "idempotency-key-reused")
  }

  @Test func aKeyWhoseFirstRequestIsNotAnsweredIsAConflictForAWhile() async throws {
    let driver = ServiceDriver(writing: RefusingStore(creations: .keyInFlight))

    let answer = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "a"], json: place)

    #expect(answer.status == 409)
    #expect(answer.headers["retry-after"] == ["1"])
  }

  @Test(arguments: ["", "a b", "é", String(repeating: "x", count: 256)])
  func aKeyIsVisibleASCIIOfBoundedLength(key: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let answer = try await driver.send(.POST, "/locations", headers: ["idempotency-key": key], json: place)

    #expect(answer.status == 400)
    #expect(try answer.parameters == ["Idempotency-Key"])
  }
}
