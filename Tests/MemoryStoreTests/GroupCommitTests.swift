@testable import MemoryStore
import Points
import Synchronization
import TestSupport
import Testing

@Suite struct GroupCommitTests {
  @Test func writesThatArriveDuringACommitAreCommittedAsOneBatch() async throws {
    let journal = GatedJournal()
    let store = try await MemoryStore(journal: journal)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<100 {
        group.addTask { _ = try await store.put(try .sample("\(number)"), id: .sample(UInt64(number)), if: .none) }
      }
      // The first commit waits at the gate while the other writes arrive.
      while await store.writer.pendingCount + journal.committed.withLock({ $0.reduce(0, +) }) < 100 {
        await Task.yield()
      }

      journal.gate.open()
      try await group.waitForAll()
    }

    let sizes = journal.committed.withLock { $0 }
    #expect(sizes.reduce(0, +) == 100)
    #expect(sizes.count == 2)
    #expect(store.count == 100)
  }

  @Test func writeIsNotVisibleBeforeItsCommit() async throws {
    let journal = GatedJournal()
    let store = try await MemoryStore(journal: journal)
    async let written = store.put(try .sample("new"), id: .sample(1), if: .none)
    while journal.committed.withLock({ $0.isEmpty }) { await Task.yield() }

    let before = try await store.point(id: .sample(1))
    journal.gate.open()
    let point = try await written.point

    #expect(before == nil)
    #expect(try await store.point(id: .sample(1)) == point)
  }

  @Test func failingJournalFailsTheWritesAndNotTheReads() async throws {
    let journal = GatedJournal()
    journal.gate.open()
    let store = try await MemoryStore(journal: journal)
    _ = try await store.put(try .sample("kept"), id: .sample(1), if: .none)
    journal.isFull.withLock { $0 = true }
    let key = IdempotencyKey(text: "client/1", requestHash: 1)

    let failure = PointStoreError.unavailable(reason: "the disk is full")
    await #expect(throws: PointWriteError.store(failure)) { try await store.create(try .sample("lost"), once: key) }
    await #expect(throws: PointWriteError.store(failure)) { try await store.delete(id: .sample(1), if: .none) }
    await #expect(throws: failure) { try await store.importRows([.sample("lost", 1, 1)]) }
    #expect(try await store.names(PointQuery()) == ["kept"])

    journal.isFull.withLock { $0 = false }
    #expect(try await store.create(try .sample("new"), once: key).draft.name == "new")
  }

  @Test func writeThatFailsItsConditionNeedsNoCommit() async throws {
    let journal = GatedJournal()
    let store = try await MemoryStore(journal: journal)

    await #expect(throws: PointWriteError.notFound) { try await store.delete(id: .sample(1), if: .none) }

    #expect(journal.committed.withLock { $0.isEmpty })
  }
}

/// A journal whose commits wait for a gate, and fail where it is full.
private final class GatedJournal: PointJournal {
  let gate = Gate()
  let isFull = Mutex(false)
  /// The number of changes of each commit.
  let committed = Mutex<[Int]>([])

  func load() async throws(PointStoreError) -> JournalContents { JournalContents() }

  func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    committed.withLock { $0.append(batch.puts.count + batch.removals.count) }
    await gate.pass()
    if isFull.withLock({ $0 }) { throw .unavailable(reason: "the disk is full") }
  }
}
