import Basics
import Dispatch
import FairShares
import Geo
import HTTPServer
import HTTPTestSupport
import JSONText
import Logging
import MemoryStore
import NIOCore
import NIOHTTP1
import NIOPosix
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Requests beside computations that occupy all threads for them, over sockets.
@Suite(.timeLimit(.minutes(5))) struct ComputationTests {
  /// Holds computations until the test opens it. It blocks their threads, as a computation does.
  private final class Barrier: Sendable {
    private let condition = DispatchSemaphore(value: 0)
    private let isOpen = Atomic(false)
    let begun = Counter()

    func pass() {
      begun.add()
      if isOpen.load(ordering: .sequentiallyConsistent) { return }
      condition.wait()
      condition.signal()
    }

    func open() {
      isOpen.store(true, ordering: .sequentiallyConsistent)
      condition.signal()
    }
  }

  /// The number of requests that is more than the global executor has threads.
  private static let manyRequests = System.coreCount + 2

  @Test func everyOtherRequestIsServedWhileComputationsOccupyTheirThreads() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      var attackers: [RawHTTPConnection] = []
      for _ in 0..<Self.manyRequests {
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send("GET /locations/facets?by=category HTTP/1.1\r\nHost: test\r\n\r\n")
        attackers.append(connection)
      }
      try await until { barrier.begun.value == 1 && server.computations.waiting == Self.manyRequests - 1 }
      let connection = try await RawHTTPConnection.open(port: server.port)

      // Each needs the event loop, an actor or a task of the global executor.
      #expect(try await connection.put("/locations/\(Self.id)", #"{"name":"A","lat":1,"long":2}"#) == 201)
      for target in ["/locations/\(Self.id)", "/locations?lat=1&long=2", "/locations?q=place", "/health/ready"] {
        #expect(try await connection.get(target).status == 200, "\(target)")
      }
      #expect(server.computations.running == 1)
      barrier.open()
      for attacker in attackers { #expect(try await attacker.response().status == 200) }
      #expect(server.computations.running == 0)
    }
  }

  @Test func streamsOfOneConnectionDoNotStarveAnotherConnection() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let order = Mutex<[String]>([])
    try await withServer(onComputing: { barrier.pass() }, onFacets: { name in order.withLock { $0.append(name) } }) {
      server in
      let client = try await HTTP2Client.open(port: server.port)
      var streams: [HTTP2ClientStream] = []
      for _ in 0..<50 { streams.append(try await client.start("GET", "/locations/facets?by=category&category=many")) }
      try await until { server.computations.waiting == 49 }
      let other = try await RawHTTPConnection.open(port: server.port)
      try await other.send("GET /locations/facets?by=category&category=other HTTP/1.1\r\nHost: test\r\n\r\n")
      try await until { server.computations.waiting == 50 }

      barrier.open()
      #expect(try await other.response().status == 200)
      for stream in streams { #expect(try await stream.receiveResponse().status == 200) }
    }

    #expect(order.withLock { $0.firstIndex(of: "other") } == 1)
  }

  @Test func disconnectRemovesAComputationFromTheQueue() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send("GET /locations/facets?by=category HTTP/1.1\r\nHost: test\r\n\r\n")
      try await until { server.computations.waiting == 1 }

      second.reset()
      try await until { server.computations.waiting == 0 }

      barrier.open()
      #expect(try await first.response().status == 200)
      #expect(barrier.begun.value == 1)
    }
  }

  @Test func computationThatWaitsForTooLongIsOverloaded() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(timeout: .milliseconds(50), onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      defer { extendLifetime(first) }
      let second = try await RawHTTPConnection.open(port: server.port)

      let response = try await second.get("/locations/facets?by=category")

      #expect(response.status == 503)
      #expect(response.text.contains("\"code\":\"overloaded\""))
      #expect(response["retry-after"] == "1")
      #expect(server.computations.rejections == 1)
      barrier.open()
    }
  }

  @Test func computationBeyondAFullQueueIsOverloadedAtOnce() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    // Of two places in the queue, a client has one.
    try await withServer(waiting: 2, onComputing: { barrier.pass() }) { server in
      let target = "/locations/facets?by=category"
      let first = try await occupy(server)
      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: "GET \(target)")
      try await until { server.computations.waiting == 1 }

      let response = try await RawHTTPConnection.open(port: server.port).get(target)

      #expect(response.status == 503)
      #expect(response.text.contains("\"code\":\"overloaded\""))
      #expect(response["retry-after"] == "1")
      #expect(server.computations.rejections == 1)
      #expect(server.computations.waiting == 1)
      barrier.open()
      for connection in [first, second] { #expect(try await connection.response().status == 200) }
    }
  }

  @Test(
    arguments: [
      ("/locations?limit=100", false), ("/locations?limit=101", true), ("/locations?limit=200&f=geojson", true),
      ("/locations?q=place&limit=100", false), ("/locations?q=place&limit=101", true),
      ("/ogc/collections/places/items?limit=100", false), ("/ogc/collections/places/items?limit=101", true),
      ("/locations?limit=1&filter=name%3D'place'", true), ("/categories?bbox=-10,-10,10,10", true),
      ("/categories", true), ("/locations/suggest?q=place", true),
    ])
  func longPagesAndFiltersLeaveTheEventLoop(target: String, leaves: Bool) async throws {
    let threads = Counter()
    try await withServer(onComputing: {
      #expect(MultiThreadedEventLoopGroup.currentEventLoop == nil)
      threads.add()
    }) { server in
      let response = try await RawHTTPConnection.open(port: server.port).get(target)

      #expect(response.status == 200)
    }
    #expect((threads.value > 0) == leaves)
  }

  @Test func failedSearchIsNotRepeatedBesideTheEventLoop() async throws {
    let searches = Counter()
    let store = StubStore(onPage: { _ throws(PointStoreError) in
      searches.add()
      throw .overloaded
    })

    let response = try await ServiceDriver(store: store).send(.GET, "/locations?limit=1")

    #expect(response.status == 503)
    #expect(searches.value == 1)
  }

  /// An index that has no places to read, and records for which searches it was required.
  private struct AbsentIndex: StoreIndex {
    let onSnapshot: @Sendable (_ isRequired: Bool) -> Void

    func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
      onSnapshot(isRequired)
      return nil
    }
  }

  @Test(arguments: [
    ("/locations?limit=1000&source=osm", false), ("/locations?limit=1&source=osm&filter=name%3D'x'", true),
  ])
  func longSearchWaitsForTheIndexIfItNeedsOneAndIsElseMadeByTheStore(target: String, needsIndex: Bool) async throws {
    let required = Mutex<[Bool]>([])
    let searches = Mutex<[PointQuery]>([])
    var store = StubStore(onPage: { query throws(PointStoreError) in
      searches.withLock { $0.append(query) }
      return PointPage(points: [], hasMore: false)
    })
    store.index = AbsentIndex { isRequired in required.withLock { $0.append(isRequired) } }

    let response = try await ServiceDriver(store: store).send(.GET, target)

    #expect(response.status == 200)
    #expect(required.withLock { $0 } == [needsIndex])
    // It is beside the event loop, so it may build what it needs.
    #expect(searches.withLock { $0.map(\.needsBuiltIndexes) } == [false])
  }

  /// An index that has places to read once it is required.
  private struct AwaitedIndex: StoreIndex {
    let store = MemoryStore()

    func snapshot(isRequired: Bool) async throws(PointStoreError) -> (any IndexSnapshot)? {
      isRequired ? try await store.snapshot(isRequired: true) : nil
    }
  }

  @Test func searchOfAStoreThatReachesItsStepLimitIsRepeatedInTheIndex() async throws {
    let (calls, searches) = (Counter(), SearchCounter())
    var store = StubStore(onPage: { query throws(PointStoreError) in
      #expect(query.needsBuiltIndexes)
      calls.add()
      throw .stepLimit
    })
    store.index = AwaitedIndex()
    let configuration = LocationsAPI.Configuration(
      service: PointsService(store: store, analytics: searches), version: "1.2.3")

    try await serve(configuration) { server in
      let response = try await RawHTTPConnection.open(port: server.port).get("/locations?source=osm")

      #expect(response.status == 200)
    }
    #expect(calls.value == 1)
    #expect(searches.count == 1)
  }

  @Test func onlyASearchOfASourceOnTheEventLoopNeedsBuiltIndexes() {
    let ofSource = PointQuery(source: .init(name: "osm"))

    #expect(ofSource.bounded(ifOnEventLoop: true).needsBuiltIndexes)
    #expect(!ofSource.bounded(ifOnEventLoop: false).needsBuiltIndexes)
    #expect(!PointQuery().bounded(ifOnEventLoop: true).needsBuiltIndexes)
  }

  @Test(arguments: [
    "GET /locations?source=osm", "GET /locations?source=osm&f=geojson", "GET /locations?q=place&source=osm",
    "GET /ogc/collections/places/items?source=osm", "POST /locations/search",
  ])
  func sourceIsIndexedBesideTheEventLoop(call: String) async throws {
    let threads = Counter()
    // A search for a text has steps to spare for the index of fewer places.
    try await withServer(
      places: call.contains("q=") ? 60_000 : 6_000, source: "osm",
      onComputing: {
        #expect(MultiThreadedEventLoopGroup.currentEventLoop == nil)
        threads.add()
      }
    ) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let body = call.hasPrefix("POST") ? #"{"source":"osm"}"# : ""

      try await connection.send(call: call, body: body)
      #expect(try await connection.response().status == 200)
      // A page of features is counted, too.
      let count = threads.value
      #expect(count == (call.contains("/ogc") ? 2 : 1))

      try await connection.send(call: call, body: body)
      #expect(try await connection.response().status == 200)
      #expect(threads.value == count)
    }
  }

  @Test(arguments: [(1, false), (40, true), (600, true)]) func longFilterInABodyIsParsedBesideTheEventLoop(
    terms: Int, isBeside: Bool
  ) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      let filter = Array(repeating: "name = 'x'", count: terms).joined(separator: " OR ")
      let json = #"{"filter":"\#(filter)","limit":0}"#

      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: "POST /locations/search", body: json)
      if isBeside {
        try await until { server.computations.waiting == 1 }
        barrier.open()
      }

      #expect(try await second.response(to: "POST").status == 400)
      barrier.open()
      _ = try await first.response()
    }
  }

  @Test(arguments: [
    "/locations", "/locations/export", "/locations/clusters", "/locations/facets", "/tiles/0/0/0.mvt", "/tiles.json",
    "/changes", "/ogc/collections/places/items", "/ogc/collections/places/tiles/WebMercatorQuad/0/0/0",
  ])
  func longFilterInAQueryIsCompiledBesideTheEventLoop(path: String) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      let filter = Array(repeating: "name%3D'x'", count: 40).joined(separator: "%20OR%20")

      // The parameter that is not known is rejected after the filter is compiled.
      let short = try await RawHTTPConnection.open(port: server.port).get("\(path)?unknown=1&filter=name%3D'x'")
      #expect(short.status == 400)
      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: "GET \(path)?unknown=1&filter=\(filter)")
      try await until { server.computations.waiting == 1 }
      barrier.open()

      #expect(try await second.response().status == 400)
      _ = try await first.response()
    }
  }

  @Test(arguments: [
    ("GET /locations?unknown=1&within=POLYGON((1%201,2%201,2%202,1%201))", ""),
    ("GET /locations?unknown=1&route=LINESTRING(1%201,2%202)&radius=10", ""),
    ("GET /locations/suggest?unknown=1&q=x&within=POLYGON((1%201,2%201,2%202,1%201))", ""),
    ("POST /locations/search", #"{"limit":0,"within":"POLYGON((1 1,2 1,2 2,1 1))"}"#),
    ("POST /locations/search", #"{"limit":0,"route":"LINESTRING(1 1,2 2)","radius":10}"#),
  ])
  func shapesAreCompiledBesideTheEventLoop(call: String, json: String) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      let second = try await RawHTTPConnection.open(port: server.port)

      try await second.send(call: call, body: json)
      try await until { server.computations.waiting == 1 }
      barrier.open()

      #expect(try await second.response(to: String(call.prefix { $0 != " " })).status == 400)
      _ = try await first.response()
    }
  }

  @Test(arguments: [
    "/api?q=place&osm_tag=tourism:museum", "/reverse?lat=1&lon=1&radius=5000&osm_tag=tourism:museum",
    "/structured?city=place", "/nominatim/search?q=place&countrycodes=at",
  ])
  func pagesOfAFilteredSearchOfAGeocoderAreOneComputation(target: String) async throws {
    let deadlines = Mutex<[ContinuousClock.Instant?]>([])
    try await withServer(
      places: 1_000,
      onComputing: {
        #expect(MultiThreadedEventLoopGroup.currentEventLoop == nil)
        deadlines.withLock { $0.append(ComputationDeadline.current) }
      }
    ) { server in
      let response = try await RawHTTPConnection.open(port: server.port).get(target)

      #expect(response.status == 200)
    }

    #expect(deadlines.withLock { $0.count } > 1)
    #expect(deadlines.withLock { Set($0).count } == 1)
  }

  @Test(arguments: [
    ("PUT /locations/0190b7c5-7e5a-7000-8000-000000000001", #"{"name": "A","lat":1,"long":2}"#, 201),
    ("POST /locations", #"{"name": "A","lat":1,"long":2}"#, 201),
    ("PATCH /locations/0190b7c5-7e5a-7000-8000-000000000001", #"{"name": "B"}"#, 404),
    ("POST /ogc/collections/places/items", #"{"type": "Feature"}"#, 422),
    ("GET /locations?lang=de&limit=90", "", 200), ("GET /locations?f=geojson&limit=90", "", 200),
    ("GET /locations?q=place&limit=90", "", 200), ("GET /ogc/collections/places/items?limit=90", "", 200),
  ])
  func longTextsAreParsedBesideTheEventLoop(call: String, json: String, status: Int) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let text = String(repeating: "😀", count: 2_000)
    try await withServer(text: text, onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)

      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: call, body: json.replacing(" ", with: String(repeating: " ", count: 70_000)))
      try await until { server.computations.waiting == 1 }
      barrier.open()

      #expect(try await second.response(to: String(call.prefix { $0 != " " })).status == status)
      _ = try await first.response()
    }
  }

  @Test func longTextsThatAreOnlyCopiedStayOnTheEventLoop() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let text = String(repeating: "😀", count: 2_000)
    try await withServer(text: text, onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)

      let response = try await RawHTTPConnection.open(port: server.port).get("/locations?limit=90")

      #expect(response.status == 200)
      barrier.open()
      #expect(try await first.response().status == 200)
    }
  }

  @Test(arguments: [
    "GET /locations?q=place", "GET /locations/suggest?q=place", "GET /api?q=place", "POST /locations/search",
  ])
  func textOfManyStepsLeavesTheEventLoop(call: String) async throws {
    let threads = Counter()
    try await withServer(
      places: 1_000,
      onComputing: {
        #expect(MultiThreadedEventLoopGroup.currentEventLoop == nil)
        threads.add()
      }
    ) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      let body = call.hasPrefix("POST") ? #"{"q":"place"}"# : ""

      try await connection.send(call: call, body: body)
      #expect(try await connection.response().status == 200)
      // Suggestions count the categories, too.
      let count = threads.value
      #expect(count == (call.contains("suggest") ? 2 : 1))

      // The first search has indexed the words of the places, which were most of the steps.
      try await connection.send(call: call, body: body)
      #expect(try await connection.response().status == 200)
      #expect(threads.value == count)
    }
  }

  @Test(arguments: [
    ("/locations?limit=20", true), ("/locations?limit=5", false), ("/tiles.json", true), ("/ogc/collections", true),
    ("/ogc/collections/places", true),
  ])
  func longCompressionsAndExtentsLeaveTheEventLoop(target: String, leaves: Bool) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    // Of 8 KB each.
    try await withServer(text: String(repeating: "😀", count: 2_000), onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)

      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: "GET \(target)", headers: "Accept-Encoding: gzip\r\n")
      let responses = Counter()
      async let response = {
        defer { responses.add() }
        return try await second.response()
      }()
      try await until { server.computations.waiting == 1 || responses.value == 1 }
      #expect((responses.value == 0) == leaves)
      barrier.open()

      #expect(try await response.status == 200)
      #expect(try await response["content-encoding"] == "gzip" || !target.hasPrefix("/locations"))
      _ = try await first.response()
    }
  }

  @Test(arguments: [
    "POST /locations/import", "GET /locations/export", "DELETE /locations?source=osm&confirm=true",
  ])
  func transfersRunBesideEventLoopsAndComputations(call: String) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let (pieces, piecesElsewhere) = (Counter(), Counter())
    let onTransfer = { @Sendable in
      pieces.add()
      if MultiThreadedEventLoopGroup.currentEventLoop != nil { piecesElsewhere.add() }
      #if os(Linux)
        // The threads of Swift's global executor have the priority of the process.
        if getpriority(0, 0) <= getpriority(0, id_t(getpid())) { piecesElsewhere.add() }
      #endif
    }
    try await withServer(source: "osm", onComputing: { barrier.pass() }, onTransfer: onTransfer) { server in
      let first = try await occupy(server)
      // Imports whose rows do not arrive hold no thread.
      var stalled: [RawHTTPConnection] = []
      for _ in 0..<2 {
        stalled.append(try await RawHTTPConnection.open(port: server.port))
        try await stalled.last?.send(
          "POST /locations/import HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            + "Content-Length: 100\r\n\r\n[")
      }
      try await until { pieces.value == stalled.count }

      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: call, body: call.hasPrefix("POST") ? #"[{"name":"A","lat":1,"long":2}]"# : "")

      #expect(try await second.response().status == 200)
      #expect(pieces.value > stalled.count)
      #expect(piecesElsewhere.value == 0)
      #expect(server.computations.running == 1)
      barrier.open()
      _ = try await first.response()
    }
  }

  @Test(arguments: [
    "/locations?limit=1000", "/locations?q=place&limit=1000", "/locations?limit=1000&f=geojson",
    "/ogc/collections/places/items?limit=1000",
  ])
  func longPageReservesMemory(target: String) async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    try await withServer(onComputing: { barrier.pass() }) { server in
      let first = try await occupy(server)
      let second = try await RawHTTPConnection.open(port: server.port)

      try await second.send("GET \(target) HTTP/1.1\r\nHost: test\r\n\r\n")
      try await until { server.computations.waiting == 1 }
      #expect(server.bufferedBytes >= 1000 * 1024)
      barrier.open()

      #expect(try await second.response().status == 200)
      _ = try await first.response()
    }
  }

  @Test func listReservesNoMemoryWhileItsStoreWaitsForADatabase() async throws {
    let (isSearching, gate) = (Gate(), Gate())
    defer { gate.open() }
    let store = StubStore(onPage: { _ throws(PointStoreError) in
      isSearching.open()
      await gate.pass()
      return PointPage(points: [], hasMore: false)
    })
    try await serve(LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)

      try await connection.send(call: "GET /locations?limit=1000")
      await isSearching.pass()
      #expect(server.bufferedBytes < 1000 * 1024)
      gate.open()

      #expect(try await connection.response().status == 200)
    }
  }

  /// A responder that keeps the last request.
  private struct KeepingResponder: HTTPResponder {
    let responder: Router
    let last: @Sendable (HTTPRequest) -> Void

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      last(request)
      return await responder.respond(to: request)
    }
  }

  @Test func placesThatADatabaseFoundWaitForMemory() async throws {
    let request = Mutex<HTTPRequest?>(nil)
    let held = Mutex<MemoryReservation?>(nil)
    let store = StubStore(onPage: { _ throws(PointStoreError) in
      // Meanwhile others take all memory.
      let reservation = request.withLock { $0?.reserveMemoryAtOnce(bytes: 1 << 40) }
      held.withLock { $0 = reservation }
      return PointPage(points: [], hasMore: false)
    })
    let configuration = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")

    try await serve(
      configuration, configure: { ($0.timeouts.share, $0.timeouts.idleReader) = (.milliseconds(50), .seconds(3_600)) },
      through: { router in KeepingResponder(responder: router) { last in request.withLock { $0 = last } } }
    ) { server in
      let response = try await RawHTTPConnection.open(port: server.port).get("/locations?limit=1000")

      #expect(held.withLock { $0.take() } != nil)
      #expect(response.status == 503)
      #expect(response.text.contains("\"code\":\"overloaded\""))
    }
  }

  @Test func listWhosePlacesWaitForMemoryCountsAsOneSearch() async throws {
    let request = Mutex<HTTPRequest?>(nil)
    let held = Mutex<MemoryReservation?>(nil)
    let takesMemory = Atomic(false)
    let calls = Counter()
    let store = StubStore(onPage: { _ throws(PointStoreError) in
      calls.add()
      if takesMemory.exchange(false, ordering: .sequentiallyConsistent) {
        let reservation = request.withLock { $0?.reserveMemoryAtOnce(bytes: 1 << 40) }
        held.withLock { $0 = reservation }
      }
      return PointPage(points: [], hasMore: false)
    })
    let searches = SearchCounter()
    let service = PointsService(store: store, analytics: searches)
    var requests = 0

    try await serve(
      .init(service: service, version: "1.2.3"),
      configure: { ($0.timeouts.share, $0.timeouts.idleReader) = (.seconds(3_600), .seconds(3_600)) },
      through: { router in KeepingResponder(responder: router) { last in request.withLock { $0 = last } } }
    ) { server in
      // Until the memory is released after a request has begun to wait for it.
      repeat {
        requests += 1
        takesMemory.store(true, ordering: .sequentiallyConsistent)
        let connection = try await RawHTTPConnection.open(port: server.port)
        try await connection.send(call: "GET /locations?limit=1000")
        try await until { held.withLock { $0 != nil } }
        try await Task.sleep(for: .milliseconds(100))
        held.withLock { $0 = nil }
        #expect(try await connection.response().status == 200)
      } while calls.value == requests
    }

    #expect(calls.value == requests + 1)
    #expect(searches.count == requests)
  }

  @Test func changesOfARestrictionThatFindNoProcessorHaveItsProblem() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let memory = MemoryStore.countingFromOne()
    let store = ComputedStore(
      store: memory, onComputing: { barrier.pass() }, onFacets: { _ in }, onTransfer: {})
    var key = APIKey(name: "part", scope: .read, secret: "wm_part")
    key.restriction = AccessRestriction(filter: "category = 'cafe'")
    var configuration = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")
    configuration.filtering = Filtering(timeLimit: .seconds(3_600))
    configuration.changes = memory.changes
    configuration.access = AccessControl(AccessPolicy(keys: [key], isLoopback: true))
    let headers = "Authorization: Bearer wm_part\r\n"
    // Of two places in the queue, a client has one.
    try await serve(configuration, configure: { $0.limits.waitingComputations = 2 }) { server in
      let present = try await RawHTTPConnection.open(port: server.port).get("/changes", headers: headers)
      let match = present.text.firstMatch(of: /"position":"([^"]+)"/)
      let position = try #require(match?.1)
      _ = try await memory.create(.sample("Cafe", 1, 1, category: "cafe"), once: nil)
      let first = try await occupy(server)

      let second = try await RawHTTPConnection.open(port: server.port)
      try await second.send(call: "GET /changes?since=\(position)", headers: headers)
      try await until { server.computations.waiting == 1 }

      let page = try await RawHTTPConnection.open(port: server.port).get("/changes?since=\(position)", headers: headers)

      #expect(page.status == 503)
      #expect(page.text.contains("too many computations wait for a processor"), "\(page.text)")
      barrier.open()
      #expect(try await second.response().status == 200)
      _ = try await first.response()
    }
  }

  @Test func changesOfARestrictionAreJudgedBesideTheEventLoop() async throws {
    let barrier = Barrier()
    defer { barrier.open() }
    let memory = MemoryStore.countingFromOne()
    let store = ComputedStore(
      store: memory, onComputing: { barrier.pass() }, onFacets: { _ in }, onTransfer: {})
    var key = APIKey(name: "part", scope: .read, secret: "wm_part")
    key.restriction = AccessRestriction(filter: "category = 'cafe'")
    var configuration = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")
    configuration.filtering = Filtering(timeLimit: .seconds(3_600))
    configuration.changes = memory.changes
    configuration.access = AccessControl(AccessPolicy(keys: [key], isLoopback: true))
    let headers = "Authorization: Bearer wm_part\r\n"
    try await serve(configuration) { server in
      // The calls of the key are made at its first request.
      let present = try await RawHTTPConnection.open(port: server.port).get("/changes", headers: headers)
      let match = present.text.firstMatch(of: /"position":"([^"]+)"/)
      let position = try #require(match?.1)
      _ = try await memory.create(.sample("Cafe", 1, 1, category: "cafe"), once: nil)
      let first = try await occupy(server)

      let page = try await RawHTTPConnection.open(port: server.port)
      try await page.send(call: "GET /changes?since=\(position)", headers: headers)
      // The filter is joined to that of the key before the parameter that is not known is rejected.
      let filtered = try await RawHTTPConnection.open(port: server.port)
      try await filtered.send(call: "GET /changes?unknown=1&filter=name%3D'x'", headers: headers)
      try await until { server.computations.waiting == 2 }
      barrier.open()

      let response = try await page.response()
      #expect(response.status == 200)
      #expect(response.text.contains("Cafe"))
      #expect(try await filtered.response().status == 400)
      _ = try await first.response()
    }
  }

  private static let id = "0190b7c5-7e5a-7000-8000-000000000001"

  /// Runs the body against a server with one event loop and one thread for computations.
  private func withServer(
    places: Int = 200, source: String? = nil, text: String = "", timeout: Duration = .seconds(3_600),
    waiting: Int = 256, onComputing: @escaping @Sendable () -> Void,
    onFacets: @escaping @Sendable (String) -> Void = { _ in }, onTransfer: @escaping @Sendable () -> Void = {},
    body: (HTTPServer) async throws -> Void
  ) async throws {
    let memory = MemoryStore.countingFromOne()
    let rows = try (1...places).map { number in
      try ImportRow.sample(
        "place \(number)", 1, Double(number % 18_000) / 100, tags: text.isEmpty ? [:] : ["text": text], source: source,
        sourceID: source.map { _ in "\(number)" }, number: number)
    }
    _ = try await memory.load(AsyncStream([rows]))
    let store = ComputedStore(store: memory, onComputing: onComputing, onFacets: onFacets, onTransfer: onTransfer)
    let service = PointsService(store: store)
    try await serve(
      .init(service: service, filtering: Filtering(timeLimit: .seconds(3_600)), version: "1.2.3"),
      configure: { configuration in
        configuration.limits.waitingComputations = waiting
        configuration.timeouts.computation = timeout
      }, body: body)
  }

  /// Runs the body against a server of an interface, with one event loop and one thread for computations.
  private func serve(
    _ api: LocationsAPI.Configuration, configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    through responder: (Router) -> any HTTPResponder = { $0 }, body: (HTTPServer) async throws -> Void
  ) async throws {
    var configuration = HTTPServerConfiguration(port: 0)
    configuration.threads = 1
    configuration.limits.computations = 1
    configuration.timeouts.computation = .seconds(3_600)
    configuration.timeouts.header = .seconds(300)
    configure(&configuration)
    let server = try await HTTPServer.bind(
      configuration: configuration, responder: responder(LocationsAPI(api).routerOfAllCalls()),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    do {
      try await body(server)
    } catch {
      await server.shutdown(gracePeriod: .zero)
      throw error
    }
    await server.shutdown(gracePeriod: .zero)
  }

  /// Sends a request whose computation occupies the thread, and returns its connection.
  private func occupy(_ server: HTTPServer) async throws -> RawHTTPConnection {
    let connection = try await RawHTTPConnection.open(port: server.port)
    try await connection.send(call: "GET /locations/facets?by=category")
    try await until { server.computations.running == 1 }
    return connection
  }

  /// Waits until a condition holds that the server comes to by itself.
  private func until(_ condition: () -> Bool) async throws {
    while !condition() { try await Task.sleep(for: .milliseconds(2)) }
  }
}

extension RawHTTPConnection {
  /// Sends a request with a body of JSON. Without keys, writes are for clients that name this machine.
  fileprivate func send(call: String, headers: String = "", body: String = "") async throws {
    try await send(
      "\(call) HTTP/1.1\r\nHost: localhost\r\n\(headers)Content-Type: application/json\r\n"
        + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)")
  }

  /// Puts a place and returns the status.
  fileprivate func put(_ target: String, _ json: String) async throws -> Int {
    try await send(call: "PUT \(target)", body: json)
    return try await response(to: "PUT").status
  }
}

/// A store whose long searches and transfers call closures of a test.
private struct ComputedStore: ForwardingStore {
  let store: MemoryStore
  let onComputing: @Sendable () -> Void
  let onFacets: @Sendable (String) -> Void
  let onTransfer: @Sendable () -> Void

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    onTransfer()
    var rows: [[ImportRow]] = []
    for try await batch in batches {
      onTransfer()
      rows.append(batch)
    }
    return try await store.importRows(AsyncStream(rows), options: options)
  }

  func deleteBatch(ofSource source: String, after position: ExactText?) async throws(PointWriteError) -> DeletedBatch {
    onTransfer()
    return try await store.deleteBatch(ofSource: source, after: position)
  }

  func exportPoints(
    matching query: PointQuery, for client: String?,
    to consume: @Sendable (consuming [PointOfInterest]) async throws -> Void
  ) async throws {
    onTransfer()
    try await store.exportPoints(matching: query) { points in
      onTransfer()
      try await consume(points)
    }
  }

  var index: (any StoreIndex)? { ComputedIndex(index: store, onComputing: onComputing, onFacets: onFacets) }
}
