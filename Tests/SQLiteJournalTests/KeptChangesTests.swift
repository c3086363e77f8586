import MemoryStore
import Points
import SQLiteJournal
import TestSupport
import Testing

/// The positions of changes of a store in a file.
@Suite struct KeptChangesTests {
  private func open(_ folder: JournalFolder) async throws -> (store: MemoryStore, journal: SQLiteJournal) {
    let journal = try await SQLiteJournal.open(path: folder.path)
    return (try await MemoryStore(journal: journal), journal)
  }

  private func ids(_ store: MemoryStore, after position: String, limit: Int = 10) async throws -> [PointID] {
    let changes: any PointFeed = store.changes
    return try await changes.all(after: position, limit: limit).changes.map(\.id)
  }

  private func position(_ store: MemoryStore) async throws -> String {
    let changes: any PointFeed = store.changes
    return try await changes.presentPosition()
  }

  private func expectExpired(_ store: MemoryStore, _ position: String) async {
    let changes: any PointFeed = store.changes
    let error = await #expect(throws: ChangeReadError.self) { try await changes.page(after: position, limit: 10) }
    guard case .expired = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
  }

  @Test func positionIsValidAfterAStartAndInsidePages() async throws {
    let folder = try JournalFolder()
    let (first, journal) = try await open(folder)
    let start = try await position(first)
    let a = try await first.create(.sample("a"), once: nil)
    let middle = try await position(first)
    let b = try await first.create(.sample("b"), once: nil)
    try await first.delete(id: a.id, if: .none)
    let changes: any PointFeed = first.changes
    let page = try await changes.page(after: start, limit: 1)
    await journal.close()

    let (second, next) = try await open(folder)
    let c = try await second.create(.sample("c"), once: nil)

    #expect(page.changes.map(\.id) == [b.id] && page.hasMore)
    #expect(try await ids(second, after: start) == [b.id, a.id, c.id])
    #expect(try await ids(second, after: start, limit: 1) == [b.id, a.id, c.id])
    #expect(try await ids(second, after: page.position) == [a.id, c.id])
    #expect(try await ids(second, after: middle) == [b.id, a.id, c.id])
    #expect(try await ids(second, after: try await position(second)) == [])
    await next.close()
  }

  @Test func positionOfStatesThatARestoredFileLacksIsExpired() async throws {
    let folder = try JournalFolder()
    let (store, journal) = try await open(folder)
    _ = try await store.create(.sample("a"), once: nil)
    let kept = try await position(store)
    let copy = try folder.copy()
    _ = try await store.create(.sample("b"), once: nil)
    let lost = try await position(store)
    await journal.close()

    let (restored, next) = try await open(copy)
    await expectExpired(restored, lost)
    let c = try await restored.create(.sample("c"), once: nil)

    #expect(try await ids(restored, after: kept) == [c.id])
    await expectExpired(restored, lost)
    await next.close()
  }

  @Test func positionFromBeforeADroppedRemovalIsExpired() async throws {
    let folder = try JournalFolder()
    let (store, journal) = try await open(folder)
    let a = try await store.create(.sample("a"), once: nil)
    let before = try await position(store)
    try await store.delete(id: a.id, if: .none)
    let after = try await position(store)
    let b = try await store.create(.sample("b"), once: nil)

    #expect(try await store.pruneChanges(before: Timestamp(microsecondsSinceEpoch: 1 << 52)) == 1)

    await expectExpired(store, before)
    #expect(try await ids(store, after: after) == [b.id])
    await journal.close()
  }

  @Test func placeThatCameBackIsNoRemoval() async throws {
    let folder = try JournalFolder()
    let (store, journal) = try await open(folder)
    let a = try await store.create(.sample("a"), once: nil)
    let start = try await position(store)
    try await store.delete(id: a.id, if: .none)
    let again = try await store.put(.sample("a2"), id: a.id, if: .none).point

    let changes: any PointFeed = store.changes
    #expect(try await changes.page(after: start, limit: 10).changes == [.put(again)])
    await journal.close()
  }
}
