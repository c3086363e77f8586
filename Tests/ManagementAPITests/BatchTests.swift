import Foundation
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct BatchTests {
  private let store = MemoryStore.countingFromOne()
  private var driver: ServiceDriver { ServiceDriver(writing: store) }

  private static let first = PointID.sample(1).description
  private static let second = PointID.sample(2).description

  private static func replace(_ id: String, _ name: String, _ condition: String = "") -> String {
    #"{"op":"replace","id":"\#(id)","place":{"name":"\#(name)","lat":1,"long":2}\#(condition)}"#
  }

  private func send(
    _ operations: [String], query: String = "", headers: HTTPHeaders = [:], by driver: ServiceDriver? = nil
  ) async throws -> ServiceDriver.Response {
    try await (driver ?? self.driver).send(
      .POST, "/locations/batch\(query)", headers: headers,
      json: #"{"operations":[\#(operations.joined(separator: ","))]}"#)
  }

  @Test func eachOperationHasTheResultOfACallOfItsOwn() async throws {
    let response = try await send([
      #"{"op":"create","place":{"name":"Café","lat":1.5,"long":2,"source":"osm","sourceId":"1"}}"#,
      Self.replace(Self.first, "A", #","ifNoneMatch":"*""#),
      #"{"op":"patch","id":"\#(Self.first)","ifMatch":"2","patch":{"name":"B"}}"#,
      #"{"op":"patch","id":"\#(Self.first)","ifMatch":3,"patch":{"category":"bar"}}"#,
      Self.replace(Self.first, "C", #","ifMatch":"\"3\"""#),
      #"{"op":"create","place":{"name":"Café","lat":1.5,"long":2,"source":"osm","sourceId":"1"}}"#,
      #"{"op":"create","place":{"name":"","lat":91}}"#,
      #"{"op":"patch","id":"\#(Self.first)","patch":{"name":null}}"#,
      #"{"op":"delete","id":"\#(Self.second)"}"#,
      #"{"op":"delete","id":"a"}"#,
      #"{"op":"delete","id":"\#(Self.first)","ifMatch":"W"}"#,
      #"{"op":"delete","id":"\#(Self.first)","ifMatch":"*"}"#,
      Self.replace(Self.first, "D", #","ifNoneMatch":"*""#),
    ])

    let results = try #require(try response.object["results"] as? [[String: Any]])
    let problems = results.map { $0["problem"] as? [String: Any] }
    #expect(response.status == 200)
    #expect(
      results.map { $0["status"] as? Int } == [201, 201, 200, 200, 412, 409, 422, 422, 404, 400, 400, 204, 201])
    #expect(results.map { $0["version"] as? Int } == [1, 2, 3, 4] + Array(repeating: nil, count: 8) + [6])
    #expect(results[1]["etag"] as? String == "\"2\"" && results[1]["id"] as? String == Self.first)
    #expect(
      problems.map { $0?["code"] as? String } == [
        nil, nil, nil, nil, "version-mismatch", "conflict", "invalid-place", "invalid-place", "not-found",
        "invalid-parameter", "invalid-parameter", nil, nil,
      ])
    #expect(problems[6].map { "\($0)" }?.contains("/name") == true)
    #expect(problems.compactMap { $0?["status"] as? Int } == [412, 409, 422, 422, 404, 400, 400])
    #expect(try await store.allPoints().map(\.draft.name).sorted() == ["Café", "D"])
  }

  @Test(arguments: [
    (#"{"op":"create","place":{"name":"","lat":1,"long":2}}"#, 422, "/operations/1/place/name"),
    (#"{"op":"patch","id":"FIRST","patch":{"lat":91}}"#, 422, "/operations/1/patch/lat"),
    (#"{"op":"delete","id":"x"}"#, 400, "/operations/1/id"),
    (#"{"op":"delete","id":"FIRST","ifMatch":"W/3"}"#, 400, "/operations/1/ifMatch"),
    (#"{"op":"delete","id":"FIRST","ifNoneMatch":"3"}"#, 400, "/operations/1/ifNoneMatch"),
    (#"{"op":"delete","id":"FIRST","ifMatch":"9"}"#, 412, nil), (#"{"op":"delete","id":"SECOND"}"#, 404, nil),
    (
      #"{"op":"create","place":{"name":"y","lat":1,"long":2,"source":"s","sourceId":"1"}}"#, 409,
      "/operations/1/place/sourceId"
    ),
  ])
  func anAtomicBatchFailsAsItsFirstOperationAndChangesNothing(
    operation: String, status: Int, pointer: String?
  ) async throws {
    _ = try await send([
      #"{"op":"replace","id":"\#(Self.first)","place":{"name":"x","lat":1,"long":2,"source":"s","sourceId":"1"}}"#
    ])
    let before = try await store.allPoints()
    let failing = operation.replacingOccurrences(of: "FIRST", with: Self.first)
      .replacingOccurrences(of: "SECOND", with: Self.second)

    let response = try await send([Self.replace(PointID.sample(9).description, "new"), failing], query: "?atomic=true")

    #expect(response.status == status)
    #expect((try response.object["detail"] as? String)?.hasPrefix("operation 1: ") == true)
    #expect((try response.object["detail"] as? String)?.hasSuffix("; nothing was changed") == true)
    if let pointer { #expect(try response.pointers == [pointer]) }
    #expect(try await store.allPoints() == before)
  }

  @Test(arguments: [
    ("[]", "/operations must be given"), ("{}", "/operations must be given"),
    (#"{"operations":{}}"#, "must be an array"),
    (#"{"operations":[1]}"#, "/operations/0 must be an object"), (#"{"operations":[{}]}"#, "/operations/0/op"),
    (#"{"operations":[{"op":"upsert"}]}"#, "got 'upsert'"), (#"{"operations":[{"op":7}]}"#, "/operations/0/op must be"),
    (#"{"operations":[{"op":"delete"}]}"#, "/operations/0/id must be given"),
    (#"{"operations":[{"op":"delete","id":7}]}"#, "/operations/0/id must be a string"),
    (#"{"operations":[{"op":"create"}]}"#, "/operations/0/place must be given"),
    (#"{"operations":[{"op":"create","id":"x","place":{}}]}"#, "/operations/0/id must not be given"),
    (#"{"operations":[{"op":"patch","id":"x","place":{}}]}"#, "/operations/0/patch must be given"),
    (#"{"operations":[{"op":"delete","id":"x","patch":{}}]}"#, "/operations/0/patch must not be given"),
    (#"{"operations":[{"op":"delete","id":"x","ifmatch":"1"}]}"#, "/operations/0/ifmatch is not a member"),
    (#"{"operations":[],"atomic":true}"#, "/atomic is not a member"),
    (#"{"operations":[],"operations":[]}"#, "duplicate member"),
    (#"{"operations":[{"op":"delete","op":"create","id":"x"}]}"#, "duplicate member"),
    (#"{"operations":[]"#, "not valid JSON"), ("", "not valid JSON"), (#"{"operations":[]}x"#, "not valid JSON"),
    (#"{"operations":[{"op":"create","place":"# + String(repeating: "[", count: 100_000), "nested more than"),
    (#"{"operations":["# + [String](repeating: "{}", count: 1_001).joined(separator: ",") + "]}", "got 1001"),
  ])
  func aMalformedBatchIsRejectedAsAWhole(body: String, detail: String) async throws {
    let response = try await driver.send(.POST, "/locations/batch", json: body)

    #expect(response.status == 400)
    #expect(response.text.contains(detail), "\(response.text.prefix(500))")
    #expect(store.count == 0)
  }

  @Test func aBatchHasUpToAThousandOperationsWithAHugePlaceAmongThem() async throws {
    let tags = (0..<400).map { #""k\#($0)":"\#(String(repeating: "x", count: 1_900))""# }.joined(separator: ",")
    var operations = (0..<1_000).map { #"{"op":"create","place":{"name":"\#($0)","lat":1,"long":2}}"# }
    operations[500] = #"{"op":"create","place":{"name":"huge","lat":1,"long":2,"tags":{\#(tags)}}}"#

    let response = try await send(operations, query: "?atomic=true")

    #expect(response.status == 200)
    #expect(store.count == 1_000)
  }

  @Test func anIdThatStandsInTwoPlacesMustBeTheSame() async throws {
    func operation(_ op: String, _ member: String, _ id: String) -> String {
      #"{"op":"\#(op)","id":"\#(Self.first)","\#(member)":{"id":"\#(id)","name":"x","lat":1,"long":2}}"#
    }

    let response = try await send([
      operation("replace", "place", Self.second), operation("replace", "place", "node/1"),
      operation("replace", "place", Self.first), operation("patch", "patch", Self.second),
      operation("patch", "patch", Self.first),
    ])

    let results = try #require(try response.object["results"] as? [[String: Any]])
    #expect(results.map { $0["status"] as? Int } == [422, 422, 201, 422, 200])
  }

  @Test func aRepeatWithAKeyHasTheFirstResponseAndAnotherRequestIsRejected() async throws {
    let operations = [
      #"{"op":"create","place":{"name":"a","lat":1,"long":2}}"#,
      #"{"op":"create","place":{"name":"","lat":1,"long":2}}"#,
      #"{"op":"delete","id":"\#(Self.second)"}"#,
    ]
    let headers: HTTPHeaders = ["idempotency-key": "k"]

    let first = try await send(operations, headers: headers)
    let again = try await send(operations, headers: headers)
    let other = try await send([operations[0]], headers: headers)
    let atomic = try await send([operations[0]], query: "?atomic=true", headers: ["idempotency-key": "l"])
    let notAtomic = try await send([operations[0]], headers: ["idempotency-key": "l"])

    #expect(first.status == 200 && again.text == first.text)
    #expect(other.status == 422 && atomic.status == 200 && notAtomic.status == 422)
    #expect(try notAtomic.code == "idempotency-key-reused")
    #expect(store.count == 2)
  }

  @Test func aRepeatHasTheFailuresOfPatchesBrieflyAndNoneOfABatchThatFailed() async throws {
    let operations = [
      Self.replace(Self.first, "a"), #"{"op":"patch","id":"\#(Self.first)","patch":{"name":null}}"#,
    ]
    let failing = [#"{"op":"delete","id":"\#(Self.second)"}"#, #"{"op":"create","place":{"name":""}}"#]

    let first = try await send(operations, headers: ["idempotency-key": "k"])
    let again = try await send(operations, headers: ["idempotency-key": "k"])
    let failed = try await send(failing, headers: ["idempotency-key": "l"])
    let other = try await send([Self.replace(Self.second, "b")], headers: ["idempotency-key": "l"])

    func problem(_ response: ServiceDriver.Response) throws -> [String: Any]? {
      (try response.object["results"] as? [[String: Any]])?[1]["problem"] as? [String: Any]
    }
    let (whole, brief) = (try #require(try problem(first)), try #require(try problem(again)))
    #expect(whole["code"] as? String == "invalid-place" && brief["code"] as? String == "invalid-place")
    #expect(brief["status"] as? Int == 422 && brief["type"] as? String == whole["type"] as? String)
    #expect((brief["detail"] as? String)?.contains("first request") == true && brief["errors"] == nil)
    #expect(failed.status == 200 && other.status == 200)
  }

  @Test func aBatchThatRewritesTooMuchOfALongPlaceIsRejected() async throws {
    let tags = (0..<400).map { #""k\#($0)":"\#(String(repeating: "x", count: 1_900))""# }.joined(separator: ",")
    _ = try await send([
      #"{"op":"replace","id":"\#(Self.first)","place":{"name":"long","lat":1,"long":2,"tags":{\#(tags)}}}"#
    ])
    let before = try await store.allPoints()
    let patch = #"{"op":"patch","id":"\#(Self.first)","patch":{"name":"x"}}"#

    for query in ["", "?atomic=true"] {
      let response = try await send(Array(repeating: patch, count: 1_000), query: query)

      #expect(try response.status == 400 && response.code == "invalid-parameter")
      #expect(try response.pointers == ["/operations"])
      #expect(response.text.contains("at most 16 MiB"))
    }
    #expect(try await store.allPoints() == before)
    #expect(try await send([patch, patch]).status == 200)
  }

  @Test func conditionsMayBeRequired() async throws {
    let driver = ServiceDriver(writing: store, requiresIfMatch: true)

    let response = try await send(
      [
        Self.replace(Self.first, "a"), Self.replace(Self.first, "a", #","ifNoneMatch":"*""#),
        #"{"op":"delete","id":"\#(Self.first)"}"#, #"{"op":"create","place":{"name":"b","lat":1,"long":2}}"#,
      ], by: driver)

    let results = try #require(try response.object["results"] as? [[String: Any]])
    #expect(results.map { $0["status"] as? Int } == [428, 201, 428, 201])
  }

  @Test func theBodyIsJSONAndTheParametersAreThoseOfTheCall() async throws {
    let text = try await driver.send(.POST, "/locations/batch", headers: ["content-type": "text/plain"], json: "{}")
    let unknown = try await send([], query: "?mode=atomic")
    let wrong = try await send([], query: "?atomic=yes")
    let empty = try await send([])

    #expect(text.status == 415 && text.headers["accept-post"] == ["application/json"])
    #expect(try unknown.status == 400 && unknown.code == "unknown-parameter")
    #expect(wrong.status == 400)
    #expect(empty.status == 200 && empty.text == #"{"results":[]}"#)
  }
}
