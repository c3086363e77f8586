import Basics
import Dispatch
import Points
import Synchronization
import TestSupport
import Testing

@testable import MemoryStore
@testable import PointIndex

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

  @Test(.timeLimit(.minutes(5))) func singleWriteIsCommittedBeforeImportsThatWait() async throws {
    let journal = GatedJournal()
    let store = try await MemoryStore(journal: journal)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = try await store.put(try .sample("first"), id: .sample(1), if: .none) }
      while journal.committed.withLock({ $0.isEmpty }) { await Task.yield() }
      for source in ["a", "b", "c"] {
        let rows = try (1...10).map { number in
          try ImportRow.sample("a", 1, 1, source: source, sourceID: "\(number)", number: number)
        }
        group.addTask { _ = try await store.importRows(rows) }
      }
      // One import waits for the commit that the gate holds, the others for that import.
      while await store.writer.pendingCount + store.writer.waitingImportCount < 3 { await Task.yield() }
      group.addTask { _ = try await store.put(try .sample("second"), id: .sample(2), if: .none) }
      while await store.writer.pendingCount + store.writer.waitingImportCount < 4 { await Task.yield() }

      journal.gate.open()
      try await group.waitForAll()
    }

    #expect(journal.committed.withLock { $0 } == [1, 1, 10, 10, 10])
    #expect(store.count == 32)
  }

  @Test(.timeLimit(.minutes(5))) func singleWriteIsCommittedBeforeLargeBatchesThatWait() async throws {
    let journal = GatedJournal()
    let store = try await MemoryStore(journal: journal)
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { _ = try await store.put(try .sample("first"), id: .sample(1), if: .none) }
      while journal.committed.withLock({ $0.isEmpty }) { await Task.yield() }
      for number in 1...3 as ClosedRange<UInt64> {
        let operations = try (0..<300 as Range<UInt64>).map { index in
          PointOperation.put(try .sample("large"), id: .sample(number * 1_000 + index), if: .none)
        }
        group.addTask { _ = try await store.apply(PointBatch(operations)) }
      }
      while await store.writer.pendingCount < 3 { await Task.yield() }
      group.addTask { _ = try await store.put(try .sample("second"), id: .sample(2), if: .none) }
      while await store.writer.pendingCount < 4 { await Task.yield() }

      journal.gate.open()
      try await group.waitForAll()
    }

    #expect(journal.committed.withLock { $0 } == [1, 1, 300, 300, 300])
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

  @Test(.timeLimit(.minutes(5))) func dataSetsAreReadWhileAnImportIsApplied() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = [try ImportRow.sample("new", 1, 1)]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    #expect(try await store.sources().isEmpty)
    plan.release()

    #expect(try await imported.created == 1)
  }

  @Test(.timeLimit(.minutes(5))) func otherPlaceIsWrittenWhileAnImportIsPlanned() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = [try ImportRow.sample("imported", 1, 1, id: .sample(9))]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    let put = try await store.put(try .sample("put"), id: .sample(1), if: .none).point
    let before = try await store.point(id: .sample(9))
    plan.release()

    #expect(try await imported.created == 1)
    #expect(before == nil)
    let point = try #require(try await store.point(id: .sample(9)))
    #expect(point.version > put.version)
    #expect(plan.callCount == HeldPlan.callsOfAPlan)
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenItsPlaceWasCreated() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = [try ImportRow.sample("imported", 1, 1, id: .sample(9))]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    let put = try await store.put(try .sample("put"), id: .sample(9), if: .none).point
    plan.release()

    let report = try await imported
    #expect((report.created, report.updated) == (0, 1))
    let point = try #require(try await store.point(id: .sample(9)))
    #expect(point.draft.name == "imported" && point.createdAt == put.createdAt && point.version > put.version)
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenItsPlaceWasDeleted() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let former = try await store.put(try .sample("former"), id: .sample(9), if: .none).point
    let rows = [try ImportRow.sample("imported", 1, 1, id: .sample(9))]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    try await store.delete(id: .sample(9), if: .none)
    plan.release()

    let report = try await imported
    #expect((report.created, report.updated) == (1, 0))
    let point = try #require(try await store.point(id: .sample(9)))
    #expect(point.version > former.version)
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenItsSourceReferenceWasTaken() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = [try ImportRow.sample("imported", 1, 1, source: "s", sourceID: "1")]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    _ = try await store.put(try .sample("put", sourceID: "1"), id: .sample(9), if: .none)
    plan.release()

    #expect(try await imported.updated == 1)
    #expect(try await store.allPoints().map(\.id) == [.sample(9)])
    #expect(try await store.point(id: .sample(9))?.draft.name == "imported")
  }

  @Test(.timeLimit(.minutes(5))) func editDuringThePlanOfAnImportIsKept() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    try await store.importRows([.sample("old", 1, 2, source: "s", sourceID: "1", id: .sample(9))])
    let rows = [try ImportRow.sample("new", 1, 2, category: "bar", source: "s", sourceID: "1")]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    _ = try await store.put(try .sample("mine", sourceID: "1"), id: .sample(9), if: .none)
    plan.release()

    let report = try await imported
    #expect((report.updated, report.keptEdits, report.conflicts) == (1, 1, 1))
    #expect(try await store.point(id: .sample(9))?.draft == (try .sample("mine", category: "bar", sourceID: "1")))
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenADeletionWasForgotten() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = try [8, 9].map {
      try ImportRow.sample("old", 1, 2, source: "s", sourceID: "\($0)", id: .sample($0), number: Int($0))
    }
    try await store.importRows(rows)
    try await store.delete(id: .sample(8), if: .none)
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    _ = try await store.forgetEdits(of: .sample(8))
    plan.release()

    let report = try await imported
    #expect((report.created, report.unchanged, report.keptEdits) == (1, 1, 0))
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenAConflictWasConfirmed() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = try ["old", "new"].map {
      [try ImportRow.sample($0, 1, 2, source: "s", sourceID: "1", id: .sample(9))]
    }
    try await store.importRows(rows[0])
    let mine = try PointDraft.sample("mine", sourceID: "1")
    _ = try await store.put(mine, id: .sample(9), if: .none)
    try await store.importRows(rows[1])
    var options = plan.options
    options.conflicts = .source
    async let imported = store.importRows(rows[1].inOneBatch, options: options)
    while plan.heldCount == 0 { await Task.yield() }

    _ = try await store.put(mine, id: .sample(9), if: .none)
    plan.release()

    #expect(try await imported.keptEdits == 1)
    #expect(try await store.point(id: .sample(9))?.draft == mine)
  }

  @Test(.timeLimit(.minutes(5))) func importIsPlannedAgainWhenAPlaceCameIntoTheDataSetThatItReplaces() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    var options = plan.options
    options.removal = .others(source: "s")
    let rows = [try ImportRow.sample("imported", 1, 1, source: "s", sourceID: "1")]
    async let imported = store.importRows(rows.inOneBatch, options: options)
    while plan.heldCount == 0 { await Task.yield() }

    _ = try await store.put(try .sample("put", sourceID: "2"), id: .sample(9), if: .none)
    plan.release()

    #expect(try await imported.deleted == 1)
    #expect(try await store.allPoints().map(\.draft.name) == ["imported"])
  }

  @Test(.timeLimit(.minutes(5))) func importWhosePlaceChangesDuringEachPlanIsMade() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan(plans: 3))
    let rows = [try ImportRow.sample("imported", 1, 1, id: .sample(9))]
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)

    var version: Int64 = 0
    for number in 1...3 {
      while plan.heldCount < number { await Task.yield() }
      version = try await store.put(try .sample("put \(number)"), id: .sample(9), if: .none).point.version
      plan.release()
    }

    #expect(try await imported.updated == 1)
    let point = try #require(try await store.point(id: .sample(9)))
    #expect(point.draft.name == "imported" && point.version > version)
  }

  @Test(.timeLimit(.minutes(5))) func placesOfALargeImportHaveTheVersionOfItsCommit() async throws {
    let (store, plan) = (MemoryStore(), HeldPlan())
    let rows = try (1...9_000).map { number in
      try ImportRow.sample(
        "\(number)", Double(number % 90), Double(number % 180), source: "s", sourceID: "\(number)", number: number)
    }
    async let imported = store.importRows(rows.inOneBatch, options: plan.options)
    while plan.heldCount == 0 { await Task.yield() }

    let put = try await store.put(try .sample("put"), id: .sample(9), if: .none).point
    plan.release()

    #expect(try await imported.created == 9_000)
    let versions = try await store.allPoints().map(\.version)
    #expect(versions.count == 9_001)
    #expect(Set(versions).count == 2 && versions.min() == put.version)
  }

  @Test(.timeLimit(.minutes(5))) func placeThatLeavesADataSetDuringItsDeletionIsKept() async throws {
    let time = Timestamp(microsecondsSinceEpoch: 1)
    let former = PointOfInterest(
      id: .sample(9), draft: try ImportRow.sample("a", 1, 1, source: "s", sourceID: "1").draft, version: 1,
      createdAt: time, updatedAt: time)
    let journal = GatedJournal(JournalContents(points: [former], isNew: false, highestVersion: 1))
    let store = try await MemoryStore(journal: journal)
    let rows = [
      try ImportRow.sample("a", 1, 1, source: "t", sourceID: "1", id: .sample(9)),
      try ImportRow.sample("new", 1, 1, number: 2),
    ]
    async let imported = store.importRows(rows)
    while journal.committed.withLock({ $0.isEmpty }) { await Task.yield() }

    async let deleted = store.deleteBatch(ofSource: "s", after: nil)
    while await store.writer.pendingCount == 0 { await Task.yield() }
    journal.gate.open()

    #expect(try await imported.updated == 1)
    #expect(try await deleted == DeletedBatch(count: 0, next: nil))
    #expect(try await store.point(id: .sample(9))?.draft.origin?.source == "t")
  }

  @Test func lastBatchOfADeletionHasNoNext() async throws {
    let store = MemoryStore()
    try await store.importRows((1...2).map { try .sample("a", 1, 1, source: "s", sourceID: "\($0)", number: $0) })

    #expect(try await store.deleteBatch(ofSource: "s", after: nil) == DeletedBatch(count: 2, next: nil))
  }

  @Test func rowsOfManyBatchesKeepTheirOrder() async throws {
    let store = MemoryStore()
    let batches = try (1...2_000).map { number in
      [try ImportRow.sample("\(number)", 1, 1, id: .sample(UInt64(number % 20)), number: number)]
    }

    _ = try await store.load(
      AsyncStream { rows in
        for batch in batches { rows.yield(batch) }
        rows.finish()
      })

    let names = try await store.page(matching: PointQuery(limit: 20)).points.map(\.point.draft.name)
    #expect(names.sorted() == (1_981...2_000).map(String.init))
  }

  @Test(.timeLimit(.minutes(5))) func removedPlacesLeaveLargePartsBesideTheWrites() async throws {
    let store = MemoryStore()
    let rows = try (0..<10_000).map { try ImportRow.sample("\($0)", 1, 1, source: "s", sourceID: "\($0)") }
    _ = try await store.load(
      AsyncStream { batches in
        batches.yield(rows)
        batches.finish()
      })
    var position: ExactText?
    for _ in 0..<6 { position = try await store.deleteBatch(ofSource: "s", after: position).next }

    // The merged part replaces the former one without a further write.
    while store.snapshot.parts.contains(where: { $0.segment.count == rows.count }) {
      try await Task.sleep(for: .milliseconds(1))
    }

    #expect(store.count == 4000)
    #expect(store.snapshot.parts.reduce(0) { $0 + $1.segment.count } < 6000)
  }
}

/// The first plans of an import, each of which waits until it is released.
private final class HeldPlan: Sendable {
  /// The number of times that a plan of one row with an id judges places.
  static let callsOfAPlan = 2

  private let plans: Int
  private let released = DispatchSemaphore(value: 0)
  private let held = Atomic(0)
  private let calls = Atomic(0)

  init(plans: Int = 1) { self.plans = plans }

  /// The number of plans that have waited, the present one included.
  var heldCount: Int { held.load(ordering: .relaxed) }

  /// The number of times that places were judged.
  var callCount: Int { calls.load(ordering: .relaxed) }

  /// The options of an import whose plan waits when places are judged for the first time.
  var options: ImportOptions {
    var options = ImportOptions()
    options.admits = { [self] points in
      let call = calls.wrappingAdd(1, ordering: .relaxed).oldValue
      if call.isMultiple(of: Self.callsOfAPlan), call / Self.callsOfAPlan < plans {
        held.wrappingAdd(1, ordering: .relaxed)
        released.wait()
      }
      return points.map { _ in true }
    }
    return options
  }

  func release() { released.signal() }
}

/// A journal whose commits wait for a gate, and fail where it is full.
private final class GatedJournal: PointJournal {
  let gate = Gate()
  let isFull = Mutex(false)
  /// The number of changes of each commit.
  let committed = Mutex<[Int]>([])
  private let contents: JournalContents

  init(_ contents: JournalContents = JournalContents()) { self.contents = contents }

  func load(after anchor: JournalAnchor?) async throws(PointStoreError) -> JournalContents { contents }

  func commit(_ batch: JournalBatch) async throws(PointStoreError) {
    committed.withLock { $0.append(batch.putCount + batch.removals.count) }
    await gate.pass()
    if isFull.withLock({ $0 }) { throw .unavailable(reason: "the disk is full") }
  }

  func beginRun(_ number: UInt64) async throws(PointStoreError) -> (runs: [ChangeRun], dropped: Int64) {
    ([ChangeRun(number: number, start: 0)], 0)
  }

  func changes(
    after version: Int64, _ id: PointID, upTo last: Int64, limit: Int
  ) async throws(PointStoreError) -> (changes: [PointChange], hasMore: Bool) { ([], false) }

  func dropRemovals(before version: Int64) async throws(PointStoreError) -> (count: Int, dropped: Int64) { (0, 0) }
}
