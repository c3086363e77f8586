import Basics
import MemoryStore
import Points
import SQLiteJournal
import Synchronization
import TestSupport
import Testing

@Suite struct JournalContractTests {
  @Test(arguments: WriteContract.all)
  func contractOfWritesIsKept(_ behaviour: WriteContract) async throws {
    let folders = Mutex<[JournalFolder]>([])

    try await behaviour.check { rows in
      let folder = try JournalFolder()
      folders.withLock { $0.append(folder) }
      let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
      try await store.importRows(rows)
      return store
    }
  }

  @Test(arguments: AreaContract.all)
  func contractOfAreasIsKept(_ behaviour: AreaContract) async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    try await behaviour.check((store, store))
  }

  @Test func areasAndTheirKeysOutlastARestart() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let editor = AreaEditor(try await MemoryStore(journal: journal))
    let key = IdempotencyKey(text: "user:a", requestHash: 1)
    let kept = try await editor.create(
      .sample("Wien", names: ["en": "Vienna"], kind: .city, level: 8, importance: 0.5, sourceID: "7"), once: key)
    let removed = try await editor.create(.sample("B"), once: nil)
    try await editor.delete(id: removed.id, if: .none)
    await journal.close()

    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    let areas = try await store.areas(isCurrent: true)
    #expect(areas.all == [kept])
    #expect(try await AreaEditor(store).create(kept.draft, once: key) == kept)
    let again = try await AreaEditor(store).put(removed.draft, id: removed.id, if: .absent).area
    #expect(again.version > removed.version)
  }

  @Test(arguments: RecordContract.all)
  func contractOfRecordsIsKept(_ behaviour: RecordContract) async throws {
    let folder = try JournalFolder()
    try await behaviour.check(try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path)))
  }

  @Test func recordsOutlastARestartWithThePlacesOfTheirCommit() async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let former = try await MemoryStore(journal: journal)
    let notes = RecordCollection("notes")
    let time = Timestamp(microsecondsSinceEpoch: 1_795_000_000_123_456)
    let changed = Points.Record(
      notes, id: "a", fields: ["key": "é"], expiresAt: time, keptUntil: time.adding(.seconds(1)), document: "[1]")
    let removed = Points.Record(notes, id: "b", document: "1")
    _ = try await former.commit([.insert(changed), .insert(removed)])
    let batch = PointBatch([.create(try .sample("new"))], isAtomic: true)
    _ = try await former.commit(applying: batch, within: nil) { _ in
      [.replace(changed), .remove(notes, id: "b")]
    }
    let versions = try await former.allPoints().map(\.version)
    await journal.close()

    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    var kept = changed
    kept.revision = 2
    #expect(try await store.records(matching: RecordQuery(notes)) == [kept])
    #expect(try await store.allPoints().map(\.version) == versions && versions.count == 1)
  }

  @Test(arguments: ChangeContract.all)
  func contractOfChangesIsKept(_ behaviour: ChangeContract) async throws {
    let folder = try JournalFolder()
    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    try await behaviour.check(.init(store, store.changes))
  }

  @Test(arguments: PointStoreContract.all)
  func contractIsKeptByAStoreThatWasOpenedAgain(_ behaviour: PointStoreContract) async throws {
    let folders = Mutex<[JournalFolder]>([])

    try await behaviour.check { rows in
      let folder = try JournalFolder()
      folders.withLock { $0.append(folder) }
      let journal = try await SQLiteJournal.open(path: folder.path)
      try await MemoryStore(journal: journal).importRows(rows)
      await journal.close()
      return try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    }
  }
}
