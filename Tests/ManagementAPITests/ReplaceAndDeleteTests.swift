import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing

@Suite struct ReplaceAndDeleteTests {
  private let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
  private let target = "/locations/0199a1b2-0000-7000-8000-000000000001"

  private func put(_ name: String, headers: HTTPHeaders = [:]) async throws -> ServiceDriver.Response {
    try await driver.send(.PUT, target, headers: headers, json: #"{"name":"\#(name)","lat":1,"long":2}"#)
  }

  @Test func putCreatesAndThenReplaces() async throws {
    let created = try await put("a")
    let replaced = try await put("b")
    let unchanged = try await put("b")

    #expect(created.status == 201)
    #expect(created.location == target)
    #expect(replaced.status == 200)
    #expect(replaced.headers["etag"] == ["\"2\""])
    #expect(unchanged.headers["etag"] == ["\"2\""])
  }

  @Test(arguments: [
    ("\"1\"", 200), ("*", 200), ("\"7\", \"1\"", 200), ("\"1.geojson\"", 200), ("\"2\"", 412), ("W/\"1\"", 412),
    ("\"01\"", 412), ("\"1.json\"", 412), ("\"x\"", 412), ("1", 400), ("", 400),
  ])
  func changeIsMadeOnlyToVersionsInIfMatch(tag: String, status: Int) async throws {
    _ = try await put("a")

    let response = try await put("b", headers: ["if-match": tag])

    #expect(response.status == status)
    if status == 412 {
      #expect(try response.code == "version-mismatch")
      #expect(response.headers["etag"] == ["\"1\""])
    }
  }

  @Test func ifNoneMatchCreatesOnlyAbsentPlaces() async throws {
    let created = try await put("a", headers: ["if-none-match": "*"])
    let rejected = try await put("b", headers: ["if-none-match": "*"])
    let impossible = try await put("b", headers: ["if-none-match": "*", "if-match": "*"])
    let odd = try await put("b", headers: ["if-none-match": "\"1\""])

    #expect(created.status == 201)
    #expect(rejected.status == 412)
    #expect(impossible.status == 412)
    #expect(odd.status == 400)
  }

  @Test func ifMatchDoesNotCreate() async throws {
    let response = try await put("a", headers: ["if-match": "*"])

    #expect(response.status == 412)
  }

  @Test func idInTheBodyMustEqualThatOfThePath() async throws {
    let same = try await driver.send(
      .PUT, target, json: #"{"id":"0199a1b2-0000-7000-8000-000000000001","name":"x","lat":1,"long":2}"#)
    let other = try await driver.send(
      .PUT, target, json: #"{"id":"0199a1b2-0000-7000-8000-000000000002","name":"x","lat":1,"long":2}"#)

    #expect(same.status == 201)
    #expect(other.status == 422)
    #expect(try other.pointers == ["/id"])
  }

  @Test(arguments: [#""foo""#, "5", #""0199a1b2-0000-7000-8000-000000000002""#])
  func idOfAFeatureMustEqualThatOfThePath(id: String) async throws {
    let feature = """
      {"type":"Feature","id":\(id),"geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"x"}}
      """

    let response = try await driver.send(
      .PUT, target, headers: ["content-type": "application/geo+json"], json: feature)

    #expect(response.status == 422)
    #expect(try response.pointers == ["/id"])
  }

  @Test func aDeletedPlaceIsGone() async throws {
    _ = try await put("a")

    let mismatched = try await driver.send(.DELETE, target, headers: ["if-match": "\"9\""])
    let deleted = try await driver.send(.DELETE, target, headers: ["if-match": "\"1\""])
    let again = try await driver.send(.DELETE, target, headers: ["if-match": "\"1\""])

    #expect(mismatched.status == 412)
    #expect(deleted.status == 204 && deleted.body.isEmpty)
    #expect(again.status == 404)
  }

  @Test func anEntityTagMayContainCommas() async throws {
    _ = try await put("a")

    let mismatched = try await put("b", headers: ["if-match": "\"x,y\""])
    let listed = try await put("b", headers: ["if-match": "\"x,y\",\"1\""])

    #expect(mismatched.status == 412)
    #expect(listed.status == 200)
  }

  @Test(arguments: [HTTPMethod.PUT, .PATCH, .DELETE])
  func serverMayRequireIfMatch(method: HTTPMethod) async throws {
    let strict = ServiceDriver(writing: MemoryStore(), requiresIfMatch: true)

    let response = try await strict.send(method, target, json: "{}")
    let created = try await strict.send(
      .PUT, target, headers: ["if-none-match": "*"], json: #"{"name":"x","lat":1,"long":2}"#)

    #expect(response.status == 428)
    #expect(try response.code == "if-match-required")
    #expect(created.status == 201)
  }

  @Test(arguments: [HTTPMethod.PUT, .PATCH, .DELETE])
  func anIDIsAUUID(method: HTTPMethod) async throws {
    let response = try await driver.send(method, "/locations/7", json: "{}")

    #expect(response.status == 400)
    #expect(try response.parameters == ["id"])
  }
}
