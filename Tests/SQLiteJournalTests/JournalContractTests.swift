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
