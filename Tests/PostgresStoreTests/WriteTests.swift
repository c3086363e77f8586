import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of writes that are specific to PostgreSQL; `WriteContract` has those for all stores.
@Suite struct WriteTests {
  @Test func keyIsInFlightAtAnotherInstanceUntilTheFirstIsDone() async throws {
    let database = try await TemporaryDatabase.make()
    let (first, second) = (try await database.migratedStore(), try await database.migratedStore())
    let place = try ImportRow.sample("one", 1, 1, source: "s", sourceID: "1").draft
    let key = IdempotencyKey(text: "client/1", requestHash: 1)
    let blocker = try await Blocker.holding(origin: "1", of: database)
    let firstAnswer = Task { try await first.create(place, once: key) }
    try await blocker.waitUntilAnotherSessionWaits()

    await #expect(throws: PointWriteError.keyInFlight) { try await second.create(place, once: key) }

    try await blocker.release()
    let created = try await firstAnswer.value
    #expect(try await second.create(place, once: key) == created)
    #expect(try await database.run("SELECT count(*) FROM points") == "1")
  }

  @Test func requestThatFailedMidwayReleasesItsKey() async throws {
    let database = try await TemporaryDatabase.make()
    let (first, second) = (try await database.migratedStore(), try await database.migratedStore())
    let place = try ImportRow.sample("one", 1, 1, source: "s", sourceID: "1").draft
    let key = IdempotencyKey(text: "client/1", requestHash: 1)
    let blocker = try await Blocker.holding(origin: "1", of: database)
    let firstAnswer = Task { try await first.create(place, once: key) }
    try await blocker.waitUntilAnotherSessionWaits()
    try await blocker.cancelStandbyWaits()
    await #expect(throws: PointWriteError.self) { try await firstAnswer.value }
    try await blocker.release()

    let created = try await second.create(place, once: key)

    #expect(try await database.run("SELECT id FROM points") == "\(created.id)")
    #expect(try await database.run("SELECT count(*) FROM changes") == "1")
  }

  @Test func writeWhoseConnectionIsLostIsNotRetried() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let place = try ImportRow.sample("one", 1, 1, source: "s", sourceID: "1").draft
    let blocker = try await Blocker.holding(origin: "1", of: database)
    let creation = Task { try await store.create(place, once: nil) }
    try await blocker.waitUntilAnotherSessionWaits()

    try await blocker.cancelStandbyWaits()

    await #expect {
      try await creation.value
    } throws: { error in
      if case .store(.unavailable) = error as? PointWriteError { true } else { false }
    }
    try await blocker.release()
    // If it were retried, it would precede this one.
    _ = try await store.create(try ImportRow.sample("other", 1, 1).draft, once: nil)
    #expect(try await database.run("SELECT name FROM points") == "other")
  }

  @Test func expiredKeyMayBeReusedAndOthersArePruned() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let place = try ImportRow.sample("one", 1, 1).draft
    let old = try await store.create(place, once: IdempotencyKey(text: "again", requestHash: 1))
    _ = try await store.create(place, once: IdempotencyKey(text: "other", requestHash: 1))
    try await database.run("UPDATE idempotency_keys SET created_at = created_at - interval '25 hours'")

    let new = try await store.create(place, once: IdempotencyKey(text: "again", requestHash: 2))

    #expect(new.id != old.id)
    let rows = try await database.run("SELECT key, request_hash, outcome->>'created' FROM idempotency_keys")
    #expect(rows == "again|2|\(new.id)")
  }

  @Test func placeAndAreaMayHaveTheSameKey() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let editor = AreaEditor(PostgresAreas(store))
    let (first, second) = (IdempotencyKey(text: "a:1", requestHash: 1), IdempotencyKey(text: "a:1", requestHash: 2))
    let place = try await store.create(try .sample("a"), once: first)

    let area = try await editor.create(.sample("a"), once: second)

    #expect(try await store.create(try .sample("a"), once: first) == place)
    #expect(try await editor.create(.sample("a"), once: second) == area)
    #expect(try await database.run("SELECT count(*) FROM idempotency_keys") == "2")
  }

  @Test func expiredKeyOfAnAreaMayBeReusedAndOthersArePruned() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let editor = AreaEditor(PostgresAreas(store))
    let old = try await editor.create(.sample("a"), once: IdempotencyKey(text: "again", requestHash: 1))
    _ = try await store.create(try .sample("other"), once: IdempotencyKey(text: "other", requestHash: 1))
    try await database.run("UPDATE idempotency_keys SET created_at = created_at - interval '25 hours'")

    let new = try await editor.create(.sample("a"), once: IdempotencyKey(text: "again", requestHash: 2))

    #expect(new.id != old.id)
    let rows = try await database.run("SELECT key, request_hash, outcome->>'created' FROM idempotency_keys")
    #expect(rows == "again areas|2|\(new.id)")
  }

  @Test func changeLogHasEachChangeOnceInOrder() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let created = try await store.create(try .sample("created", sourceID: "1"), once: nil)
    let (put, _) = try await store.put(try .sample("put"), id: .sample(1), if: .none)
    let (updated, _) = try await store.put(try .sample("put again"), id: .sample(1), if: .none)
    _ = try await store.put(try .sample("put again"), id: .sample(1), if: .none)
    _ = try? await store.put(try .sample("rejected"), id: .sample(1), if: .absent)
    _ = try? await store.create(try .sample("rejected", sourceID: "1"), once: nil)
    try await store.delete(id: created.id, if: .none)
    let rows = [
      try ImportRow.sample("put again", 1, 2, id: .sample(1), number: 1),
      try .sample("imported", 1, 1, id: .sample(2), number: 2),
    ]
    try await store.importRows(rows, dryRun: true)
    try await store.importRows(rows)

    let changes = try await database.run("SELECT kind, point_id, version FROM changes ORDER BY sequence")

    let imported = try #require(try await store.point(id: .sample(2)))
    let entries = changes.split(separator: "\n").map { $0.split(separator: "|").map(String.init) }
    let expected = [
      ("created", created), ("created", put), ("updated", updated), ("deleted", created), ("created", imported),
    ]
    #expect(entries.map { Array($0.prefix(2)) } == expected.map { [$0, $1.id.description] })
    var versions = entries.compactMap { Int64($0[2]) }
    #expect(versions == versions.sorted() && Set(versions).count == expected.count)
    // That of the deletion is its own.
    versions.remove(at: 3)
    #expect(versions == [created, put, updated, imported].map(\.version))
  }

  @Test func commitIsDurableWhateverTheDatabasesSetting() async throws {
    let database = try await TemporaryDatabase.make()
    try await database.run("ALTER DATABASE \(database.name) SET synchronous_commit = off")
    let store = try await database.migratedStore()

    let result = try await store.read(Statement("s", "SELECT current_setting('synchronous_commit')"), Parameters())

    #expect(try #require(result.rows.first).text(0) == "on")
  }

  @Test func killedServerKeepsEveryAcknowledgedWriteAndNoPartialOne() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let store = try await database.migratedStore(poolSize: 8)
    let acknowledged = await withTaskGroup(of: [PointOfInterest].self) { group in
      for writer in 0..<8 {
        group.addTask { await Self.writeUntilFailure(to: store, writer: writer) }
      }
      group.addTask {
        // Some changes have been written, and many are in progress.
        while (try? await database.run("SELECT count(*) > 200 FROM changes")) != "t" {}
        try? await server.kill()
        return []
      }
      return await group.reduce(into: []) { $0 += $1 }
    }
    try await server.start()

    let lines = try await database.run("SELECT point_id, version FROM changes ORDER BY sequence").split(separator: "\n")
    let versions = Dictionary(grouping: lines.map { $0.split(separator: "|") }, by: { String($0[0]) })
      .mapValues { changes in changes.compactMap { Int64($0[1]) } }
    #expect(acknowledged.count >= 100)
    var unacknowledged = 0
    for point in acknowledged {
      let after = try #require(versions["\(point.id)"]?.drop { $0 != point.version }.dropFirst())
      #expect(versions["\(point.id)"]?.contains(point.version) == true)
      unacknowledged += after.count
    }
    // Each writer's last write may have been executed without an acknowledgement: a replacement or a creation.
    let created = versions.count - acknowledged.count
    #expect(created >= 0 && unacknowledged + created <= 8)
    let differences = try await database.run(
      """
      SELECT count(*)
      FROM (SELECT point_id AS id, max(version) AS version FROM changes GROUP BY point_id) AS logged
      FULL JOIN points USING (id)
      WHERE points.version IS DISTINCT FROM logged.version
      """
    )
    #expect(differences == "0")
    try await server.stop(.immediate)
  }

  /// Creates places and replaces each once; returns the last acknowledged version of each.
  private static func writeUntilFailure(to store: PostgresStore, writer: Int) async -> [PointOfInterest] {
    var acknowledged: [PointOfInterest] = []
    do {
      for number in 0..<100_000 {
        let point = try await store.create(try ImportRow.sample("\(writer) \(number)", 1, 1).draft, once: nil)
        acknowledged.append(point)
        let changed = try ImportRow.sample("\(writer) \(number)", 2, 2).draft
        acknowledged[number] = try await store.put(changed, id: point.id, if: .versions([point.version])).point
      }
    } catch {}
    return acknowledged
  }
}

/// A transaction that blocks others.
private struct Blocker {
  private let session: Session
  private let database: TemporaryDatabase

  /// Begins a transaction that holds an origin of the source `s`, so that writes with the origin wait for its outcome.
  static func holding(origin: String, of database: TemporaryDatabase) async throws -> Blocker {
    let session = try await database.session()
    try await session.run(script: "BEGIN")
    try await session.run(
      """
      INSERT INTO points (id, lat, long, name, source, source_id)
      VALUES (gen_random_uuid(), 0, 0, 'blocker', 's', '\(origin)')
      """
    )
    return Blocker(session: session, database: database)
  }

  private static let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"

  func waitUntilAnotherSessionWaits() async throws {
    while try await database.run("SELECT count(*) \(Self.waiting)") == "0" {}
  }

  func cancelStandbyWaits() async throws {
    try await database.run("SELECT pg_terminate_backend(pid) \(Self.waiting)")
  }

  func release() async throws {
    try await session.run(script: "ROLLBACK")
    await session.close()
  }
}

extension TemporaryDatabase {
  /// Returns a session for statements that the store has no method for.
  func session() async throws -> Session {
    let thread = try #require(PollingThread())
    return try await Session.open(on: thread, PostgresConfiguration(url: url))
  }
}
