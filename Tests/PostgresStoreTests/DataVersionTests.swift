import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of data versions that are specific to PostgreSQL; `WriteContract` has those for all stores.
@Suite struct DataVersionTests {
  private static let insert = "INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 0, 0, '%')"

  private func begin(_ name: String, in database: TemporaryDatabase) async throws -> Session {
    let session = try await database.session()
    try await session.run(script: "BEGIN; " + Self.insert.replacing("%", with: name))
    return session
  }

  @Test func commitsInReverseOrderOfTransactionNumbersEachChangeTheVersion() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let first = try await begin("first", in: database)
    let second = try await begin("second", in: database)
    let before = try #require(try await store.dataVersion())
    #expect(try await store.names(PointQuery()) == [])

    try await second.run(script: "COMMIT")
    let between = try #require(try await store.dataVersion())
    #expect(try await store.names(PointQuery()) == ["second"])
    try await first.run(script: "COMMIT")
    let after = try #require(try await store.dataVersion())
    #expect(try await Set(store.names(PointQuery())) == ["first", "second"])

    let order = "SELECT string_agg(name, ' ' ORDER BY transaction) FROM changes JOIN points ON points.id = point_id"
    #expect(try await database.run(order) == "first second")
    #expect(Set([before.token, between.token, after.token]).count == 3)
  }

  @Test func instancesReadTheSameVersion() async throws {
    let database = try await TemporaryDatabase.make()
    let (one, other) = (try await database.migratedStore(), try await database.migratedStore())

    // Writes on the same server, but in another database.
    var (first, second, third): (String?, String?, String?)
    repeat {
      first = try await one.dataVersion()?.token
      second = try await other.dataVersion()?.token
      third = try await one.dataVersion()?.token
    } while first == nil || first != third

    #expect(second == first)
  }

  @Test func databasesOfOneServerHaveVersionsOfTheirOwn() async throws {
    let one = try await TemporaryDatabase.make().migratedStore()
    let other = try await TemporaryDatabase.make().migratedStore()

    #expect(try await one.dataVersion()?.token != other.dataVersion()?.token)
  }

  @Test(.timeLimit(.minutes(5)), arguments: [true, false])
  func restartedServerRepeatsNoVersion(isCrashOfOneProcess: Bool) async throws {
    let server = try await TemporaryServer.start()
    let store = try await server.makeDatabase().migratedStore()
    let before = try #require(try await store.dataVersion())

    if isCrashOfOneProcess {
      try await server.killOneProcess()
    } else {
      try await server.stop(.fast)
      try await server.start()
    }
    var after: DataVersion?
    while after == nil { after = try? await store.dataVersion() }

    #expect(after?.source != before.source)
    #expect(after?.token.split(separator: "-").prefix(2) != before.token.split(separator: "-").prefix(2))
  }

  @Test func knownVersionIsRefreshedAtMostOnceInAnInterval() {
    let notes = VersionCache()
    let start = ContinuousClock.now
    let version = DataVersion(token: "v")

    let first = notes.current(at: start)
    let second = notes.current(at: start)
    notes.store(version, at: start)
    let soon = notes.current(at: start + .milliseconds(999))
    let later = notes.current(at: start + .seconds(1))
    let stillLater = notes.current(at: start + .seconds(1))

    #expect((first.version, first.isDue) == (nil, true))
    #expect(!second.isDue)
    #expect((soon.version, soon.isDue) == (version, false))
    #expect((later.version, later.isDue) == (version, true))
    #expect(!stillLater.isDue)
  }
}
