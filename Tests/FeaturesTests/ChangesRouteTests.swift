import Foundation
import Geo
import HTTPServer
import HTTPTestSupport
import Logging
import MemoryStore
import NIOCore
import NIOHTTP1
import PointIndex
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import Changes
@testable import LocationsAPI

/// `GET /changes` over places in memory.
@Suite struct ChangesRouteTests {
  private let store = MemoryStore()
  private let streams = ChangeStreams(limit: 4)
  private let access = AccessControl(AccessPolicy(keys: nil, isLoopback: true))

  private var changes: any PointFeed { store.changes }

  private var driver: ServiceDriver { ServiceDriver(router(store.changes)) }

  private func router(
    _ changes: (any PointFeed)?, access: AccessControl? = nil, streams: ChangeStreams? = nil,
    timeLimit: Duration = .seconds(600)
  ) -> Router {
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1")
    api.changes = changes
    api.areas = store
    api.access = access ?? self.access
    api.filtering = Filtering(timeLimit: timeLimit)
    return LocationsAPI(api).routerOfAllCalls(FeatureCalls(streams: streams ?? self.streams))
  }

  private func position() async throws -> String { try await changes.presentPosition() }

  // MARK: Pages

  @Test func exportStatesAPositionFromWhichChangesContinue() async throws {
    let before = try await store.create(.sample("before"), once: nil)
    let export = try await driver.send(.GET, "/locations/export?f=ndjson")
    let position = try #require(export.headers.first(name: "waymark-position"))
    let after = try await store.create(.sample("after"), once: nil)
    try await store.delete(id: before.id, if: .none)

    let page = try await driver.send(.GET, "/changes?since=\(position)").object

    let changes = try #require(page["changes"] as? [[String: Any]])
    #expect(changes.count == 2 && page["more"] as? Bool == false)
    let place = try #require(changes.first { $0["id"] as? String == after.id.description }?["place"] as? [String: Any])
    #expect(place["name"] as? String == "after" && place["version"] as? Int64 == after.version)
    let deleted = try #require(changes.first { $0["id"] as? String == before.id.description })
    #expect(deleted["deleted"] as? Bool == true && deleted["version"] as? Int64 ?? 0 > before.version)
    let next = try #require(page["position"] as? String)
    let rest = try await driver.send(.GET, "/changes?since=\(next)").object["changes"] as? [Any]
    #expect(rest?.isEmpty == true)
  }

  @Test func requestWithoutAPositionReturnsThePresentOne() async throws {
    _ = try await store.create(.sample("a"), once: nil)

    let response = try await driver.send(.GET, "/changes")

    #expect(try response.object["position"] as? String == (try await position()))
    #expect(response.headers.first(name: "cache-control") == "no-store")
  }

  @Test(arguments: [
    ("limit=0", "limit"), ("limit=10001", "limit"), ("limit=x", "limit"), ("wait=61", "wait"), ("wait=-1", "wait"),
    ("since=x&wait=1.5", "wait"), ("wait=1", "since"), ("lat=1&long=2", "radius"), ("open=now", "open"),
    ("cursor=x", "cursor"), ("q=a", "q"), ("route=_p~iF&radius=1", "route"), ("fields=id", "fields"),
    ("bbox=1,2,3", "bbox"), ("filter=(", "filter"), ("since=!", "since"), ("since=", "since"), ("since=a", "since"),
  ])
  func invalidParameterIsNamed(_ query: String, _ name: String) async throws {
    let response = try await driver.send(.GET, "/changes?\(query)")

    #expect(response.status == 400)
    let errors = try #require(try response.object["errors"] as? [[String: Any]])
    #expect(errors.contains { $0["parameter"] as? String == name }, "\(response.text)")
  }

  @Test func positionThatIsNotKnownIsGone() async throws {
    for position in ["1.2", "1.2.3", "1.2.3-4.5-6.7.8"] {
      let response = try await driver.send(.GET, "/changes?since=\(position)")
      #expect(response.status == 410)
      #expect(try response.code == "position-expired")
    }
  }

  @Test(arguments: ["", "text/event-stream"])
  func filterThatTakesTooLongIsRejected(accept: String) async throws {
    let start = try await position()
    // The time is checked after some evaluations.
    for number in 1...200 { _ = try await store.create(.sample("\(number)"), once: nil) }
    let driver = ServiceDriver(router(store.changes, timeLimit: .seconds(-1)))

    let response = try await driver.send(
      .GET, "/changes?since=\(start)&filter=name%20LIKE%20'%25a%25'",
      headers: accept.isEmpty ? [:] : ["accept": accept])

    #expect(response.status == 503 && response.text.contains("filter-timeout"), "\(response.text)")
  }

  @Test func conditionsMakeOtherPlacesOutside() async throws {
    let start = try await position()
    for (name, latitude) in [("in", 1.0), ("out", 50)] {
      _ = try await store.create(.sample(name, latitude, 2, category: "cafe", tags: ["a": "b"]), once: nil)
    }
    let conditions = [
      "bbox=0,0,3,3", "lat=1&long=2&radius=1000", "filter=lat%20%3C%205&category=cafe", "tag.a=b&bbox=0,0,3,3",
      "within=POLYGON((0%200,3%200,3%203,0%203,0%200))",
    ]
    for condition in conditions {
      let page = try await driver.send(.GET, "/changes?since=\(start)&\(condition)").object
      let changes = try #require(page["changes"] as? [[String: Any]])
      #expect(changes.compactMap { ($0["place"] as? [String: Any])?["name"] as? String } == ["in"], "\(condition)")
      #expect(changes.count { $0["outside"] as? Bool == true } == 1)
    }
  }

  @Test func requestThatWaitsReturnsWithTheFirstChangeThatMatches() async throws {
    let start = try await position()
    async let response = driver.send(.GET, "/changes?since=\(start)&wait=60&category=cafe")
    let cafe = try await store.create(.sample("cafe", category: "cafe"), once: nil)

    let changes = try #require(try await response.object["changes"] as? [[String: Any]])

    #expect(changes.last?["id"] as? String == cafe.id.description)
  }

  @Test func requestThatWaitsInVainReturnsAPosition() async throws {
    let start = try await position()
    let page = try await driver.send(.GET, "/changes?since=\(start)&wait=1").object
    #expect(page["position"] as? String == start)
  }

  @Test func pollsThatWaitHoldNoMemoryOfLongResponses() async throws {
    for number in 0..<200 { _ = try await store.create(.sample("place \(number)"), once: nil) }
    let position = try await position()
    var configuration = HTTPServerConfiguration(port: 0)
    configuration.threads = 1
    configuration.limits.bufferedBytes = 16 << 20
    configuration.limits.requestsInFlight = 4
    configuration.timeouts.share = .milliseconds(100)
    let server = try await HTTPServer.bind(
      configuration: configuration, responder: router(store.changes, streams: ChangeStreams()),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    var polls: [RawHTTPConnection] = []
    for _ in 0..<12 {
      let poll = try await RawHTTPConnection.open(port: server.port)
      try await poll.send("GET /changes?since=\(position)&wait=60&limit=10000 HTTP/1.1\r\nHost: test\r\n\r\n")
      polls.append(poll)
    }
    while server.requestsWaiting < 12 { await Task.yield() }

    let other = try await RawHTTPConnection.open(port: server.port)
    for target in ["/locations?limit=1000", "/locations/export", "/changes?since=\(position)&limit=10000"] {
      #expect(try await other.get(target).status == 200, "\(target)")
    }
    _ = try await store.create(.sample("awaited"), once: nil)
    for poll in polls { #expect(try await poll.response().text.contains(#""name":"awaited""#)) }
    await server.shutdown(gracePeriod: .zero)
  }

  @Test(arguments: [1, 3, 100]) func pageThatIsAwaitedHasAtMostTheLimitOfChanges(limit: Int) async throws {
    let start = try await position()
    async let response = driver.send(.GET, "/changes?since=\(start)&wait=60&limit=\(limit)")
    while !store.changes.hasSubscriptions { await Task.yield() }
    let rows = try (0..<50).map { try ImportRow.sample("\($0)", 1, 2, number: $0) }
    _ = try await store.importRows(rows)

    let page = try await response.object

    #expect((page["changes"] as? [Any])?.count == min(limit, 50))
    #expect(page["more"] as? Bool == (limit < 50))
  }

  @Test func storeWithoutChangesIsNotImplemented() async throws {
    let response = try await ServiceDriver(router(nil)).send(.GET, "/changes")
    #expect(response.status == 501)
  }

  // MARK: Streams

  /// A stream whose text is collected.
  private final class Stream: Sendable {
    let text = Mutex("")
    private let task: Mutex<Task<Void, any Error>?> = Mutex(nil)
    let response: HTTPResponse

    init(
      _ router: Router, _ target: String, headers: HTTPHeaders = [:], from address: String = "127.0.0.1"
    ) async {
      var headers = headers
      headers.replaceOrAdd(name: "accept", value: "text/event-stream")
      response = await router.respond(
        to: ServiceDriver.request(.GET, target, headers: headers, from: address))
    }

    func start() throws {
      guard case .live(let body) = response.body else { throw HTTPConnectionClosed() }
      let task = Task { [self] in
        try await body(HTTPResponseWriter { bytes in self.text.withLock { $0 += String(buffer: bytes) } })
      }
      self.task.withLock { $0 = task }
    }

    /// Returns the text when it contains another.
    func wait(for part: String) async throws -> String {
      for _ in 0..<6_000 {
        let text = text.withLock { $0 }
        if text.contains(part) { return text }
        try await Task.sleep(for: .milliseconds(10))
      }
      Issue.record("'\(part)' is not in \(text.withLock { $0 })")
      return ""
    }

    func end() async throws { try await task.withLock { $0 }?.value }

    func cancel() { task.withLock { $0 }?.cancel() }
  }

  @Test func streamEndsWithTheReasonWhenItsKeyIsRevoked() async throws {
    let keys = [APIKey(name: "partner", scope: .read, secret: "wm_partner")]
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: false, readRequiresKey: true))
    let streams = ChangeStreams(interval: .milliseconds(1))
    let stream = await Stream(
      router(store.changes, access: access, streams: streams), "/changes",
      headers: ["authorization": "Bearer wm_partner"])
    try stream.start()
    // The access was checked, and is still there.
    _ = try await stream.wait(for: "\n\n:\n\n")

    access.replaceKeys([])

    let text = try await stream.wait(for: "event: end")
    try await stream.end()
    #expect(text.contains(#""code":"unauthenticated""#) && text.contains("this API key is not known"))
  }

  private func partnerKeys(_ restriction: AccessRestriction) -> [APIKey] {
    var key = APIKey(name: "partner", scope: .read, secret: "wm_partner")
    key.restriction = restriction
    return [key]
  }

  @Test func streamOfAKeyWithAFilterHasItsPlacesAndThoseThatLeave() async throws {
    let keys = partnerKeys(AccessRestriction(filter: "category = 'cafe'"))
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: false, readRequiresKey: true))
    let outsider = try await store.create(.sample("bar 1", category: "bar"), once: nil)
    let stream = await Stream(
      router(store.changes, access: access), "/changes?filter=name%20LIKE%20'c%25'",
      headers: ["authorization": "Bearer wm_partner"])
    try stream.start()
    _ = try await stream.wait(for: "event: position")

    let cafe = try await store.create(.sample("cafe", category: "cafe"), once: nil)
    let other = try await store.create(.sample("club", category: "cafe"), once: nil)
    _ = try await store.put(.sample("bar 2", category: "bar"), id: outsider.id, if: .none)
    try await store.delete(id: outsider.id, if: .none)
    // One leaves the filter of the key, and the other one that of the request alone.
    _ = try await store.put(.sample("cafe", category: "bar"), id: cafe.id, if: .none)
    _ = try await store.put(.sample("hut", category: "cafe"), id: other.id, if: .none)
    _ = try await store.create(.sample("close", category: "cafe"), once: nil)
    let text = try await stream.wait(for: #""name":"close""#)

    #expect(!text.contains("bar") && !text.contains(outsider.id.description), "\(text)")
    #expect(text.firstMatch(of: try Regex(#""id":"\#(cafe.id)","version":\d+,"deleted":true"#)) != nil, "\(text)")
    #expect(text.firstMatch(of: try Regex(#""id":"\#(other.id)","version":\d+,"outside":true"#)) != nil, "\(text)")
    #expect(text.components(separatedBy: "event: change").count == 6, "\(text)")
    stream.cancel()
  }

  @Test func streamResetsWhenTheFilterOfItsKeyChanges() async throws {
    let keys = partnerKeys(AccessRestriction(filter: "category = 'cafe'"))
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: false, readRequiresKey: true))
    let router = router(store.changes, access: access, streams: ChangeStreams(interval: .milliseconds(1)))
    let headers: HTTPHeaders = ["authorization": "Bearer wm_partner"]
    let stream = await Stream(router, "/changes", headers: headers)
    try stream.start()
    _ = try await stream.wait(for: "\n\n:\n\n")

    access.replaceKeys(partnerKeys(AccessRestriction(filter: "category = 'bar'")))

    let text = try await stream.wait(for: "event: reset")
    try await stream.end()
    let id = try #require(text.components(separatedBy: "id: ").last?.components(separatedBy: "\n").first)
    let next = await Stream(router, "/changes", headers: ["authorization": "Bearer wm_partner", "last-event-id": id])
    try next.start()
    _ = try await next.wait(for: "event: reset")
    next.cancel()
  }

  @Test func streamResetsWhenAnAreaOfItsKeyChanges() async throws {
    let area = try #require(try await driver.send(.POST, "/areas", json: Self.area(west: 0)).object["id"] as? String)
    let keys = partnerKeys(AccessRestriction(filter: nil, areas: ["Zone"]))
    let access = AccessControl(AccessPolicy(keys: keys, isLoopback: false, readRequiresKey: true))
    let router = router(store.changes, access: access, streams: ChangeStreams(interval: .milliseconds(1)))
    let stream = await Stream(router, "/changes", headers: ["authorization": "Bearer wm_partner"])
    try stream.start()
    _ = try await stream.wait(for: "\n\n:\n\n")

    _ = try await driver.send(.PUT, "/areas/\(area)", json: Self.area(west: 10))

    _ = try await stream.wait(for: "event: reset")
    try await stream.end()
  }

  @Test func streamHasThePositionAndThenEachChange() async throws {
    let stream = await Stream(router(store.changes), "/changes?category=cafe")
    #expect(stream.response.status == .ok)
    #expect(stream.response.headers.first(name: "content-type") == "text/event-stream")
    try stream.start()
    let beginning = try await stream.wait(for: "event: position")
    #expect(beginning.hasPrefix("retry: "))

    _ = try await store.create(.sample("bar", category: "bar"), once: nil)
    let cafe = try await store.create(.sample("cafe", category: "cafe"), once: nil)
    let text = try await stream.wait(for: "event: change")

    let data = try #require(
      text.components(separatedBy: "event: change\ndata: ").last?.components(separatedBy: "\n").first)
    let change = try #require(try JSONSerialization.jsonObject(with: Data(data.utf8)) as? [String: Any])
    #expect(change["id"] as? String == cafe.id.description)
    #expect(text.contains("id: \(try await position())\nevent: change"))
    stream.cancel()
    try? await stream.end()
    #expect(streams.counts.events == 1 && streams.counts.bytes > 0)
  }

  @Test func streamContinuesAfterTheLastEvent() async throws {
    let start = try await position()
    for name in ["a", "b"] { _ = try await store.create(.sample(name), once: nil) }
    let stream = await Stream(router(store.changes), "/changes?since=1.2", headers: ["last-event-id": start])
    try stream.start()

    let text = try await stream.wait(for: #""name":"b""#)

    // The first event of two has no position: a client that has read it alone continues before it.
    #expect(text.components(separatedBy: "event: change").count == 3)
    #expect(text.components(separatedBy: "\nid: ").count == 2)
    stream.cancel()
  }

  @Test(arguments: ["1.2", "x"])
  func streamFromAnUnknownPositionHasAReset(_ position: String) async throws {
    let stream = await Stream(router(store.changes), "/changes", headers: ["last-event-id": position])
    #expect(stream.response.status == .ok)
    try stream.start()

    let text = try await stream.wait(for: "event: reset")

    #expect(text.contains("id: \(try await self.position())\nevent: reset"))
    #expect(streams.counts.resets == 1)
    stream.cancel()
  }

  // MARK: Areas

  private static func area(west: Double) -> String {
    let ring = "[[\(west),0],[\(west + 2),0],[\(west + 2),2],[\(west),2],[\(west),0]]"
    return #"{"name":"Zone","geometry":{"type":"Polygon","coordinates":[\#(ring)]}}"#
  }

  @Test func changesInAnAreaAreThoseOfItsPlacesUntilItChanges() async throws {
    let area = try #require(
      try await driver.send(.POST, "/areas", json: Self.area(west: 0)).object["id"] as? String)
    let start = try #require(try await driver.send(.GET, "/changes?in=zone").object["position"] as? String)
    let plain = try await position()
    _ = try await store.create(.at(1, 1, name: "inside"), once: nil)
    _ = try await store.create(.at(1, 5, name: "outside"), once: nil)

    let page = try await driver.send(.GET, "/changes?in=zone&since=\(start)")
    let export = try await driver.send(.GET, "/locations/export?f=ndjson&in=zone")
    let exported = try #require(export.headers.first(name: "waymark-position"))
    let rest = try await driver.send(.GET, "/changes?in=zone&since=\(exported)")
    let unmarked = try await driver.send(.GET, "/changes?in=zone&since=\(plain)")
    let everywhere = try await driver.send(.GET, "/changes?since=\(exported)")
    _ = try await driver.send(.PUT, "/areas/\(area)", json: Self.area(west: 4))
    let expired = try await driver.send(.GET, "/changes?in=zone&since=\(exported)")

    let changes = try #require(page.object["changes"] as? [[String: Any]])
    #expect(changes.count == 2 && changes.count { $0["outside"] as? Bool == true } == 1, "\(page.text)")
    #expect(page.headers.first(name: "waymark-area") == area)
    #expect(try rest.status == 200 && (rest.object["changes"] as? [Any])?.isEmpty == true, "\(rest.text)")
    #expect(unmarked.status == 410 && everywhere.status == 200, "\(unmarked.text) \(everywhere.text)")
    #expect(expired.status == 410 && expired.text.contains("position-expired"), "\(expired.text)")
  }

  @Test func streamOfAnAreaThatChangesHasAResetAndEnds() async throws {
    let area = try #require(
      try await driver.send(.POST, "/areas", json: Self.area(west: 0)).object["id"] as? String)
    let stream = await Stream(router(store.changes), "/changes?in=zone")
    try stream.start()
    _ = try await stream.wait(for: "event: position")

    _ = try await driver.send(.PUT, "/areas/\(area)", json: Self.area(west: 4))
    _ = try await store.create(.at(1, 1, name: "left"), once: nil)
    let text = try await stream.wait(for: "event: reset")
    try await stream.end()
    let position = try #require(text.components(separatedBy: "id: ").last?.prefix { $0 != "\n" })
    let continued = await Stream(
      router(store.changes), "/changes?in=zone", headers: ["last-event-id": String(position)])
    try continued.start()
    _ = try await store.create(.at(1, 5, name: "entered"), once: nil)

    #expect(!text.contains("left") && streams.counts.resets == 1)
    #expect(try await continued.wait(for: "entered").contains("event: change"))
    continued.cancel()
    try? await continued.end()
  }

  @Test func streamThatIsTooManyIsRejected() async throws {
    let (first, second) = (
      await Stream(router(store.changes), "/changes"), await Stream(router(store.changes), "/changes")
    )
    let third = await Stream(router(store.changes), "/changes", from: "192.0.2.1")
    let open = [first, second, third, await Stream(router(store.changes), "/changes", from: "192.0.2.2")]
    let other = await Stream(router(store.changes), "/changes", from: "192.0.2.3")

    #expect(open.allSatisfy { $0.response.status == .ok })
    #expect(other.response.status == .serviceUnavailable && other.response.headers.contains(name: "retry-after"))
    #expect(streams.counts.open == 4)
  }

  @Test func clientHasAsManyStreamsAsAreFreeBesideThem() async throws {
    let streams = ChangeStreams(limit: 9)
    func streamsUntilRejected(from address: String) async -> [Stream] {
      var open: [Stream] = []
      while true {
        let next = await Stream(router(store.changes, streams: streams), "/changes", from: address)
        guard next.response.status == .ok else { return open }
        open.append(next)
      }
    }

    let first = await streamsUntilRejected(from: "192.0.2.1")
    let second = await streamsUntilRejected(from: "192.0.2.2")
    let third = await streamsUntilRejected(from: "192.0.2.3")
    let counts: [Int] = [first.count, second.count, third.count]
    #expect(counts == [5, 2, 1])
  }

  @Test func waitsOfAClientAreBounded() async throws {
    let streams = ChangeStreams(limit: 3)
    let router = router(store.changes, streams: streams)
    let start = try await position()
    @Sendable func poll(from address: String) async -> HTTPResponseStatus {
      await router.respond(
        to: ServiceDriver.request(.GET, "/changes?since=\(start)&wait=60", from: address)
      ).status
    }
    let open = (0..<2).map { _ in Task { await poll(from: "192.0.2.1") } }
    while streams.waitCount < 2 { await Task.yield() }

    let third = await poll(from: "192.0.2.1")
    let other = Task { await poll(from: "192.0.2.2") }
    while streams.waitCount < 3 { await Task.yield() }
    _ = try await store.create(.sample("awaited"), once: nil)

    #expect(third == .serviceUnavailable)
    for task in open + [other] { #expect(await task.value == .ok) }
    #expect(streams.waitCount == 0)
  }

  /// The edges of the area are 18,000 km long: it takes some 60 kB.
  @Test func conditionsOfAClientAreBounded() async throws {
    let router = router(store.changes, streams: ChangeStreams(conditionBytes: 1_000_000))
    let area = "within=POLYGON((-170%2080,170%2080,170%20-80,-170%20-80,-170%2080))"
    let start = try await position()
    func poll(_ condition: String, from address: String) async -> HTTPResponseStatus {
      await router.respond(
        to: ServiceDriver.request(.GET, "/changes?since=\(start)&wait=1&\(condition)", from: address)
      ).status
    }
    var open: [Stream] = []
    while open.count < 100 {
      let stream = await Stream(router, "/changes?\(area)", from: "192.0.2.1")
      guard stream.response.status == .ok else { break }
      open.append(stream)
    }
    let short = await Stream(router, "/changes?category=cafe", from: "192.0.2.1")
    let other = await Stream(router, "/changes?\(area)", from: "192.0.2.2")

    #expect((2..<100).contains(open.count))
    #expect(short.response.status == .ok)
    #expect(other.response.status == .ok)
    #expect(await poll(area, from: "192.0.2.1") == .serviceUnavailable)
    #expect(await poll("category=cafe", from: "192.0.2.1") == .ok)
    #expect(await poll(area, from: "192.0.2.2") == .ok)
    open = []
    #expect(await poll(area, from: "192.0.2.1") == .ok)
  }

  /// The areas have 2,000 positions each.
  @Test func namedAreaOfManyStreamsIsCountedOnce() async throws {
    for name in ["a", "b"] {
      let ring = try (0..<2_000).map { number in
        let angle = 2 * Double.pi * Double(number) / 2_000
        return try Coordinate(latitude: 48 + 0.1 * sin(angle), longitude: 16 + 0.1 * cos(angle))
      }
      let draft = try AreaDraft(name: name, outline: try AreaOutline(polygons: [[ring]], isMultiple: false))
      _ = try await AreaEditor(store).create(draft, once: nil)
    }
    let areas = try await store.areas(isCurrent: true)
    let bytes = try areas.shape(of: try #require(areas.area(named: "a"))).byteCount
    let router = router(store.changes, streams: ChangeStreams(conditionBytes: bytes * 5 / 2))
    func stream(_ name: String, from address: String) async -> Stream {
      await Stream(router, "/changes?in=\(name)", from: address)
    }

    var open: [Stream] = []
    for address in ["192.0.2.1", "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.1"] {
      open.append(await stream("a", from: address))
    }
    let second = await stream("b", from: "192.0.2.1")
    let ofAnother = await stream("b", from: "192.0.2.4")
    let statuses = open.map(\.response.status)

    #expect(bytes > 8192)
    #expect(statuses.allSatisfy { $0 == .ok }, "\(statuses)")
    #expect(second.response.status == .serviceUnavailable)
    #expect(ofAnother.response.status == .ok)
    open = []
    let later = await stream("b", from: "192.0.2.1")
    #expect(later.response.status == .ok)
  }

  @Test func streamThatEndsMakesRoomForAnotherOfItsClient() async throws {
    let streams = ChangeStreams(limit: 2)
    do {
      let open = await Stream(router(store.changes, streams: streams), "/changes")
      let other = await Stream(router(store.changes, streams: streams), "/changes")
      #expect(open.response.status == .ok && other.response.status == .serviceUnavailable)
    }

    let next = await Stream(router(store.changes, streams: streams), "/changes")

    #expect(next.response.status == .ok && streams.counts.open == 1)
  }

  @Test func streamThatIsNeverReadIsNotCounted() async throws {
    do {
      let stream = await Stream(router(store.changes), "/changes")
      #expect(stream.response.status == .ok && streams.counts.open == 1)
    }
    #expect(streams.counts.open == 0)
  }

  @Test func streamEndsWithAPositionWhenTheServerShutsDown() async throws {
    let stream = await Stream(router(store.changes), "/changes")
    try stream.start()
    _ = try await stream.wait(for: "event: position")
    changes.close()

    try await stream.end()

    #expect(stream.text.withLock { $0 }.components(separatedBy: "event: position").count == 3)
  }

  /// The beginnings of the memory of pieces that streams write, and the gate that they wait at.
  private final class Pieces: Sendable {
    let gate = Gate()
    let addresses = Mutex<[UInt: Int]>([:])
    let waiting = Counter()

    /// Takes a piece. One with a long place is counted by its memory, and waits.
    func take(_ bytes: ByteBuffer) async {
      guard bytes.readableBytes > 16 * 1024 else { return }
      let address = bytes.withUnsafeReadableBytes { UInt(bitPattern: $0.baseAddress) }
      addresses.withLock { $0[address, default: 0] += 1 }
      waiting.add()
      await gate.pass()
    }
  }

  @Test(arguments: ["/changes", "/changes?category=cafe", "/changes?filter=name%20LIKE%20'l%25'"])
  func streamsThatReadNothingShareTheTextOfALongPlace(target: String) async throws {
    let streams = ChangeStreams(limit: 1_000)
    let (pieces, count) = (Pieces(), 100)
    var tasks: [Task<Void, any Error>] = []
    for _ in 0..<count {
      let stream = await Stream(router(store.changes, streams: streams), target)
      guard case .live(let body) = stream.response.body else { continue }
      tasks.append(Task { try await body(HTTPResponseWriter { await pieces.take($0) }) })
    }

    let note = String(repeating: "x", count: 1_900)
    let tags = try Tags(Dictionary(uniqueKeysWithValues: (0..<100).map { ("key \($0)", note) }))
    let long = try PointDraft(
      name: "long", category: "cafe", coordinate: try Coordinate(latitude: 1, longitude: 2), tags: tags)
    _ = try await store.create(long, once: nil)
    while pieces.waiting.value < count { await Task.yield() }

    #expect(pieces.addresses.withLock { Array($0.values) } == [count])
    for task in tasks { task.cancel() }
    pieces.gate.open()
    for task in tasks { try? await task.value }
  }

  @Test func longPlacesOfTheLogAreWrittenWholeAndOneAfterTheOther() async throws {
    let start = try await position()
    let note = String(repeating: "ä\u{1}\"", count: 600)
    for number in 0..<5 {
      let tags = try Tags(Dictionary(uniqueKeysWithValues: (0..<40).map { ("key \($0)", note) }))
      _ = try await store.create(
        PointDraft(
          name: "long \(number)", category: nil, coordinate: try Coordinate(latitude: 1, longitude: 2), tags: tags),
        once: nil)
      _ = try await store.create(.sample("short \(number)"), once: nil)
    }
    let page = try await driver.send(.GET, "/changes?since=\(start)").object

    let stream = await Stream(router(store.changes), "/changes?since=\(start)")
    try stream.start()
    let text = try await stream.wait(for: #""name":"short 4""#)

    let received = try text.components(separatedBy: "event: change\ndata: ").dropFirst().compactMap { part in
      try JSONSerialization.jsonObject(with: Data(part.components(separatedBy: "\n")[0].utf8)) as? NSDictionary
    }
    #expect(received == page["changes"] as? [NSDictionary] && received.count == 10)
    stream.cancel()
  }

  @Test func changeThatWaitsAtACheckOfTheAccessIsNotSkipped() async throws {
    let streams = ChangeStreams(interval: .milliseconds(1))
    let stream = await Stream(router(store.changes, streams: streams), "/changes")
    guard case .live(let body) = stream.response.body else { return }
    let text = Mutex("")
    let (gate, isWaiting) = (Gate(), Counter())
    let task = Task {
      try await body(
        HTTPResponseWriter { bytes in
          text.withLock { $0 += String(buffer: bytes) }
          guard String(buffer: bytes).contains(#""name":"first""#) else { return }
          isWaiting.add()
          await gate.pass()
        })
    }
    let other = store.changes.subscribe(matching: PointQuery())
    _ = try await store.create(.sample("first"), once: nil)
    while isWaiting.value == 0 { await Task.yield() }
    _ = try await store.create(.sample("second"), once: nil)
    let end = try await position()
    // The stream's subscription has the change, too.
    while other.deliveredPosition.map({ !changes.includes(end, in: $0) }) ?? true { await Task.yield() }
    try await Task.sleep(for: .milliseconds(5))

    gate.open()
    for _ in 0..<6_000 where !text.withLock({ $0.contains(#""name":"second""#) }) {
      try await Task.sleep(for: .milliseconds(10))
    }

    #expect(text.withLock { $0.contains(#""name":"second""#) })
    task.cancel()
  }

  @Test func slowReaderIsSentToTheLogAndMissesNothing() async throws {
    let gate = Gate()
    let stream = await Stream(router(store.changes), "/changes")
    guard case .live(let body) = stream.response.body else { return }
    let text = Mutex("")
    let task = Task {
      try await body(
        HTTPResponseWriter { bytes in
          let isFirst = text.withLock { text in
            defer { text += String(buffer: bytes) }
            return text.isEmpty
          }
          if isFirst { await gate.pass() }
        })
    }
    while text.withLock({ $0.isEmpty }) { await Task.yield() }
    let count = ChangeSubscription.capacity + 50
    for number in 0..<count { _ = try await store.create(.sample("n\(number)"), once: nil) }
    gate.open()
    for _ in 0..<6_000 where !text.withLock({ $0.contains("\"n\(count - 1)\"") }) {
      try await Task.sleep(for: .milliseconds(10))
    }

    let received = text.withLock { $0 }
    #expect((0..<count).allSatisfy { received.contains("\"n\($0)\"") })
    #expect(streams.counts.interruptions >= 1)
    task.cancel()
  }
}
