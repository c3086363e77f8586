import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

@Suite struct PointVersionTests {
  private func place(_ name: String) throws -> PointDraft { try .sample(name) }

  @Test func aCreationThatWaitedForADeletionGetsTheGreaterVersion() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let other = try await database.session()
    // Another session holds the lock on the id, and creates and deletes the place before it releases the lock.
    try await other.run(script: "BEGIN")
    try await other.run("SELECT \(VersionStatements.lock(of: "'\(PointID.sample(1))'::uuid"))")
    async let created = store.put(place("created"), id: .sample(1), if: .none)
    let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while try await database.run("SELECT count(*) \(waiting)") == "0" {}
    let drawn = try await other.run("SELECT \(VersionStatements.next)")
    try await other.run(script: "COMMIT")

    let point = try await created.point

    #expect(point.version > (try #require(drawn.rows.first).integer(0)))
    await other.close()
  }

  @Test(.timeLimit(.minutes(5))) func deletionWaitsForTheLockOnItsID() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    _ = try await store.put(place("there"), id: .sample(1), if: .none)
    let other = try await database.session()
    try await other.run(script: "BEGIN")
    try await other.run("SELECT \(VersionStatements.lock(of: "'\(PointID.sample(1))'::uuid"))")
    async let deletion: Void = store.delete(id: .sample(1), if: .none)
    let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while try await database.run("SELECT count(*) \(waiting)") == "0" {}

    let meanwhile = try await store.point(id: .sample(1))
    try await other.run(script: "COMMIT")
    try await deletion

    #expect(meanwhile != nil)
    #expect(try await store.point(id: .sample(1)) == nil)
    await other.close()
  }

  @Test(.timeLimit(.minutes(5))) func importedPlaceWhoseIDWasDeletedConcurrentlyGetsTheGreaterVersion() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    // The import stops after it has drawn its version, just before it creates the place.
    try await database.run(
      """
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.name = ''imported'' THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON points FOR EACH ROW EXECUTE FUNCTION wait()
      """
    )
    let other = try await database.session()
    try await other.run(script: "BEGIN")
    try await other.run("SELECT pg_advisory_xact_lock(42)")
    let rows = [
      try ImportRow.sample("imported", 1, 1, id: .sample(1), number: 1),
      try .sample("imported", 1, 1, id: .sample(2), number: 2), try .sample("imported", 1, 1, number: 3),
    ]
    async let importing = store.importRows(rows)
    let waiting = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while try await database.run("SELECT count(*) \(waiting)") == "0" {}
    let (former, _) = try await store.put(place("former"), id: .sample(1), if: .absent)
    try await store.delete(id: .sample(1), if: .none)
    try await other.run(script: "COMMIT")

    #expect(try await importing.created == 3)

    let point = try #require(try await store.point(id: .sample(1)))
    #expect(point.version > former.version)
    #expect(try #require(try await store.point(id: .sample(2))).version < former.version)
    let last = try await database.run(
      "SELECT kind, version FROM changes WHERE point_id = '\(point.id)' ORDER BY sequence DESC LIMIT 1")
    #expect(last == "updated|\(point.version)")
    await other.close()
  }

  @Test(.timeLimit(.minutes(5))) func deletionOfThousandsWaitsForACreationThatDoesNotSeeItsPlace() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    // The creation stops after it has drawn its version.
    try await database.run(
      """
      CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN IF NEW.name = ''late'' THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN NEW; END';
      CREATE TRIGGER wait BEFORE INSERT ON points FOR EACH ROW EXECUTE FUNCTION wait()
      """
    )
    let other = try await database.session()
    try await other.run(script: "BEGIN")
    try await other.run("SELECT pg_advisory_xact_lock(42)")
    async let creation = store.put(place("late"), id: .sample(1), if: .none)
    let activity = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
    while try await database.run("\(activity) AND wait_event_type = 'Lock'") == "0" {}
    let rows = try (1...1500).map {
      try ImportRow.sample("\($0)", 1, 1, source: "s", sourceID: "\($0)", id: .sample(UInt64($0)), number: $0)
    }
    try await store.importRows(rows)

    let last = try ImportRow.sample("last", 1, 1, source: "s", sourceID: "1500")
    async let replacing = store.importRows(
      [last].inOneBatch, options: ImportOptions(removal: .others(source: "s", limit: .percentage(100))))
    while try await database.run("\(activity) AND wait_event = 'PgSleep'") == "0" {}
    try await other.run(script: "COMMIT")

    #expect(try await replacing.deleted == 1499)
    #expect(try await creation.wasCreated)
    let kinds = try await database.run(
      "SELECT kind FROM changes WHERE point_id = '\(PointID.sample(1))' ORDER BY version")
    #expect(kinds.split(separator: "\n") == ["created", "deleted", "created"])
    await other.close()
  }

  @Test func foreignVersionStopsNeitherWritesNorTheSequence() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    for number in 1...3 as ClosedRange<UInt64> {
      _ = try await store.put(place("there"), id: .sample(number), if: .none)
    }
    try await database.run("UPDATE points SET version = \(Int64.max)")

    let (put, _) = try await store.put(place("mended"), id: .sample(1), if: .versions([.max]))
    try await store.importRows([.sample("mended", 1, 1, id: .sample(2))])
    try await store.delete(id: .sample(3), if: .versions([.max]))
    let (anew, _) = try await store.put(place("anew"), id: .sample(3), if: .absent)

    let imported = try #require(try await store.point(id: .sample(2)))
    #expect(put.version < 1 << 53)
    #expect(imported.version > put.version)
    #expect(anew.version > imported.version)
    #expect(anew.version < 1 << 53)
  }

  @Test func sequencePassesVersionsOfOtherPrograms() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    _ = try await store.put(place("there"), id: .sample(1), if: .none)
    try await database.run("UPDATE points SET name = 'by another', version = version + 5")
    let counted = try #require(try await store.point(id: .sample(1)))

    let (changed, _) = try await store.put(place("changed"), id: .sample(1), if: .none)
    try await database.run("UPDATE points SET version = version + 5")
    let recounted = try #require(try await store.point(id: .sample(1)))
    try await store.delete(id: .sample(1), if: .none)
    let (anew, _) = try await store.put(place("anew"), id: .sample(1), if: .none)
    try await database.run(
      "INSERT INTO points (id, lat, long, name) VALUES ('\(PointID.sample(2))', 1, 1, 'without a version')")

    #expect(changed.version > counted.version)
    #expect(anew.version > recounted.version)
    #expect(try #require(try await store.point(id: .sample(2))).version > anew.version)
  }

  /// - Parameter written: the number of versions that were given since the backup, close to the microseconds since then.
  @Test(arguments: [1_000_000_000, 3]) func recreatedOrRestoredDatabaseRepeatsNoVersion(written: Int64) async throws {
    let database = try await TemporaryDatabase.make()
    let former = try await database.migratedStore().put(place("former"), id: .sample(1), if: .none).point
    // The state of a backup from before the place was written.
    try await database.run("DELETE FROM points; SELECT setval('point_versions', \(former.version - written))")

    let restored = try await database.migratedStore().put(place("other"), id: .sample(1), if: .none).point
    let anew = try await TemporaryDatabase.make().migratedStore().put(place("anew"), id: .sample(1), if: .none).point

    #expect(restored.version > former.version)
    #expect(anew.version > former.version)
  }
}
