import Foundation
import Gzip
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import ManagementAPI

/// The memory of imports, and its division among clients.
@Suite struct ImportMemoryTests {
  private static let headers: HTTPHeaders = ["content-type": "application/x-ndjson"]

  private static func rows(_ count: Int) -> String {
    (1...count).map { #"{"name":"a","lat":1,"long":2,"source":"s","sourceId":"\#($0)"}"# + "\n" }.joined()
  }

  private static func router(_ store: some PointStore, limit: Int) -> Router {
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1")
    api.areas = store as? any AreaStore ?? api.areas
    return LocationsAPI(api).routerOfAllCalls(FeatureCalls(importMemory: ImportMemory(limit: limit)))
  }

  /// Sends rows with gzip, which are read in chunks of 64 KiB.
  private static func send(_ rows: String, to driver: ServiceDriver) async throws -> ServiceDriver.Response {
    var body: [UInt8] = []
    let encoder = try GzipEncoder()
    Array(rows.utf8).withUnsafeBytes { encoder.encode($0, into: &body) }
    encoder.finish(into: &body)
    var headers = Self.headers
    headers.add(name: "content-encoding", value: "gzip")
    return try await driver.send(.POST, "/locations/import", headers: headers, body: ByteBuffer(bytes: body))
  }

  @Test(.timeLimit(.minutes(5)), arguments: ["", "?dryRun=true", "?mode=atomic"])
  func clientWithStalledImportsHoldsAsMuchAsIsFreeBesideItsOwn(query: String) async throws {
    let store = StalledImports()
    // An import of a few rows takes some 650 kB, most of it for the warnings.
    let router = Self.router(store, limit: 8_000_000)
    let rejected = Counter()
    var imports: [Task<HTTPResponseStatus, Never>] = []
    func request(from address: String) -> HTTPRequest {
      ServiceDriver.request(
        .POST, "/locations/import" + query, headers: Self.headers, body: ByteBuffer(string: Self.rows(100)),
        from: address)
    }
    /// Begins an import, and returns whether it waits for more rows.
    func isHeld(_ request: HTTPRequest) async -> Bool {
      let (held, ended) = (store.held.value, rejected.value)
      imports.append(
        Task {
          let status = await router.respond(to: request).status
          if status != .ok { rejected.add() }
          return status
        })
      while store.held.value == held, rejected.value == ended { await Task.yield() }
      return store.held.value > held
    }

    var count = 0
    while count < 100, await isHeld(request(from: "127.0.0.1")) { count += 1 }
    let other = await isHeld(request(from: "127.0.0.2"))
    store.gate.open()
    var statuses: [HTTPResponseStatus] = []
    for task in imports { statuses.append(await task.value) }
    let later = await router.respond(to: request(from: "127.0.0.1")).status

    #expect((2..<20).contains(count), "\(count)")
    #expect(other)
    #expect(statuses.count { $0 == .ok } == count + 1)
    #expect(statuses.count { $0 == .serviceUnavailable } == 1)
    #expect(later == .ok)
  }

  @Test(arguments: ["", "?mode=atomic", "?dryRun=true"])
  func importThatAloneTakesTooMuchMemoryImportsNothing(query: String) async throws {
    let store = MemoryStore()
    let driver = ServiceDriver(Self.router(store, limit: 2_000_000))

    let rejected = try await driver.send(
      .POST, "/locations/import" + query, headers: Self.headers, json: Self.rows(5_000))
    let left = store.count
    let taken = try await driver.send(.POST, "/locations/import", headers: Self.headers, json: Self.rows(100))

    #expect(rejected.status == 413, "\(rejected.text)")
    #expect(try rejected.code == "body-too-large")
    #expect(!rejected.headers.contains(name: "retry-after"))
    #expect(left == 0)
    #expect(try taken.object["created"] as? Int == 100, "\(taken.text)")
  }

  @Test func importMayBeRepeatedIfOthersHoldTheMemory() throws {
    let memory = ImportMemory(limit: 1_000_000)
    let (first, second) = (RequestSender.address(IPAddress("192.0.2.1")), RequestSender.address(IPAddress("192.0.2.2")))
    let others = memory.share(of: first)
    try others.hold(read: 400_000)

    let beside = #expect(throws: Problem.self) { try memory.share(of: second).hold(read: 400_000) }
    let alone = #expect(throws: Problem.self) { try memory.share(of: second).hold(read: 500_000) }
    others.end()
    let later = memory.share(of: second)
    try later.hold(read: 400_000)

    #expect(beside?.status == .serviceUnavailable)
    #expect(beside?.headers.contains(name: "retry-after") == true)
    #expect(beside?.detail?.contains("too many rows of imports") == true)
    #expect(alone?.status == .payloadTooLarge)
    #expect(alone?.headers.contains(name: "retry-after") == false)
    later.end()
  }

  @Test func rowsThatAStoreHoldsAreCountedUnlessItHasThem() async throws {
    let rows = Self.rows(60_000)
    let store = MemoryStore()
    let driver = ServiceDriver(Self.router(store, limit: 14_000_000))

    let created = try await Self.send(rows, to: driver)
    let left = store.count
    let beside = try await Self.send(rows, to: ServiceDriver(Self.router(store, limit: 256 << 20)))
    let unchanged = try await Self.send(rows, to: driver)

    #expect(created.status == 413, "\(created.text)")
    #expect(left == 0)
    #expect(try beside.object["created"] as? Int == 60_000, "\(beside.text)")
    #expect(try unchanged.object["unchanged"] as? Int == 60_000, "\(unchanged.text)")
  }

  @Test func importIntoAStoreThatPassesRowsOnMayBeLongerThanTheMemory() async throws {
    let driver = ServiceDriver(Self.router(PassedImports(), limit: 14_000_000))

    let response = try await Self.send(Self.rows(60_000), to: driver)

    #expect(try response.object["created"] as? Int == 60_000, "\(response.text)")
  }

  @Test func rowThatIsNotWholeIsCounted() async throws {
    let driver = ServiceDriver(Self.router(MemoryStore(), limit: 1_000_000))
    let text = #"{"name":""# + String(repeating: "x", count: 900_000)

    let response = try await driver.send(.POST, "/locations/import", headers: Self.headers, json: text)

    #expect(response.status == 413, "\(response.text)")
  }

  // MARK: Areas

  private static func area(positions: Int) -> String {
    let ring = (0...positions).map { index in
      let angle = Double(index % positions) / Double(positions) * 2 * .pi
      return "[\(16 + 0.4 * cos(angle)),\(48 + 0.4 * sin(angle))]"
    }
    return #"{"name":"A","geometry":{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ","))]]}}"#
  }

  @Test(arguments: ["", "?mode=atomic", "?dryRun=true"])
  func importOfAreasThatAloneTakesTooMuchMemoryImportsNothing(query: String) async throws {
    let store = MemoryStore()
    let driver = ServiceDriver(Self.router(store, limit: 500_000))

    let rejected = try await driver.send(
      .POST, "/areas/import" + query, headers: Self.headers, json: Self.area(positions: 40_000))
    let left = try await store.areas(isCurrent: true).all.count
    let taken = try await driver.send(
      .POST, "/areas/import", headers: Self.headers, json: Self.area(positions: 100))

    #expect(rejected.status == 413, "\(rejected.text)")
    #expect(try rejected.code == "body-too-large")
    #expect(!rejected.headers.contains(name: "retry-after"))
    #expect(left == 0)
    #expect(try taken.object["created"] as? Int == 1, "\(taken.text)")
  }

  @Test func areaThatIsNotWholeIsCounted() async throws {
    let driver = ServiceDriver(Self.router(MemoryStore(), limit: 500_000))
    let text = Self.area(positions: 40_000).prefix(1_200_000)

    let response = try await driver.send(.POST, "/areas/import", headers: Self.headers, json: String(text))

    #expect(response.status == 413, "\(response.text)")
  }
}

/// A store whose imports wait for a gate before their end.
private struct StalledImports: ForwardingStore {
  let store = MemoryStore()
  let gate = Gate()
  let held = Counter()

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    try await store.importRows(StalledBatches(base: batches, gate: gate, held: held), options: options)
  }
}

/// Batches whose end comes when a gate is open.
private struct StalledBatches<Base: AsyncSequence & Sendable>: AsyncSequence, Sendable
where Base.Element == [ImportRow] {
  let base: Base
  let gate: Gate
  let held: Counter

  func makeAsyncIterator() -> AsyncIterator {
    AsyncIterator(base: base.makeAsyncIterator(), gate: gate, held: held)
  }

  struct AsyncIterator: AsyncIteratorProtocol {
    var base: Base.AsyncIterator
    let gate: Gate
    let held: Counter

    mutating func next() async throws -> [ImportRow]? {
      if let batch = try await base.next() { return batch }
      held.add()
      await gate.pass()
      return nil
    }
  }
}

/// A store that counts no rows, as one that passes them on.
private struct PassedImports: ForwardingStore {
  let store = MemoryStore()

  func importRows<Batches: AsyncSequence & Sendable>(
    _ batches: Batches, options: ImportOptions
  ) async throws -> ImportReport where Batches.Element == [ImportRow] {
    var options = options
    options.reserve = nil
    return try await store.importRows(batches, options: options)
  }
}
