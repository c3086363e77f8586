import Geo
import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of calls to a server that runs out of a resource.
@Suite struct ScarcityTests {
  @Test(
    .enabled(if: SmallDisk.isAllowed, "to fill a disk takes the right to mount one, as root"),
    .timeLimit(.minutes(5))
  )
  func fullDiskFailsWritesButNotReadsUntilThereIsSpace() async throws {
    let disk = try SmallDisk(megabytes: 4)
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let store = try await database.migratedStore()
    try await server.psql(database: "postgres", "CREATE TABLESPACE small LOCATION '\(disk.path)'")
    try await database.run("ALTER TABLE points SET TABLESPACE small")
    var acknowledged = 0
    var rejection: PointWriteError?

    while rejection == nil, acknowledged < 1000 {
      do throws(PointWriteError) {
        _ = try await store.create(Self.large(number: acknowledged), once: nil)
        acknowledged += 1
      } catch {
        rejection = error
      }
    }
    let found = try await store.page(matching: PointQuery(limit: 1000)).points.count
    try disk.resize(megabytes: 64)
    _ = try await store.create(Self.large(number: acknowledged), once: nil)

    guard case .store(.unavailable(let reason))? = rejection else {
      Issue.record("got \(String(describing: rejection)) after \(acknowledged)")
      return
    }
    #expect(reason.contains("53100"))
    #expect(acknowledged > 0)
    #expect(found == acknowledged)
    #expect(try await store.allPoints().count == acknowledged + 1)
  }

  /// Returns a place of 64 KB that can't be compressed.
  private static func large(number: Int) -> PointDraft {
    var generator = SystemRandomNumberGenerator()
    let tags = (0..<32).map { tag in
      let words = (0..<125).map { _ in String(UInt64.random(in: .min ... .max, using: &generator), radix: 16) }
      return (key: "\(tag)", value: words.joined())
    }
    guard let coordinate = try? Coordinate(latitude: 1, longitude: 2), let kept = try? Tags(tags),
      let place = try? PointDraft(name: "large \(number)", coordinate: coordinate, tags: kept)
    else {
      preconditionFailure("the tags are within their bounds")
    }
    return place
  }

  @Test(.timeLimit(.minutes(5))) func poolServesAllCallersWithFewerConnectionsThanItsLimit() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await database.migratedStore().importRows([.sample("there", 1, 1)])
    let role = "limited_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 2; GRANT SELECT ON points TO \(role)")
    let url = "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"
    let store = try PostgresStore(configuration: try .withLongTimeouts(url: url, poolSize: 8), migrations: [])
    // The first connection is established before others are rejected.
    _ = try await store.names(PointQuery())

    let counts = try await withThrowingTaskGroup { group in
      for _ in 0..<64 { group.addTask { try await store.names(PointQuery()).count } }
      return try await group.reduce(into: []) { $0.append($1) }
    }

    #expect(counts == Array(repeating: 1, count: 64))
  }

  @Test(.timeLimit(.minutes(5))) func callsFailImmediatelyWithoutAnyConnectionAndRecover() async throws {
    let database = try await TemporaryDatabase.make()
    _ = try await database.migratedStore()
    let role = "none_\(database.name)"
    try await database.run("CREATE ROLE \(role) LOGIN CONNECTION LIMIT 0; GRANT SELECT ON points TO \(role)")
    let url = "postgresql://\(role)@127.0.0.1:\(database.server.port)/\(database.name)"
    let store = try PostgresStore(configuration: try PostgresConfiguration.withLongTimeouts(url: url), migrations: [])

    let rejection = await #expect(throws: PointStoreError.self) { try await store.names(PointQuery()) }
    try await database.run("ALTER ROLE \(role) CONNECTION LIMIT 1")
    var names: [String]?
    while names == nil {
      names = try? await store.names(PointQuery())
      try await Task.sleep(for: .milliseconds(10))
    }

    #expect(rejection?.shortDescription == "unavailable")
    #expect(names == [])
  }
}
