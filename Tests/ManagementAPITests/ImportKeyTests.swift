import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

/// The effect of an `Idempotency-Key` on imports, and the responses that are remembered.
@Suite struct ImportKeyTests {
  private static let rows = """
    {"name":"a","lat":1,"long":2}
    {"name":"b","lat":91,"long":2}
    {"name":"c","lat":1,"long":2,"source":"s","sourceId":"2"}
    {"name":"d","lat":1,"long":2,"source":"s","sourceId":"2"}

    """
  private let store = MemoryStore()
  private var driver: ServiceDriver { ServiceDriver(writing: store) }

  private func send(
    _ body: String, key: String = "k", as type: String = "application/x-ndjson", query: String = "",
    by driver: ServiceDriver? = nil
  ) async throws -> ServiceDriver.Response {
    try await (driver ?? self.driver).send(
      .POST, "/locations/import\(query)", headers: ["content-type": type, "idempotency-key": key], json: body)
  }

  @Test func repeatedImportGetsTheFirstReportAndChangesNothing() async throws {
    let first = try await send(Self.rows)
    let repeated = try await send(Self.rows)
    let other = try await send(Self.rows, key: "other")

    #expect((first.status, repeated.status) == (200, 200))
    #expect(try first.object["rejected"] as? Int == 2)
    #expect(repeated.text == first.text)
    #expect(other.text != first.text)
    #expect(store.count == 3)
  }

  @Test(arguments: [
    ("text/csv", "", "name,lat,long\na,1,2\n"),
    ("application/x-ndjson", "?mode=atomic", "{\"name\":\"e\",\"lat\":1,\"long\":2}"),
    ("application/x-ndjson", "", rows + "{\"name\":\"e\",\"lat\":1,\"long\":2}\n"),
    ("application/x-ndjson", "", ""),
  ])
  func idempotencyKeyWithAnotherRequestIsRejected(type: String, query: String, body: String) async throws {
    _ = try await send(Self.rows)

    let response = try await send(body, as: type, query: query)

    #expect(response.status == 422)
    #expect(try response.code == "idempotency-key-reused")
    #expect(store.count == 2)
  }

  @Test func idempotencyKeyIsSharedByCreationsAndImports() async throws {
    _ = try await send(Self.rows)
    let place = #"{"name":"x","lat":1,"long":2}"#
    let created = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "p"], json: place)

    let creation = try await driver.send(.POST, "/locations", headers: ["idempotency-key": "k"], json: place)
    let bulk = try await send(Self.rows, key: "p")

    #expect((created.status, creation.status, bulk.status) == (201, 422, 422))
  }

  @Test(arguments: ["", "a b", String(repeating: "x", count: 256)])
  func idempotencyKeyIsVisibleASCIIOfBoundedLength(key: String) async throws {
    let response = try await send(Self.rows, key: key)

    #expect(response.status == 400)
    #expect(try response.parameters == ["Idempotency-Key"])
  }

  @Test func dryRunNeitherReadsNorStoresItsKey() async throws {
    let dry = try await send(Self.rows, query: "?dryRun=true")
    let taken = try await send(Self.rows)
    let again = try await send(Self.rows + "\n", query: "?dryRun=true")

    #expect((dry.status, taken.status, again.status) == (200, 200, 200))
    #expect(try taken.object["created"] as? Int == 2)
    #expect(try again.object["created"] as? Int == 1)
  }

  @Test func failedImportDoesNotUseItsKey() async throws {
    let malformed = try await send(#"{"type":"#, as: "application/geo+json")
    let rejected = try await send(Self.rows, query: "?mode=atomic")
    let taken = try await send(Self.rows)

    #expect((malformed.status, rejected.status, taken.status) == (400, 422, 200))
    #expect(try taken.object["created"] as? Int == 2)
  }

  @Test func failedCreationDoesNotUseItsKey() async throws {
    func create(_ place: String, in store: some PointStore) async throws -> Int {
      try await ServiceDriver(writing: store).send(
        .POST, "/locations", headers: ["idempotency-key": "k"], json: place
      ).status
    }
    let taken = #"{"name":"x","lat":1,"long":2,"source":"s","sourceId":"1"}"#
    _ = try await store.create(try .sample("first", sourceID: "1"), once: nil)
    let failing = RefusingStore(store, creations: .store(.unavailable(reason: "test")), times: 1)

    let conflict = try await create(taken, in: store)
    let invalid = try await create(#"{"name":"","lat":1,"long":2}"#, in: store)
    let unavailable = try await create(#"{"name":"x","lat":1,"long":2}"#, in: failing)
    let created = try await create(#"{"name":"x","lat":1,"long":2}"#, in: failing)

    #expect([conflict, invalid, unavailable, created] == [409, 422, 503, 201])
  }

  @Test func repeatOfAnImportInProgressIsAConflict() async throws {
    let service = PointsService(store: store)
    let (stream, upload) = AsyncStream.makeStream(of: [ImportRow].self)
    let hasBegun = Gate()
    let rows = stream.map { rows in
      hasBegun.open()
      return rows
    }
    let first = Task {
      try await service.importRows(rows, options: ImportOptions(key: ImportKey(text: "k") { 1 }))
    }
    upload.yield([try .sample("a", 1, 1)])
    await hasBegun.pass()

    await #expect(throws: PointWriteError.keyInFlight) {
      try await service.importRows(rows, options: ImportOptions(key: ImportKey(text: "k") { 1 }))
    }
    let other = try await service.importRows(
      [ImportRow]().inOneBatch, options: ImportOptions(key: ImportKey(text: "other") { 1 }))
    upload.finish()
    let report = try await first.value
    let repeated = try await service.importRows(
      [ImportRow]().inOneBatch, options: ImportOptions(key: ImportKey(text: "k") { 1 }))

    #expect(other == ImportReport())
    #expect(report.created == 1)
    #expect(repeated == report)
  }

  @Test func clientWhoseKeysFillItsShareIsToldToWait() {
    let problem = Problem(PointWriteError.store(.keysExhausted))

    #expect(problem.status == .serviceUnavailable && problem.code == "overloaded")
    #expect(problem.headers["retry-after"] == ["600"])
  }

  @Test func conflictWithAnImportInProgressHasRetryAfter() {
    let problem = Problem(PointWriteError.keyInFlight)

    #expect(problem.status == .conflict)
    #expect(problem.headers["retry-after"] == ["1"])
  }
}
