import Points
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of calls whose connection is cut during the response.
@Suite struct CutConnectionTests {
  private func store(of database: TemporaryDatabase, through proxy: CuttingProxy) throws -> PostgresStore {
    let url = "postgresql://\(TemporaryServer.superuser)@127.0.0.1:\(proxy.port)/\(database.name)"
    return try PostgresStore(configuration: try .withLongTimeouts(url: url, poolSize: 1), migrations: [])
  }

  @Test(.timeLimit(.minutes(5)), arguments: [1, 100, 10_000]) func readIsRetried(bytes: Int) async throws {
    let database = try await TemporaryDatabase.make()
    let rows = try (1...100).map { number in
      try ImportRow.sample("place \(number)", 1, 1, tags: ["k": String(repeating: "x", count: 1000)], number: number)
    }
    _ = try await database.migratedStore().importRows(rows)
    let proxy = try await CuttingProxy(to: database.server.port)
    let store = try store(of: database, through: proxy)
    let before = try await store.names(PointQuery(limit: 1000))

    proxy.cut(afterAnswerBytes: bytes)
    let after = try await store.names(PointQuery(limit: 1000))

    #expect(proxy.hasCut)
    #expect(before.count == 100)
    #expect(after == before)
  }

  @Test(.timeLimit(.minutes(5))) func writeIsNotRetried() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await database.migratedStore()
    let proxy = try await CuttingProxy(to: database.server.port)
    let store = try store(of: database, through: proxy)
    _ = try await store.create(try .sample("first"), once: nil)
    await store.waitUntilNotified()

    proxy.cut(afterAnswerBytes: 5)
    let error = await #expect(throws: PointWriteError.self) {
      try await store.create(try .sample("second"), once: nil)
    }
    _ = try await store.create(try .sample("third"), once: nil)

    #expect(proxy.hasCut)
    if case .store(.outcomeUnknown)? = error {} else { Issue.record("got \(String(describing: error))") }
    // The write was executed, which the caller could not know.
    #expect(try await database.run("SELECT string_agg(name, ' ' ORDER BY name) FROM points") == "first second third")
  }
}
