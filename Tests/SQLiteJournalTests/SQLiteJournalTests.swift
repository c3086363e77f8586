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
  @Test func columnsAreThoseOfTheFieldsThatAreStored() {
    let ownNames = [PointField.latitude: "latitude", .longitude: "longitude"]
    let columns = PointField.allCases.filter { $0.column != nil }.map { ownNames[$0] ?? $0.column ?? "" }

    #expect(Loading.placeColumns == columns.joined(separator: ", "))
  }

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
    let (third, _) = try await store.put(try .sample("third"), id: .sample(3), if: .none)
    try await store.delete(id: .sample(3), if: .none)
    let points = try await store.allPoints()
    await journal.close()

    let reopened = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    #expect(store.wasNew)
    #expect(!reopened.wasNew)
    #expect(try await reopened.allPoints() == points)
    #expect(try await reopened.create(place, once: key) == created)
    await #expect(throws: PointWriteError.originTaken) { try await reopened.create(place, once: nil) }
    let (fourth, _) = try await reopened.put(try .sample("fourth"), id: .sample(4), if: .none)
    #expect(fourth.version > third.version)
  }

  @Test func idsOfDeletedPlacesOutliveTheProcess() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let first = try await store.create(try .sample("one", sourceID: "1"), once: nil)
    let second = try await store.create(try .sample("two", sourceID: "2"), once: nil)
    for id in [first.id, second.id] { try await store.delete(id: id, if: .none) }
    _ = try await store.forgetEdits(of: second.id)
    await journal.close()

    let reopened = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let created = try await reopened.create(try .sample("one", sourceID: "1"), once: nil)
    _ = try await reopened.importRows([try .sample("two", 1, 1, source: "s", sourceID: "2")])

    #expect(created.id == first.id && created.version > first.version)
    #expect(try await reopened.point(id: second.id)?.draft.name == "two")
  }

  @Test func removedSourceStaysRemoved() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let rows = [try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1")]
    _ = try await store.importRows(rows.inOneBatch, options: ImportOptions(sources: [DataSource(name: "s")]))
    _ = try await store.deleteBatch(ofSource: "s", after: nil)
    #expect(try await store.removeSource(named: "s") == .removed)
    await journal.close()

    let reopened = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    #expect(try await reopened.sources() == [])
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

  @Test func nextRequestWithAKeyRemovesThoseThatHaveExpired() async throws {
    let folder = try JournalFolder()
    let start = Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000)
    for (number, hours) in [0, 1, 24].enumerated() {
      let journal = try await SQLiteJournal.open(path: folder.path)
      let store = try await MemoryStore(journal: journal, clock: FixedClock(start.adding(.seconds(hours * 3600))))
      _ = try await store.create(try .sample("a"), once: IdempotencyKey(text: "a:\(number)", requestHash: 1))
      await journal.close()
    }

    let file = try DatabaseQueue(path: folder.path)
    let keys = try await file.read { try String.fetchAll($0, sql: "SELECT key FROM outcome ORDER BY time") }

    #expect(keys == ["a:1", "a:2"])
    withExtendedLifetime(folder) {}
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
      #expect(revived.count == number)
      withExtendedLifetime(copy) {}
    }
  }

  @Test func processKilledDuringWritesLosesNoAcknowledgedOne() async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let acknowledged = AcknowledgedWrites()
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 1...8 {
        group.addTask {
          for number in 1...15 {
            let place = try PointDraft.sample("\(writer): \(number)", Double(number), 0)
            let point = try await store.put(place, id: .sample(UInt64(writer)), if: .none).point
            acknowledged.points.withLock { $0.append(point) }
            #expect(point.version >= number)
          }
        }
      }
      var copies: [[PointOfInterest]] = []
      for target in stride(from: 0, to: 120, by: 20) {
        while acknowledged.points.withLock({ $0.count }) < target { await Task.yield() }
        let promised = acknowledged.versions()
        let copy = try folder.copy()

        let revived = try await MemoryStore(journal: try await SQLiteJournal.open(path: copy.path))

        let found = try await revived.allPoints()
        let versions = Dictionary(uniqueKeysWithValues: found.map { ($0.id, $0.version) })
        for (id, version) in promised { #expect(try #require(versions[id]) >= version) }
        copies.append(found)
        withExtendedLifetime(copy) {}
      }
      try await group.waitForAll()
      // Writes are committed in the order of their versions: each copy has all of them up to its last one.
      for copy in copies {
        let expected = acknowledged.versions(upTo: copy.map(\.version).max() ?? 0)
        #expect(Dictionary(uniqueKeysWithValues: copy.map { ($0.id, $0.version) }) == expected)
      }
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
    try await journal.database.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 100000") }
    #expect(try await store.importRows(rows).created == 200)
  }

  @Test func fileInUseIsNotOpened() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }

    #expect(error == .unavailable(reason: "\(folder.path) is in use by another process"))
    await journal.close()
    _ = try await SQLiteJournal.open(path: folder.path).load(after: nil)
  }

  @Test func fileOfAnotherKindIsNotChanged() async throws {
    let folder = try JournalFolder()
    try Data(repeating: 0x41, count: 4096).write(to: URL(filePath: folder.path))

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }
    let found = #expect(throws: PointStoreError.self) { try SQLiteJournal.checkKind(path: folder.path) }

    #expect(error == .schemaMismatch(reason: "\(folder.path) is a file of another kind"))
    #expect(found == error)
    #expect(try Data(contentsOf: URL(filePath: folder.path)) == Data(repeating: 0x41, count: 4096))
  }

  @Test(arguments: [
    "CREATE TABLE mine (id INTEGER)",
    "PRAGMA application_id = 7",
  ])
  func databaseOfAnotherProgramIsNotChanged(statements: String) async throws {
    let folder = try JournalFolder()
    let other = try DatabaseQueue(path: folder.path)
    try await other.write { try $0.execute(sql: statements) }
    try other.close()
    let before = try Data(contentsOf: URL(filePath: folder.path))

    let error = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }
    let found = #expect(throws: PointStoreError.self) { try SQLiteJournal.checkKind(path: folder.path) }

    #expect(error == .schemaMismatch(reason: "\(folder.path) is a database of another kind"))
    #expect(found == error)
    #expect(try Data(contentsOf: URL(filePath: folder.path)) == before)
  }

  @Test func checkOfTheKindChangesNoFileAndNeedsNoLock() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let killed = try folder.copy()
    // In use, with a write-ahead log.
    try SQLiteJournal.checkKind(path: folder.path)
    await journal.close()
    let before = try Data(contentsOf: URL(filePath: folder.path))

    try SQLiteJournal.checkKind(path: folder.path)
    try SQLiteJournal.checkKind(path: killed.path)

    #expect(try Data(contentsOf: URL(filePath: folder.path)) == before)
    for suffix in ["-wal", "-shm"] { #expect(!FileManager.default.fileExists(atPath: folder.path + suffix)) }
    #expect(!FileManager.default.fileExists(atPath: killed.path + "-shm"))
  }

  @Test func aFileWhoseCreationWasKilledIsOpened() async throws {
    let folder = try JournalFolder()
    // The tables are created in one transaction, after the change to the write-ahead log.
    let unfinished = try DatabaseQueue(path: folder.path)
    try await unfinished.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
    try unfinished.close()

    try SQLiteJournal.checkKind(path: folder.path)
    let journal = try await SQLiteJournal.open(path: folder.path)

    #expect(try await journal.load(after: nil).points.isEmpty)
  }

  @Test(arguments: [0, 3, 999]) func fileOfAnotherSchemaVersionIsNotOpened(version: Int) async throws {
    let folder = try JournalFolder()
    try await SQLiteJournal.open(path: folder.path).close()
    let other = try DatabaseQueue(path: folder.path)
    try await other.write { try $0.execute(sql: "PRAGMA user_version = \(version)") }
    try other.close()
    let file = try Data(contentsOf: URL(filePath: folder.path))

    let opening = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.open(path: folder.path) }
    let verifying = await #expect(throws: PointStoreError.self) { try await SQLiteJournal.verify(path: folder.path) }
    let found = #expect(throws: PointStoreError.self) { try SQLiteJournal.checkKind(path: folder.path) }

    let reason = "\(folder.path) has a schema version that this program does not know"
    #expect(opening == .schemaMismatch(reason: reason))
    #expect(verifying == opening && found == opening)
    #expect(try Data(contentsOf: URL(filePath: folder.path)) == file)
  }

  @Test func missingFolderIsNamedInTheError() async throws {
    let error = await #expect(throws: PointStoreError.self) {
      try await SQLiteJournal.open(path: "/nowhere/at/all/places.db")
    }

    #expect("\(String(describing: error))".contains("unavailable"))
    #expect("\(String(describing: error))".contains("/nowhere/at/all/places.db"))
  }
}

/// The places as acknowledged writes returned them.
private final class AcknowledgedWrites: Sendable {
  let points = Mutex<[PointOfInterest]>([])

  /// Returns the greatest version of each place that does not exceed the given one.
  func versions(upTo limit: Int64 = .max) -> [PointID: Int64] {
    points.withLock { points in
      points.lazy.filter { $0.version <= limit }.reduce(into: [:]) { $0[$1.id] = max($0[$1.id] ?? 0, $1.version) }
    }
  }
}
