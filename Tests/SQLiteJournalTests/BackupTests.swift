import Foundation
import GRDB
import Geo
import MemoryStore
import Points
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite struct BackupTests {
  @Test func backupHasTheSamePlacesVersionsTimesChangesAndKeys() async throws {
    let folder = try JournalFolder()
    let key = IdempotencyKey(text: "client/1", requestHash: 7)
    let place = try PointDraft.sample("first", sourceID: "1")
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let created = try await store.create(place, once: key)
    _ = try await store.put(try .sample("second"), id: .sample(2), if: .none)
    _ = try await store.put(try .sample("second again"), id: .sample(2), if: .none)
    try await store.delete(id: .sample(2), if: .none)

    try await journal.backUp(to: folder.path + ".copy")
    try await SQLiteJournal.verify(path: folder.path + ".copy")
    let names = try FileManager.default.contentsOfDirectory(
      atPath: URL(filePath: folder.path).deletingLastPathComponent().path)
    let restored = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path + ".copy"))

    #expect(names.filter { $0.contains("copy") } == ["places.db.copy"])
    #expect(try await restored.allPoints() == store.allPoints())
    #expect(try await restored.allChanges() == store.allChanges())
    #expect(try await restored.create(place, once: key) == created)
    let again = try await restored.put(try .sample("second"), id: .sample(2), if: .none)
    let former = try await store.allChanges().map(\.version).max() ?? 0
    #expect(again.point.version > former)
  }

  @Test func backupDuringWritesIsAConsistentState() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let tags: KeyValuePairs = ["k": String(repeating: "x", count: 1900)]
    for number in 1...2000 {
      _ = try await store.put(try .sample("\(number)", tags: tags), id: .sample(UInt64(number)), if: .none)
    }

    let writing = Task {
      var written = 0
      while !Task.isCancelled {
        written += 1
        _ = try await store.put(try .sample("n\(written)", tags: tags), id: .sample(UInt64(written % 3000)), if: .none)
      }
      return written
    }
    for _ in 1...5 { try await journal.backUp(to: folder.path + ".copy") }
    writing.cancel()
    let written = try await writing.value

    // Each write appends one change, so that the number of changes identifies a state.
    let restored = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path + ".copy"))
    let changes = try await restored.allChanges()
    let original = try await store.allChanges()
    #expect(written > 0)
    #expect(changes == Array(original.prefix(changes.count)))
    let expected = changes.reduce(into: [PointID: Int64]()) { $0[$1.id] = $1.version }
    let found = try await restored.allPoints().reduce(into: [PointID: Int64]()) { $0[$1.id] = $1.version }
    #expect(found == expected)
  }

  @Test func failedBackupIsAnErrorAndLeavesTheJournalUsable() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)

    let error = await #expect(throws: PointStoreError.self) { try await journal.backUp(to: "/nowhere/copy.db") }
    _ = try await store.put(try .sample("first"), id: .sample(1), if: .none)
    try await journal.backUp(to: folder.path + ".copy")

    #expect(error?.description.contains("the backup can't be written") == true)
  }

  @Test func incompleteJournalIsRejected() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    for number in 1...200 {
      _ = try await store.put(try .sample("\(number)"), id: .sample(UInt64(number)), if: .none)
    }
    let copy = URL(filePath: folder.path + ".copy")
    try await journal.backUp(to: copy.path)
    let whole = try Data(contentsOf: copy)

    try whole.prefix(whole.count / 2).write(to: copy)
    await #expect(throws: PointStoreError.self) { try await SQLiteJournal.verify(path: copy.path) }
    try Data("not a database at all".utf8).write(to: copy)
    await #expect(throws: PointStoreError.self) { try await SQLiteJournal.verify(path: copy.path) }
    try Data().write(to: copy)
    await #expect(throws: PointStoreError.self) { try await SQLiteJournal.verify(path: copy.path) }
  }
}
