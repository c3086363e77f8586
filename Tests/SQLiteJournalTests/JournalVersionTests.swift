import Foundation
import GRDB
import MemoryStore
import Points
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite struct JournalVersionTests {
  private func store(_ folder: JournalFolder, at microseconds: Int64) async throws -> (MemoryStore, SQLiteJournal) {
    let journal = try await SQLiteJournal.open(path: folder.path)
    let clock = FixedClock(Timestamp(microsecondsSinceEpoch: microseconds))
    return (try await MemoryStore(journal: journal, clock: clock), journal)
  }

  @Test func versionsGrowAcrossARestartWithTheClockSetBack() async throws {
    let folder = try JournalFolder()
    let (first, journal) = try await store(folder, at: 5_000_000_000)
    let (former, _) = try await first.put(try .sample("former"), id: .sample(1), if: .none)
    try await first.delete(id: .sample(1), if: .none)
    await journal.close()

    for clock in [1_000, 4_999_999_999, 6_000_000_000] as [Int64] {
      let (second, journal) = try await store(folder, at: clock)
      let (point, wasCreated) = try await second.put(try .sample("\(clock)"), id: .sample(1), if: .absent)
      try await second.delete(id: .sample(1), if: .none)
      await journal.close()

      #expect(wasCreated)
      #expect(point.version > former.version)
    }
  }

  @Test func versionIsNeverGivenTwiceAcrossRestarts() async throws {
    let folder = try JournalFolder()
    var versions: [Int64] = []

    for round in 0..<8 as Range<Int64> {
      let (store, journal) = try await store(folder, at: 1_000_000 - round * 10)
      versions.append(try await store.put(try .sample("\(round)"), id: .sample(1), if: .none).point.version)
      if round.isMultiple(of: 2) { try await store.delete(id: .sample(1), if: .none) }
      await journal.close()
    }

    #expect(versions == Set(versions).sorted())
  }

  @Test func timeOfTheResponsesIsThatOfTheRestartAsSettingsMayDiffer() async throws {
    let folder = try JournalFolder()
    let (first, journal) = try await store(folder, at: 70_000_000)
    _ = try await first.put(try .sample("one"), id: .sample(1), if: .none)
    await journal.close()

    let (second, secondJournal) = try await store(folder, at: 90_000_000)
    let restarted = try await second.dataVersion()?.changedAt
    await secondJournal.close()

    #expect(restarted == Timestamp(microsecondsSinceEpoch: 90_000_000))
  }

  @Test func firstChangeAfterARestartIsInALaterSecond() async throws {
    let folder = try JournalFolder()
    let (first, journal) = try await store(folder, at: 70_000_000)
    _ = try await first.put(try .sample("one"), id: .sample(1), if: .none)
    let before = try #require(try await first.dataVersion()?.changedAt)
    await journal.close()

    let (second, secondJournal) = try await store(folder, at: 70_000_000)
    let unchanged = try #require(try await second.dataVersion()?.changedAt)
    _ = try await second.put(try .sample("two"), id: .sample(1), if: .none)
    let changed = try #require(try await second.dataVersion()?.changedAt)
    await secondJournal.close()

    #expect(unchanged == before)
    #expect(changed.microsecondsSinceEpoch / 1_000_000 > before.microsecondsSinceEpoch / 1_000_000)
  }

  @Test func fileFromBeforeTheVersionCounterContinuesAboveItsVersions() async throws {
    let folder = try JournalFolder()
    try await write(
      folder, upTo: "1 places, changes and answered keys",
      """
      INSERT INTO place (id, name, latitude, longitude, tags, version, created_at, updated_at)
        VALUES (x'\(PointID.sample(1).bytes.hex)', 'a', 1, 2, '{}', 70, 1000, 1000);
      INSERT INTO change (id, kind, version, time)
        VALUES (x'\(PointID.sample(1).bytes.hex)', 'created', 70, 1000), (x'\(PointID.sample(2).bytes.hex)', 'deleted', 90, 80);
      """)

    let (upgraded, _) = try await store(folder, at: 10)

    #expect(!upgraded.wasNew)
    #expect(try await upgraded.point(id: .sample(1))?.version == 70)
    #expect(try await upgraded.put(try .sample("b"), id: .sample(1), if: .versions([70])).point.version > 1000)
  }

  @Test(arguments: [
    "", "DELETE FROM change",
    "DELETE FROM place; UPDATE version_counter SET highest = 8000000; DELETE FROM change",
  ])
  func fileWithAChangeLogKeepsItsPlacesAndGreatestVersion(former: String) async throws {
    let folder = try JournalFolder()
    try await write(
      folder, upTo: "3 answered imports",
      """
      INSERT INTO place (id, name, latitude, longitude, tags, version, created_at, updated_at)
        VALUES (x'\(PointID.sample(1).bytes.hex)', 'a', 1, 2, '{}', 7000000, 5, 6);
      INSERT INTO change (id, kind, version, time)
        VALUES (x'\(PointID.sample(1).bytes.hex)', 'created', 7000000, 5);
      UPDATE version_counter SET highest = 7000000;
      \(former)
      """)
    let places = former.contains("place") ? 0 : 1
    let highest: Int64 = places == 0 ? 8_000_000 : 7_000_000

    // The process is killed after the upgrade, and once more after its first write.
    let (upgraded, journal) = try await store(folder, at: 10)
    #expect(upgraded.count == places)
    #expect(!upgraded.wasNew)
    let beforeTheWrite = try folder.copy()
    let (restarted, _) = try await store(beforeTheWrite, at: 10)
    #expect(!restarted.wasNew)
    let (first, _) = try await upgraded.put(try .sample("b"), id: .sample(2), if: .absent)
    try await upgraded.delete(id: .sample(2), if: .none)
    let afterTheWrite = try folder.copy()
    let (again, _) = try await store(afterTheWrite, at: 10)
    let (second, _) = try await again.put(try .sample("c"), id: .sample(2), if: .absent)
    let tables = try await journal.database.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_schema") }

    #expect(try await restarted.put(try .sample("b"), id: .sample(2), if: .absent).point.version > highest)
    #expect(first.version > highest)
    #expect(second.version > first.version)
    #expect(!tables.contains("change"))
    withExtendedLifetime((beforeTheWrite, afterTheWrite)) {}
  }

  @Test func fileWithoutAnyChangeIsStillNewAfterTheUpgrade() async throws {
    let folder = try JournalFolder()
    try await write(folder, upTo: "3 answered imports", "UPDATE version_counter SET highest = 7000000")

    let (upgraded, _) = try await store(folder, at: 10)

    #expect(upgraded.wasNew)
    #expect(try await upgraded.put(try .sample("a"), id: .sample(1), if: .absent).point.version > 7_000_000)
  }

  /// Writes a file as an earlier program left it, whose last migration was the given one.
  private func write(_ folder: JournalFolder, upTo migration: String, _ sql: String) async throws {
    let database = try DatabaseQueue(path: folder.path)
    try Schema.migrator.migrate(database, upTo: migration)
    try await database.write { try $0.execute(sql: sql) }
    try database.close()
  }

  @Test func placeWithTheGreatestVersionCanBeReplacedAndRemoved() async throws {
    let folder = try JournalFolder()
    let (store, journal) = try await store(folder, at: 1_000)
    _ = try await store.put(try .sample("a"), id: .sample(1), if: .none)
    try await journal.database.write { try $0.execute(sql: "UPDATE place SET version = \(Int64.max)") }
    await journal.close()

    let (reopened, _) = try await self.store(folder, at: 2_000)
    let (point, _) = try await reopened.put(try .sample("b"), id: .sample(1), if: .versions([.max]))
    try await reopened.delete(id: .sample(1), if: .versions([point.version]))

    #expect(point.version < 1 << 53)
  }
}

extension Data {
  fileprivate var hex: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}
