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
