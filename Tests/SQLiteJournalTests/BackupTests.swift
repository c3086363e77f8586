import Foundation
import GRDB
import Geo
import MemoryStore
import Points
import TestSupport
import Testing

@testable import SQLiteJournal

@Suite struct BackupTests {
  @Test func backupHasTheSamePlacesVersionsTimesAndKeys() async throws {
    let folder = try JournalFolder()
    let key = IdempotencyKey(text: "client/1", requestHash: 7)
    let place = try PointDraft.sample("first", sourceID: "1")
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let created = try await store.create(place, once: key)
    _ = try await store.put(try .sample("second"), id: .sample(2), if: .none)
    let (former, _) = try await store.put(try .sample("second again"), id: .sample(2), if: .none)
    try await store.delete(id: .sample(2), if: .none)

    try await journal.backUp(to: folder.path + ".copy")
    try await SQLiteJournal.verify(path: folder.path + ".copy")
    let names = try FileManager.default.contentsOfDirectory(
      atPath: URL(filePath: folder.path).deletingLastPathComponent().path)
    let restored = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path + ".copy"))

    #expect(names.filter { $0.contains("copy") } == ["places.db.copy"])
    #expect(try await restored.allPoints() == store.allPoints())
    #expect(try await restored.create(place, once: key) == created)
    let again = try await restored.put(try .sample("second"), id: .sample(2), if: .none)
    #expect(again.point.version > former.version)
  }

  @Test func backupDuringWritesIsAConsistentState() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let tags: KeyValuePairs = ["k": String(repeating: "x", count: 1900)]
    var initial: [PointOfInterest] = []
    for number in 1...2000 {
      initial.append(
        try await store.put(try .sample("\(number)", tags: tags), id: .sample(UInt64(number)), if: .none).point)
    }

    let writing = Task {
      var written: [PointOfInterest] = []
      while !Task.isCancelled {
        let number = written.count + 1
        let place = try PointDraft.sample("n\(number)", tags: tags)
        written.append(try await store.put(place, id: .sample(UInt64(number % 3000)), if: .none).point)
      }
      return written
    }
    for _ in 1...5 { try await journal.backUp(to: folder.path + ".copy") }
    writing.cancel()
    let written = try await writing.value

    // Each write has a version of its own, so that the greatest version identifies a state.
    let restored = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path + ".copy"))
    let found = try await restored.allPoints()
    let last = found.map(\.version).max() ?? 0
    let expected = (initial + written).filter { $0.version <= last }.reduce(into: [:]) { $0[$1.id] = $1 }
    #expect(!written.isEmpty)
    #expect(found.reduce(into: [:]) { $0[$1.id] = $1 } == expected)
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

  @Test func cancelledBackupLeavesNoFileAndTheJournalUsable() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let backup = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      try await journal.backUp(to: folder.path + ".copy")
    }

    await #expect(throws: PointStoreError.self) { try await backup.value }

    #expect(!FileManager.default.fileExists(atPath: folder.path + ".copy"))
    _ = try await store.put(try .sample("first"), id: .sample(1), if: .none)
    try await journal.backUp(to: folder.path + ".copy")
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
