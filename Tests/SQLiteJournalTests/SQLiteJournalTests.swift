import Foundation
import GRDB
import Geo
import JSONText
import MemoryStore
import Points
import Synchronization
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite struct SQLiteJournalTests {
  @Test func reopenedFileHasTheSameContents() async throws {
    let folder = try JournalFolder()
    let key = IdempotencyKey(text: "client/1", requestHash: .max)
    let place = try PointDraft.sample(
      "caf\u{E9} \u{10FFFD}", -0.1, 180, category: "cafe", tags: ["": "\r\n\""], sourceID: "1")
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let created = try await store.create(place, once: key)
    _ = try await store.put(try .sample("second"), id: .sample(2), if: .none)
    _ = try await store.put(try .sample("second again"), id: .sample(2), if: .none)
    _ = try await store.put(try .sample("third"), id: .sample(3), if: .none)
    try await store.delete(id: .sample(3), if: .none)
    let (points, changes) = (try await store.allPoints(), try await store.allChanges())
    await journal.close()

    let reopened = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    #expect(store.wasNew)
    #expect(!reopened.wasNew)
    #expect(try await reopened.allPoints() == points)
    #expect(try await reopened.allChanges() == changes)
    #expect(try await reopened.create(place, once: key) == created)
    await #expect(throws: PointWriteError.originTaken) { try await reopened.create(place, once: nil) }
    _ = try await reopened.put(try .sample("fourth"), id: .sample(4), if: .none)
    #expect(try await reopened.allChanges().map(\.sequence) == [1, 2, 3, 4, 5, 6])
  }

  @Test func reopenedFileHasTheKeyOfAnImport() async throws {
    let folder = try JournalFolder()
    let rows = [
      try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1", number: 1),
      try .sample("b", 1, 1, source: "s", sourceID: "1", number: 2), try .sample("c", 1, 1, number: 3),
    ]
    func importing(into store: MemoryStore, hash: UInt64 = .max) async throws -> ImportReport {
      try await store.importRows(
        rows.inOneBatch, mode: .partial, dryRun: false, once: ImportKey(text: "client/1") { hash })
    }
    let journal = try await SQLiteJournal.open(path: folder.path)
    let first = try await importing(into: try await MemoryStore(journal: journal))
    await journal.close()

    let reopened = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let repeated = try await importing(into: reopened)

    #expect((first.created, first.rejections.count) == (2, 1))
    #expect(repeated == first)
    #expect(reopened.count == 2)
    await #expect(throws: PointWriteError.keyReused) { try await importing(into: reopened, hash: 1) }
  }

  @Test func processKilledBetweenWritesLosesNone() async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    for number in 1...20 {
      _ = try await store.put(try .sample("\(number)"), id: .sample(UInt64(number)), if: .none)
      guard number % 5 == 0 else { continue }

      let copy = try folder.copy()
      let revived = try await MemoryStore(journal: try await SQLiteJournal.open(path: copy.path))

      #expect(try await revived.allPoints() == store.allPoints())
      #expect(try await revived.allChanges().count == number)
      withExtendedLifetime(copy) {}
    }
  }

  @Test func processKilledDuringWritesLosesNoAcknowledgedOne() async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let answered = AnsweredVersions()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 1...8 {
        group.addTask {
          for number in 1...15 {
            let place = try PointDraft.sample("\(writer): \(number)", Double(number), 0)
            let point = try await store.put(place, id: .sample(UInt64(writer)), if: .none).point
            answered.versions.withLock { $0[point.id] = Int64(number) }
            #expect(point.version >= number)
          }
        }
      }
      for target in stride(from: 0, to: 120, by: 20) {
        while answered.versions.withLock({ $0.values.reduce(0, +) }) < target { await Task.yield() }
        let promised = answered.versions.withLock { $0 }
        let copy = try folder.copy()

        let revived = try await MemoryStore(journal: try await SQLiteJournal.open(path: copy.path))

        let found = Dictionary(uniqueKeysWithValues: try await revived.allPoints().map { ($0.id, $0) })
        for (id, change) in promised { #expect(try #require(found[id]).draft.coordinate.latitude >= Double(change)) }
        let changes = Dictionary(grouping: try await revived.allChanges(), by: \.id)
        #expect(changes.count == found.count)
        for point in found.values {
          #expect(Double(changes[point.id]?.count ?? 0) == point.draft.coordinate.latitude)
          #expect(changes[point.id]?.last?.version == point.version)
        }
        withExtendedLifetime(copy) {}
      }
      try await group.waitForAll()
    }
  }

  @Test func truncatedLogLosesOnlyTheIncompleteWrite() async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    for number in 1...10 { _ = try await store.put(try .sample("\(number)"), id: .sample(UInt64(number)), if: .none) }
    let complete = try await store.allPoints()
    let before = try folder.copy()
    _ = try await store.put(
      try .sample("torn", tags: ["k": String(repeating: "x", count: 2000)]), id: .sample(1), if: .none)
    let torn = try folder.copy()
    let log = URL(filePath: torn.path + "-wal")
    let size = try Data(contentsOf: URL(filePath: before.path + "-wal")).count
    try Data(contentsOf: log).prefix(size + 3000).write(to: log)

    let revived = try await MemoryStore(journal: try await SQLiteJournal.open(path: torn.path))

    #expect(try await revived.allPoints() == complete)
    withExtendedLifetime(torn) {}
  }

  @Test func fullDiskFailsTheWriteAndKeepsEverythingElse() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let first = try await store.create(try .sample("first"), once: nil)
    let pages = try await journal.database.read { try Int.fetchOne($0, sql: "PRAGMA page_count") ?? 0 }
    try await journal.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = \(pages)") }
    let rows = try (1...200).map { number in
      try ImportRow.sample("\(number)", 1, 1, tags: ["k": String(repeating: "x", count: 1000)], number: number)
    }

    await #expect(throws: PointStoreError.self) { try await store.importRows(rows) }

    #expect(try await store.allPoints() == [first])
    #expect(try await store.allChanges().count == 1)
    try await journal.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
    #expect(try await store.importRows(rows).created == 200)
  }

  @Test func fileInUseIsNotOpened() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }

    #expect(error == .unavailable(reason: "\(folder.path) is in use by another process"))
    await journal.close()
    _ = try await SQLiteJournal.open(path: folder.path).load()
  }

  @Test func fileOfAnotherKindIsNotChanged() async throws {
    let folder = try JournalFolder()
    try Data(repeating: 0x41, count: 4096).write(to: URL(filePath: folder.path))

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }

    #expect(error == .schemaMismatch(reason: "\(folder.path) is a file of another kind"))
  }

  @Test func databaseOfAnotherProgramIsNotChanged() async throws {
    let folder = try JournalFolder()
    let other = try DatabaseQueue(path: folder.path)
    try await other.write { try $0.execute(sql: "CREATE TABLE mine (id INTEGER)") }
    try other.close()

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }

    #expect(error == .schemaMismatch(reason: "\(folder.path) is a database of another kind"))
  }

  @Test func missingFolderIsNamedInTheError() async throws {
    let error = await #expect(throws: PointStoreError.self) {
      try await SQLiteJournal.open(path: "/nowhere/at/all/places.db")
    }

    #expect("\(String(describing: error))".contains("unavailable"))
    #expect("\(String(describing: error))".contains("/nowhere/at/all/places.db"))
  }
}

/// The number of the last acknowledged change of each place.
private final class AnsweredVersions: Sendable {
  let versions = Mutex<[PointID: Int64]>([:])
}
