import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing

@Suite struct ChangeTests {
  private let target = "/locations/0199a1b2-0000-7000-8000-000000000001"
  private let place =
    #"{"name":"x","category":"cafe","lat":0.1,"long":2,"tags":{"a":"1","b":"2"},"source":"s","sourceId":"i"}"#

  private func driver(_ store: some PointStore = MemoryStore.countingFromOne()) async throws -> ServiceDriver {
    let driver = ServiceDriver(writing: store)
    _ = try await driver.send(.PUT, target, json: place)
    return driver
  }

  @Test(arguments: [
    (#"{"name":"y"}"#, #""name":"y","category":"cafe","lat":0.1,"long":2,"tags":{"a":"1","b":"2"}"#),
    (#"{"tags":{"a":null,"c":"3"}}"#, #""name":"x","category":"cafe","lat":0.1,"long":2,"tags":{"b":"2","c":"3"}"#),
    (#"{"tags":null,"category":null}"#, #""name":"x","lat":0.1,"long":2,"tags":{}"#),
    (#"{"lng":-3.5}"#, #""name":"x","category":"cafe","lat":0.1,"long":-3.5,"tags":{"a":"1","b":"2"}"#),
    (#"{"Longitude":-3.5,"y":2}"#, #""name":"x","category":"cafe","lat":2,"long":-3.5,"tags":{"a":"1","b":"2"}"#),
    (#"{"Tags":{"a":null}}"#, #""name":"x","category":"cafe","lat":0.1,"long":2,"tags":{"b":"2"}"#),
    (#"{}"#, #""name":"x","category":"cafe","lat":0.1,"long":2,"tags":{"a":"1","b":"2"}"#),
  ])
  func patchChangesOnlyTheFieldsThatItNames(patch: String, fields: String) async throws {
    let driver = try await driver()

    let response = try await driver.send(
      .PATCH, target, headers: ["content-type": "application/merge-patch+json"], json: patch)

    #expect(response.status == 200)
    #expect(
      response.text.hasPrefix(
        #"{"id":"0199a1b2-0000-7000-8000-000000000001",\#(fields),"source":"s","sourceId":"i","version":"#))
    #expect(response.headers["etag"] == [patch == "{}" ? "\"1\"" : "\"2\""])
  }

  @Test(arguments: [
    (#"{"name":null}"#, "/name"), (#"{"lat":null}"#, "/lat"), (#"{"lat":"1"}"#, "/lat"), (#"{"nme":"x"}"#, "/nme"),
    (#"{"source":null}"#, "/source"), (#"{"id":"0199a1b2-0000-7000-8000-000000000002"}"#, "/id"), ("[]", ""),
    (#"{"tags":{"a":{"b":"c"}}}"#, "/tags/a"),
  ])
  func patchedPlaceIsValidated(patch: String, pointer: String) async throws {
    let driver = try await driver()

    let response = try await driver.send(.PATCH, target, json: patch)

    #expect(response.status == 422)
    #expect(try response.pointers == [pointer])
  }

  @Test(arguments: [
    #"{"lat":1,"latitude":2}"#, #"{"x":1,"longitude":2}"#, #"{"lon":1,"lng":1}"#, #"{"name":"y","Name":"z"}"#,
  ])
  func fieldInTwoSpellingsIsRejected(patch: String) async throws {
    let driver = try await driver()

    let response = try await driver.send(.PATCH, target, json: patch)

    #expect(response.status == 422)
    #expect(response.text.contains("a second time"))
  }

  @Test(.timeLimit(.minutes(5))) func patchOfManyMembersIsRejectedInLinearTime() async throws {
    let driver = try await driver()
    let members = (0..<80_000).map { #""\#($0)":0"# }.joined(separator: ",")

    let response = try await driver.send(.PATCH, target, json: "{\(members)}")

    #expect(response.status == 422)
  }

  @Test func anAbsentPlaceIsNotFound() async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let response = try await driver.send(.PATCH, target, json: "{}")

    #expect(response.status == 404)
  }

  @Test func otherMediaTypeIsRejectedWithTheAcceptedOnes() async throws {
    let driver = try await driver()

    let response = try await driver.send(
      .PATCH, target, headers: ["content-type": "application/json-patch+json"], json: "[]")

    #expect(response.status == 415)
    #expect(response.headers["accept-patch"] == ["application/merge-patch+json, application/json"])
  }

  @Test func onlyOneOf50ConcurrentChangesToAVersionSucceeds() async throws {
    let driver = try await driver()

    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<50 {
        group.addTask {
          try await driver.send(
            .PATCH, target, headers: ["if-match": "\"1\""], json: #"{"name":"\#(number)"}"#
          ).status
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(statuses.count { $0 == 200 } == 1)
    #expect(statuses.count { $0 == 412 } == 49)
  }

  @Test func noneOf50ConcurrentUnconditionalChangesIsLost() async throws {
    let driver = try await driver()

    let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<50 {
        group.addTask { try await driver.send(.PATCH, target, json: #"{"tags":{"n\#(number)":"x"}}"#).status }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    let tags = try await driver.send(.GET, target).object["tags"] as? [String: String]

    #expect(statuses.allSatisfy { $0 == 200 })
    #expect(tags?.count == 52)
  }

  @Test func changeOfAConstantlyChangingPlaceIsAConflict() async throws {
    let driver = try await driver(RefusingStore(changes: .conditionFailed(currentVersion: 2)))

    let response = try await driver.send(.PATCH, target, json: #"{"name":"y"}"#)

    #expect(response.status == 409)
    #expect(try response.code == "conflict")
  }
}
