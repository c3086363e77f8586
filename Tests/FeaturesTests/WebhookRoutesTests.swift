import Foundation
import Logging
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import Webhooks

/// The calls of webhooks over places in memory.
@Suite struct WebhookRoutesTests {
  /// An endpoint that responds with 500, and is on no host that is called internal. Too many hosts are being looked up
  /// beside one that is called busy.
  private struct Endpoint: WebhookTransport {
    func rejection(of url: String) async throws(WebhookCheckOverload) -> String? {
      if url.contains("busy") { throw WebhookCheckOverload() }
      return url.contains("internal") ? "must be of another host" : nil
    }

    func send(_ body: String, headers: [(name: String, value: String)], to url: String) async -> WebhookOutcome {
      .response(status: 500, retryAfterSeconds: nil)
    }
  }

  private let places = MemoryStore()

  private var webhooks: WebhookRecords { WebhookRecords(places) }

  private var changes: any PointFeed { places.changes }

  private var sender: WebhookSender {
    WebhookSender(
      store: webhooks, changes: places.changes, transport: Endpoint(),
      conditions: { [places] in try await WebhookFilter.conditions(of: $0, Filtering(), places) },
      placeURL: { "/locations/\($0)" },
      logger: Logger(label: "test"))
  }

  private var driver: ServiceDriver {
    var api = LocationsAPI.Configuration(service: PointsService(store: places), version: "1")
    api.changes = places.changes
    api.areas = places
    let sources = [
      MessageSource(
        name: "suggestion", member: "suggestions", messageType: "suggestions.changed", countMember: "openSuggestions",
        description: ""
      ) { _ throws(PointStoreError) in RecordSummary(count: 0, mark: "") }
    ]
    return ServiceDriver(LocationsAPI(api), features: FeatureCalls(webhooks: sender, messageSources: sources))
  }

  private func create(_ json: String = #"{"url":"https://example.com/hook"}"#) async throws -> [String: Any] {
    let response = try await driver.send(.POST, "/webhooks", json: json)
    try #require(response.status == 201, "\(response.text)")
    return try response.object
  }

  // MARK: Creation

  @Test func repeatWithTheSameKeyGetsTheSameWebhook() async throws {
    let headers: HTTPHeaders = ["idempotency-key": "order-17"]
    let json = #"{"url":"https://example.com/hook"}"#
    let first = try await driver.send(.POST, "/webhooks", headers: headers, json: json)
    let id = try #require(try first.object["id"] as? String)
    _ = try await driver.send(.PATCH, "/webhooks/\(id)", json: #"{"enabled":false}"#)

    let repeated = try await driver.send(.POST, "/webhooks", headers: headers, json: json)
    let other = try await driver.send(
      .POST, "/webhooks", headers: headers, json: #"{"url":"https://example.com/other"}"#)
    let invalid = try await driver.send(.POST, "/webhooks", headers: ["idempotency-key": "é"], json: json)

    #expect(first.status == 201 && repeated.status == 201 && repeated.location == first.location)
    #expect(try repeated.object["secret"] as? String == first.object["secret"] as? String)
    #expect(try repeated.object["enabled"] as? Bool == false, "as it is now")
    #expect(other.status == 422 && other.text.contains("idempotency-key-reused"))
    #expect(invalid.status == 400)
    #expect(try await driver.send(.GET, "/webhooks").array.count == 1)
  }

  @Test func secretIsReturnedOnceAndTheFilterIsKept() async throws {
    let created = try await driver.send(
      .POST, "/webhooks", json: #"{"url":"https://example.com/hook","filter":{"category":["cafe"],"bbox":[0,0,3,3]}}"#)

    let location = try #require(created.location)
    let found = try await driver.send(.GET, location)
    let list = try await driver.send(.GET, "/webhooks")
    #expect(created.status == 201 && created.headers.first(name: "cache-control") == "no-store")
    let secret = try #require(try created.object["secret"] as? String)
    #expect(WebhookSecret(secret) != nil && !found.text.contains("whsec_") && !list.text.contains("whsec_"))
    #expect(try found.object["filter"] as? NSDictionary == ["category": ["cafe"], "bbox": [0, 0, 3, 3]])
    #expect(try found.object["enabled"] as? Bool == true && list.array.count == 1)
    #expect(try found.object["position"] as? String == (try await changes.presentPosition()))
  }

  @Test func secretOfTheClientIsUsed() async throws {
    let secret = WebhookSecret.generate().text
    let created = try await create(#"{"url":"https://example.com","secret":"\#(secret)"}"#)
    #expect(created["secret"] as? String == secret)
  }

  @Test(arguments: [
    (#"{}"#, "/url"), (#"{"url":7}"#, "/url"), (#"{"url":null}"#, "/url"), (#"{"url":"https://internal"}"#, "/url"),
    (#"{"url":"https://a.b","suggestions":1}"#, "/suggestions"),
    (#"{"url":"https://a.b","secret":"x"}"#, "/secret"), (#"{"url":"https://a.b","secret":null}"#, "/secret"),
    (#"{"url":"https://a.b","filter":[]}"#, "/filter"), (#"{"url":"https://a.b","filter":null}"#, "/filter"),
    (#"{"url":"https://a.b","filter":{"open":"now"}}"#, "/filter/open"),
    (#"{"url":"https://a.b","filter":{"limit":3}}"#, "/filter/limit"),
    (#"{"url":"https://a.b","filter":{"q":"x"}}"#, "/filter/q"),
    (#"{"url":"https://a.b","filter":{"lat":1,"long":2}}"#, "/filter/radius"),
    (#"{"url":"https://a.b","filter":{"bbox":[1,2,3]}}"#, "/filter/bbox"),
    (#"{"url":"https://a.b","filter":{"filter":"("}}"#, "/filter/filter"),
    (#"{"url":"https://a.b","filter":{"filter":{"op":"="}}}"#, "/filter/filter"),
    (#"{"url":"https://a.b","enabled":true}"#, "/enabled"), (#"{"url":"https://a.b","a/b":1}"#, "/a~1b"),
  ])
  func invalidMemberIsNamed(_ json: String, _ pointer: String) async throws {
    let response = try await driver.send(.POST, "/webhooks", json: json)

    #expect(response.status == 400)
    #expect(try response.pointers.contains { $0.hasPrefix(pointer) }, "\(response.text)")
    #expect(try await webhooks.webhooks(id: nil).isEmpty)
  }

  @Test(arguments: ["", "[]", "7", "{", #"{"url":"https://a.b","url":"https://a.b"}"#, "\u{0}"])
  func bodyThatIsNoObjectIsMalformed(_ json: String) async throws {
    let response = try await driver.send(.POST, "/webhooks", json: json)
    #expect(response.status == 400)
    #expect(try response.code == "malformed-body")
  }

  @Test func filterThatIsTooLongIsRejected() async throws {
    let names = (0..<4000).map { "\"category \($0)\"" }.joined(separator: ",")
    let response = try await driver.send(
      .POST, "/webhooks", json: #"{"url":"https://a.b","filter":{"category":[\#(names)]}}"#)
    #expect(try response.status == 400 && response.pointers == ["/filter"])
  }

  @Test func addressThatCannotBeCheckedNowIsToBeSentAgain() async throws {
    let id = try #require(try await create()["id"] as? String)
    for (method, path) in [(HTTPMethod.POST, "/webhooks"), (.PATCH, "/webhooks/\(id)")] {
      let response = try await driver.send(method, path, json: #"{"url":"https://busy.example/hook"}"#)
      #expect(try response.status == 503 && response.code == "overloaded", "\(response.text)")
      #expect(response.headers.first(name: "retry-after") == "10")
    }
    #expect(try await driver.send(.GET, "/webhooks").array.count == 1)
  }

  @Test func webhookBeyondTheMaximumIsAConflict() async throws {
    for _ in 0..<Webhook.maximumCount { _ = try await create() }
    let response = try await driver.send(.POST, "/webhooks", json: #"{"url":"https://a.b"}"#)
    #expect(try response.status == 409 && response.code == "conflict")
  }

  // MARK: Changes

  @Test func patchChangesWhatItNames() async throws {
    let id = try #require(try await create(#"{"url":"https://a.b","filter":{"category":"cafe"}}"#)["id"] as? String)

    let patched = try await driver.send(
      .PATCH, "/webhooks/\(id)", headers: ["content-type": "application/merge-patch+json"],
      json: #"{"url":"https://c.d","filter":null,"suggestions":true,"enabled":false}"#)
    let enabled = try await driver.send(.PATCH, "/webhooks/\(id)", json: #"{"enabled":true}"#)

    #expect(patched.status == 200)
    #expect(try patched.object["url"] as? String == "https://c.d" && patched.object["filter"] == nil)
    #expect(try patched.object["suggestions"] as? Bool == true)
    #expect(try patched.object["enabled"] as? Bool == false && patched.object["disabledReason"] != nil)
    #expect(try enabled.object["enabled"] as? Bool == true && enabled.object["disabledReason"] == nil)
    #expect(!patched.text.contains("whsec_") && !enabled.text.contains("whsec_"))
  }

  @Test func rotationWithoutASecretReturnsANewOne() async throws {
    let created = try await create()
    let id = try #require(created["id"] as? String)
    let rotated = try await driver.send(.PATCH, "/webhooks/\(id)", json: #"{"secret":null}"#)
    let given = try await driver.send(
      .PATCH, "/webhooks/\(id)", json: #"{"secret":"\#(WebhookSecret.generate().text)"}"#)
    let secret = try #require(try rotated.object["secret"] as? String)
    #expect(secret != created["secret"] as? String && WebhookSecret(secret) != nil)
    #expect(given.status == 200 && !given.text.contains("whsec_"))
  }

  @Test(arguments: [
    (#"{"url":"https://internal"}"#, "/url"), (#"{"url":null}"#, "/url"), (#"{"enabled":"yes"}"#, "/enabled"),
    (#"{"filter":{"open":"now"}}"#, "/filter/open"), (#"{"id":"x"}"#, "/id"), (#"{"secret":7}"#, "/secret"),
  ])
  func invalidPatchChangesNothing(_ json: String, _ pointer: String) async throws {
    let id = try #require(try await create()["id"] as? String)
    let response = try await driver.send(.PATCH, "/webhooks/\(id)", json: json)
    #expect(try response.status == 400 && response.pointers.contains { $0.hasPrefix(pointer) }, "\(response.text)")
    #expect(try await driver.send(.GET, "/webhooks/\(id)").object["url"] as? String == "https://example.com/hook")
  }

  @Test func removedWebhookIsNotFound() async throws {
    let id = try #require(try await create()["id"] as? String)
    #expect(try await driver.send(.DELETE, "/webhooks/\(id)").status == 204)
    for (method, path) in [
      (HTTPMethod.GET, ""), (.DELETE, ""), (.PATCH, ""), (.POST, "/test"), (.POST, "/replay?since=1.2.3"),
    ] {
      let response = try await driver.send(method, "/webhooks/\(id)\(path)", json: "{}")
      #expect(try response.status == 404 && response.code == "not-found", "\(method) \(path) \(response.text)")
      #expect(try await driver.send(method, "/webhooks/x\(path)", json: "{}").status == 400)
    }
  }

  // MARK: Tests and replays

  @Test func testReturnsTheOutcome() async throws {
    let id = try #require(try await create()["id"] as? String)
    let response = try await driver.send(.POST, "/webhooks/\(id)/test")
    #expect(try response.status == 200 && response.object["status"] as? Int == 500)
  }

  @Test func replayContinuesFromThePosition() async throws {
    let start = try await changes.presentPosition()
    _ = try await places.create(.sample("a"), once: nil)
    let id = try #require(try await create()["id"] as? String)

    let response = try await driver.send(.POST, "/webhooks/\(id)/replay?since=\(start)")

    #expect(try response.status == 200 && response.object["position"] as? String == start)
    await sender.runOnce()
    let failed = try await driver.send(.GET, "/webhooks/\(id)").object
    #expect((failed["pending"] as? [String: Any])?["failedAttempts"] as? Int == 1)
    #expect((failed["deliveries"] as? [[String: Any]])?.first?["status"] as? Int == 500)
  }

  @Test(arguments: [("", 400), ("?since=", 400), ("?since=!", 400), ("?since=1.2.3-4", 410), ("?x=1", 400)])
  func replayFromAnotherTextIsRejected(_ query: String, _ status: Int) async throws {
    let id = try #require(try await create()["id"] as? String)
    #expect(try await driver.send(.POST, "/webhooks/\(id)/replay\(query)").status == status)
  }

  // MARK: Access

  @Test func storeThatKeepsNothingIsNotImplemented() async throws {
    let driver = ServiceDriver(store: places)
    let id = PointID.sample(1)
    for (method, path) in [
      (HTTPMethod.GET, ""), (.POST, ""), (.GET, "/\(id)"), (.PATCH, "/\(id)"), (.DELETE, "/\(id)"),
      (.POST, "/\(id)/test"), (.POST, "/\(id)/replay?since=1.2"),
    ] {
      let response = try await driver.send(method, "/webhooks\(path)", json: #"{"url":"https://a.b"}"#)
      #expect(try response.status == 501 && response.code == "not-implemented", "\(method) \(path)")
    }
  }

  @Test func clientsOfOtherMachinesNeedTheScopeAdmin() async throws {
    for target in ["/webhooks", "/webhooks/\(PointID.sample(1))"] {
      #expect(try await driver.send(.GET, target, from: "192.0.2.1").status == 403)
    }
  }
}
