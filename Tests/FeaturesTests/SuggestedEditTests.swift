import Basics
import Foundation
import Geo
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import SuggestedEdits

/// The calls of suggested edits over places in memory.
@Suite struct SuggestedEditTests {
  /// A clock that a test sets.
  private final class TestClock: WallClock {
    private let time = Mutex(Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000))

    func now() -> Timestamp { time.withLock { $0 } }

    func advance(byDays days: Int) { time.withLock { $0 = $0.adding(.seconds(86_400 * days)) } }
  }

  private let store = MemoryStore()
  private let clock = TestClock()

  private func driver(_ keys: [APIKey]? = nil) -> ServiceDriver {
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1")
    api.clock = clock
    api.access = AccessControl(AccessPolicy(keys: keys, isLoopback: true))
    return ServiceDriver(LocationsAPI(api), features: FeatureCalls(suggestions: Suggestions(store)))
  }

  private func place(_ name: String = "Café") async throws -> PointOfInterest {
    try await store.create(.sample(name, category: "cafe", tags: ["opening_hours": "24/7"]), once: nil)
  }

  private func suggest(_ json: String, for place: PointOfInterest) async throws -> String {
    let response = try await driver().send(.POST, "/locations/\(place.id)/suggestions", json: json)
    try #require(response.status == 201, "\(response.text)")
    return try #require(response.location)
  }

  @Test func acceptedPatchChangesThePlaceOnce() async throws {
    let place = try await place()
    let target = try await suggest(
      #"{"patch":{"name":"Bar","tags":{"opening_hours":null,"phone":"1"}},"comment":"seen","contact":"a@b"}"#,
      for: place)
    let open = try await driver().send(.GET, target)
    let listed = try await driver().send(.GET, "/suggestions?state=open&place=\(place.id)")

    let accepted = try await driver().send(.POST, target + "/accept", json: #"{"reason":"thanks"}"#)
    let again = try await driver().send(.POST, target + "/accept")
    let rejected = try await driver().send(.POST, target + "/reject")

    #expect(try open.object["state"] as? String == "open" && open.object["contact"] == nil)
    let shown = try #require(try listed.array.first)
    #expect(shown["contact"] as? String == "a@b" && shown["comment"] as? String == "seen")
    let difference = try #require(try open.object["difference"] as? NSArray)
    #expect(
      difference == [
        ["field": "/name", "before": "Café", "after": "Bar"],
        ["field": "/tags/opening_hours", "before": "24/7", "after": NSNull()],
        ["field": "/tags/phone", "before": NSNull(), "after": "1"],
      ])
    let present = try #require(try await store.point(id: place.id))
    #expect(present.draft.name.hasSameBytes(as: "Bar") && present.version > place.version)
    #expect(accepted.status == 200 && accepted.text == again.text)
    let decision = try #require(try accepted.object["decision"] as? [String: Any])
    #expect(decision["version"] as? Int64 == present.version && decision["reason"] as? String == "thanks")
    #expect(try rejected.status == 409 && rejected.code == "conflict")
    #expect(try await driver().send(.GET, "/suggestions?state=open").array.isEmpty)
    #expect(try await driver().send(.GET, "/suggestions?state=accepted").array.count == 1)
  }

  @Test func differenceOfAShortPatchOfALongPlaceIsBounded() async throws {
    let tags = try Tags((0..<400).map { (key: "key \($0)", value: String(repeating: "ä", count: 1_000)) })
    let draft = try PointDraft(name: "Long", coordinate: Coordinate(latitude: 1, longitude: 2), tags: tags)
    let place = try await store.create(draft, once: nil)

    let target = try await suggest(#"{"patch":{"tags":null}}"#, for: place)
    let response = try await driver().send(.GET, target)
    let accepted = try await driver().send(.POST, target + "/accept")

    #expect(response.body.count < 40_000)
    let fields = try #require(try response.object["difference"] as? [[String: Any]])
    let omitted = try #require(try response.object["omittedDifferences"] as? Int)
    #expect(fields.count + omitted == 400 && !fields.isEmpty)
    #expect((fields[0]["before"] as? String)?.hasSuffix("ä…") == true)
    #expect(accepted.status == 200)
    #expect(try await store.point(id: place.id)?.draft.tags.isEmpty == true)
  }

  @Test func pageOfLongSuggestionsEndsEarlyAndItsLinkLeadsToTheOthers() async throws {
    let place = try await place()
    var generator = SystemRandomNumberGenerator()
    let now = clock.now()
    let text = String(repeating: "x", count: 1_000_000)
    for index in 0..<9 {
      // Longer than the differences that the calls write.
      let suggestion = Suggestion(
        id: PointID(at: now.adding(.milliseconds(index)), using: &generator), place: place.id, version: place.version,
        change: "{}", difference: #"[{"field":"/name","before":"\#(text)","after":null}]"#, comment: nil, contact: nil,
        key: nil, address: nil, createdAt: now, lifetime: .seconds(86_400))
      guard case .added = try await Suggestions(store).add(suggestion) else { throw CancellationError() }
    }
    var (ids, pages, target): ([String], Int, String?) = ([], 0, "?limit=1000")
    while let next = target, pages < 9 {
      let response = try await driver().send(.GET, "/suggestions" + next)
      #expect(response.status == 200 && response.body.count <= PointPage.maximumTextBytes + 1_100_000)
      ids += try response.array.compactMap { $0["id"] as? String }
      pages += 1
      target = response.headers.first(name: "link").map { String($0.dropFirst().prefix { $0 != ">" }) }
    }

    #expect(pages > 1)
    #expect(ids.count == 9 && Set(ids).count == 9)
  }

  @Test func acceptedDraftCreatesThePlace() async throws {
    let created = try await driver().send(
      .POST, "/suggestions", json: #"{"draft":{"name":"New","lat":1,"long":2},"comment":null}"#)
    let target = try #require(created.location)

    let accepted = try await driver().send(.POST, target + "/accept")

    let decision = try #require(try accepted.object["decision"] as? [String: Any])
    let id = try #require((decision["place"] as? String).flatMap { PointID($0) })
    #expect(try await store.point(id: id)?.draft.name.hasSameBytes(as: "New") == true)
    #expect(try created.status == 201 && created.object["place"] == nil && created.object["draft"] != nil)
  }

  @Test func changedPlaceIsAConflictWithBothUntilTheReviewerNamesItsVersion() async throws {
    let place = try await place()
    let target = try await suggest(#"{"patch":{"name":"Bar"}}"#, for: place)
    let changed = try await store.put(.sample("Pub", category: "pub"), id: place.id, if: .none).point

    let conflict = try await driver().send(.POST, target + "/accept")
    let stale = try await driver().send(.POST, target + "/accept", headers: ["if-match": "\"\(place.version)\""])
    let accepted = try await driver().send(.POST, target + "/accept", headers: ["if-match": "\"\(changed.version)\""])

    #expect(try conflict.status == 409 && conflict.code == "conflict")
    #expect(try stale.status == 412 && stale.code == "version-mismatch")
    for response in [conflict, stale] {
      let suggestion = try #require(try response.object["suggestion"] as? [String: Any])
      #expect((suggestion["difference"] as? [[String: Any]])?.count == 1)
      let shown = try #require(try response.object["place"] as? [String: Any])
      #expect(shown["name"] as? String == "Pub" && shown["version"] as? Int64 == changed.version)
    }
    #expect(accepted.status == 200)
    let present = try #require(try await store.point(id: place.id)?.draft)
    #expect(present.name.hasSameBytes(as: "Bar") && present.category?.hasSameBytes(as: "pub") == true)
  }

  @Test func deletedPlaceAndTakenOriginAreConflicts() async throws {
    let place = try await place()
    let edit = try await suggest(#"{"patch":{"name":"Bar"}}"#, for: place)
    let draft = #"{"draft":{"name":"New","lat":1,"long":2,"source":"s","sourceId":"1"}}"#
    let creation = try #require(try await driver().send(.POST, "/suggestions", json: draft).location)
    try await store.delete(id: place.id, if: .none)
    _ = try await store.create(.sample("x", sourceID: "1"), once: nil)

    for target in [edit, creation] {
      let response = try await driver().send(.POST, target + "/accept")
      #expect(try response.status == 409 && response.code == "conflict")
      #expect(try await driver().send(.GET, target).object["state"] as? String == "open")
    }
    #expect(try await driver().send(.POST, edit + "/reject", json: #"{"reason":"gone"}"#).status == 200)
    #expect(try await driver().send(.POST, edit + "/reject").status == 200)
  }

  @Test(arguments: [
    (#"{}"#, "/patch", 400), (#"{"patch":7}"#, "/patch", 400), (#"{"patch":{},"x/y":1}"#, "/x~1y", 400),
    (#"{"patch":{"lat":91}}"#, "/patch/lat", 422), (#"{"patch":{"name":null}}"#, "/patch/name", 422),
    (#"{"patch":{"id":"00000000-0000-7000-8000-000000000000"}}"#, "/patch/id", 422), (#"{"patch":{}}"#, "/patch", 422),
    (#"{"patch":{"name":"Café"}}"#, "/patch", 422), (#"{"patch":{"name":"x"},"comment":7}"#, "/comment", 400),
    (#"{"patch":{"name":"x"},"contact":"\u0000"}"#, "/contact", 400), (#"{"draft":{}}"#, "/draft", 400),
    ("{\"patch\":{\"name\":\"x\"},\"comment\":\"\(String(repeating: "a", count: 1001))\"}", "/comment", 400),
    (#"{"patch":{"tags":{"a":{}}}}"#, "/patch/tags", 422), (#"{"patch":{"nam":"x"}}"#, "/patch", 422),
  ])
  func invalidMemberIsNamed(_ json: String, _ pointer: String, _ status: Int) async throws {
    let place = try await place()

    let response = try await driver().send(.POST, "/locations/\(place.id)/suggestions", json: json)

    #expect(response.status == status, "\(response.text)")
    #expect(try response.pointers.contains { $0.hasPrefix(pointer) }, "\(response.text)")
    #expect(try await driver().send(.GET, "/suggestions").array.isEmpty)
  }

  @Test func invalidRequestsAreProblems() async throws {
    let place = try await place()
    let target = try await suggest(#"{"patch":{"name":"Bar"}}"#, for: place)
    let valid = #"{"patch":{"name":"x"}}"#
    let unknown = "00000000-0000-7000-8000-000000000000"
    let requests: [(HTTPMethod, String, HTTPHeaders, String, Int)] = [
      (.POST, "/suggestions", [:], #"{"draft":{"name":"x","lat":1}}"#, 422), (.POST, "/suggestions", [:], "[]", 400),
      (.POST, "/suggestions", ["content-type": "text/plain"], valid, 415),
      (.POST, "/locations/\(unknown)/suggestions", [:], valid, 404),
      (.POST, "/locations/x/suggestions", [:], valid, 400),
      (.POST, "/locations/\(place.id)/suggestions", ["if-match": "\"1\""], valid, 412),
      (.POST, "/locations/\(place.id)/suggestions", ["if-match": "x"], valid, 400),
      (.GET, "/suggestions?state=x", [:], "", 400), (.GET, "/suggestions?place=x", [:], "", 400),
      (.GET, "/suggestions?cursor=x", [:], "", 400), (.GET, "/suggestions/\(unknown)", [:], "", 404),
      (.POST, "/suggestions/\(unknown)/accept", [:], "{}", 404), (.POST, "/suggestions/x/reject", [:], "{}", 400),
      (.POST, target + "/accept", [:], #"{"reason":7}"#, 400), (.POST, target + "/accept", [:], #"{"x":7}"#, 400),
      (.POST, target + "/reject", [:], "{", 400), (.POST, target + "/accept", ["if-match": "x"], "{}", 400),
    ]
    for (method, path, headers, json, status) in requests {
      let response = try await driver().send(method, path, headers: headers, json: json)
      #expect(response.status == status, "\(method) \(path) \(json): \(response.text)")
    }
    #expect(try await driver().send(.GET, target).object["state"] as? String == "open")
  }

  @Test func scopesSeparateSuggestersAndReviewers() async throws {
    let place = try await place()
    let driver = driver(AccessScope.all.map { APIKey(name: "\($0)", scope: $0, secret: "\($0)") })
    let json = #"{"patch":{"name":"Bar"}}"#
    func send(_ method: HTTPMethod, _ target: String, as scope: String) async throws -> ServiceDriver.Response {
      try await driver.send(method, target, headers: ["authorization": "Bearer \(scope)"], json: json)
    }
    let created = try await send(.POST, "/locations/\(place.id)/suggestions", as: "suggest")
    let target = try #require(created.location)

    #expect(try await send(.POST, "/locations/\(place.id)/suggestions", as: "read").status == 403)
    #expect(try await send(.POST, "/locations/\(place.id)/suggestions", as: "write").status == 201)
    #expect(try await send(.GET, target, as: "suggest").status == 200)
    #expect(try await send(.GET, target, as: "read").status == 403)
    #expect(try await send(.GET, "/suggestions", as: "suggest").status == 403)
    #expect(try await send(.POST, target + "/accept", as: "suggest").status == 403)
    #expect(try await send(.PATCH, "/locations/\(place.id)", as: "suggest").status == 403)
  }

  @Test func repeatWithAKeyGetsTheSameSuggestion() async throws {
    let place = try await place()
    func send(_ name: String) async throws -> ServiceDriver.Response {
      try await driver().send(
        .POST, "/locations/\(place.id)/suggestions",
        headers: ["idempotency-key": "k", "if-match": "\"\(place.version)\""], json: #"{"patch":{"name":"\#(name)"}}"#)
    }
    let (first, repeated, other) = (try await send("Bar"), try await send("Bar"), try await send("Pub"))
    _ = try await store.put(.sample("Bar", category: "cafe"), id: place.id, if: .none)
    let late = try await send("Bar")

    #expect(repeated.status == 201 && repeated.location == first.location)
    #expect(late.status == 201 && late.location == first.location, "\(late.text)")
    #expect(try other.status == 422 && other.code == "idempotency-key-reused")
    #expect(try await driver().send(.GET, "/suggestions").array.count == 1)
  }

  @Test func tooManyFromOneAddressAreRefused() async throws {
    for number in 0..<Suggestion.maximumOpenCountOfAddress {
      _ = try await Suggestions(store).add(.sample(number, address: try #require(IPAddress("127.0.0.1")).digits))
    }
    let refused = try await driver().send(.POST, "/suggestions", json: #"{"draft":{"name":"x","lat":1,"long":2}}"#)

    #expect(try refused.status == 429 && refused.code == "rate-limited")
    #expect(refused.headers.first(name: "retry-after") == "3600")
  }

  @Test func expiredSuggestionHasNoContactAndIsNotDecided() async throws {
    let place = try await place()
    let target = try await suggest(#"{"patch":{"name":"Bar"},"contact":"a@b"}"#, for: place)
    clock.advance(byDays: 30)

    let listed = try await driver().send(.GET, "/suggestions?state=expired")
    let accepted = try await driver().send(.POST, target + "/accept")

    #expect(try listed.array.count == 1 && listed.array[0]["contact"] == nil)
    #expect(accepted.status == 409 && !accepted.text.contains("a@b"))
    #expect(try await store.point(id: place.id) == place)
  }

  @Test func pagesHaveEverySuggestionOnce() async throws {
    for number in 0..<7 {
      _ = try await driver().send(.POST, "/suggestions", json: #"{"draft":{"name":"\#(number)","lat":1,"long":2}}"#)
    }
    var target: String? = "/suggestions?state=open&limit=3"
    var (ids, sizes): ([String], [Int]) = ([], [])
    while let page = target {
      let response = try await driver().send(.GET, page)
      sizes.append(try response.array.count)
      ids += try response.array.compactMap { $0["id"] as? String }
      target = response.next
    }

    #expect(sizes == [3, 3, 1] && Set(ids).count == 7 && ids == ids.sorted())
  }
}
