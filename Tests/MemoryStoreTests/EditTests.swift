import Basics
import Points
import TestSupport
import Testing

@testable import MemoryStore

/// Edits in a memory store; `WriteContract` has those of all stores.
@Suite struct EditTests {
  @Test(arguments: 2...21 as ClosedRange<UInt64>) func randomEditsHaveTheEffectsOfTheReference(seed: UInt64)
    async throws
  {
    try await RandomEdits.check(seed: seed, steps: 200, MemoryStore())
  }

  private static func row(_ name: String, _ number: Int, category: String? = nil) throws -> ImportRow {
    try .sample(
      name, 1, 1, category: category, source: "s", sourceID: "\(number)", id: .sample(UInt64(number)), number: number)
  }

  private static func put(_ row: ImportRow, _ store: MemoryStore) async throws {
    _ = try await store.put(row.draft, id: try #require(row.id), if: .none)
  }

  @Test func furtherPlaceHasNoEditsInAFullStore() async throws {
    let store = MemoryStore(maximumEdits: 2)
    try await store.importRows([try Self.row("a", 1), try Self.row("b", 2)])
    let full = PointWriteError.store(.editsExhausted)
    try await Self.put(try Self.row("mine", 1, category: "x"), store)
    let before = try await store.allPoints()

    await #expect(throws: full) { try await Self.put(try Self.row("mine", 2), store) }
    await #expect(throws: full) {
      try await store.apply(
        PointBatch([.create(try .sample("new")), .put(try Self.row("mine", 2).draft, id: .sample(2), if: .none)]))
    }
    var options = ImportOptions()
    options.assumeEditedSince = Timestamp(microsecondsSinceEpoch: 0)
    for dryRun in [true, false] {
      options.dryRun = dryRun
      let rows = [try Self.row("c", 2)].inOneBatch
      let options = options
      await #expect(throws: PointStoreError.editsExhausted) { try await store.importRows(rows, options: options) }
    }

    #expect(try await store.allPoints() == before)
    #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(1)])
  }

  @Test func placesAreDeletedFromAFullStoreAndTheNextImportMayBringThemBack() async throws {
    let store = MemoryStore(maximumEdits: 1)
    let rows = [try Self.row("a", 1), try Self.row("b", 2), try Self.row("c", 3)]
    try await store.importRows(rows)
    try await Self.put(try Self.row("mine", 1), store)

    try await store.delete(id: .sample(2), if: .none)
    let results = try await store.apply(
      PointBatch([.delete(id: .sample(3), if: .none), .delete(id: .sample(1), if: .none)]))
    let left = try await store.allPoints()

    #expect(results == [.deleted(.sample(3)), .deleted(.sample(1))] && left.isEmpty)
    #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(1)])
    let report = try await store.importRows(rows)
    #expect((report.created, report.keptEdits) == (2, 1))
  }

  @Test func placeWithEditsGetsMoreInAFullStoreAndForgottenOnesMakeRoom() async throws {
    let store = MemoryStore(maximumEdits: 1)
    try await store.importRows([try Self.row("a", 1), try Self.row("b", 2)])
    try await Self.put(try Self.row("mine", 1), store)

    try await Self.put(try Self.row("mine", 1, category: "x"), store)
    let count = try await store.edits(of: .sample(1))?.edits.count
    try await store.delete(id: .sample(1), if: .none)
    _ = try await store.forgetEdits(of: .sample(1))
    try await Self.put(try Self.row("mine", 2), store)

    #expect(count == 2)
    #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(2)])
  }

  @Test func pagesOfManyEditsHaveAllOfThemByID() async throws {
    let ids = (1...3_000 as ClosedRange<UInt64>).map { PointID.sample($0) }
    let changes = ids.shuffled().enumerated().map { number, id in
      PlaceEdits(
        deletionOf: id, origin: SourceReference(source: number % 2 == 0 ? "s" : "t", sourceID: "\(number)"),
        at: Timestamp(microsecondsSinceEpoch: 1))
    }
    var table = EditTable(changes)
    let former = table
    let removed = Set(ids.prefix(1_000))
    table.apply(Dictionary(uniqueKeysWithValues: removed.map { ($0, nil) }))

    func listed(_ table: EditTable) -> [PointID] {
      var (query, found) = (EditQuery(limit: 700), [PointID]())
      while true {
        let page = table.page(matching: query)
        found += page.places.map(\.id)
        guard page.hasMore else { return found }
        query.after = found.last
      }
    }

    #expect(listed(table) == ids.filter { !removed.contains($0) }.sorted() && table.count == 2_000)
    #expect(listed(former) == ids.sorted() && former.count == 3_000)
    let ofSource = Set(changes.filter { $0.origin.source == "s" && !removed.contains($0.id) }.map(\.id))
    #expect(Set(table.deletions(ofSource: "s")) == ofSource)
  }

  @Test func batchThatIsRefusedLeavesTheWritesOfItsGroup() async throws {
    let store = MemoryStore(maximumEdits: 0)
    try await store.importRows([try Self.row("a", 1)])

    await withTaskGroup(of: Void.self) { group in
      for number in 10..<40 as Range<UInt64> {
        group.addTask {
          if number.isMultiple(of: 2) {
            _ = try? await store.apply(
              PointBatch([
                .put(try .sample("undone"), id: .sample(100 + number), if: .none),
                .put(try Self.row("mine", 1).draft, id: .sample(1), if: .none),
              ]))
          } else {
            _ = try? await store.put(try .sample("made"), id: .sample(number), if: .none)
          }
        }
      }
    }

    let names = try await store.allPoints().map(\.draft.name)
    #expect(names.count { $0 == "made" } == 15 && !names.contains("undone") && names.contains("a"))
  }

  @Test func editsOfAJournalWhosePlacesWereChangedElsewhereAreLeftOut() async throws {
    let time = Timestamp(microsecondsSinceEpoch: 1)
    let points = try (1...3).map { number in
      PointOfInterest(
        id: .sample(UInt64(number)), draft: try Self.row("a", number).draft, version: 1, createdAt: time,
        updatedAt: time)
    }
    func origin(_ number: Int) -> SourceReference { SourceReference(source: "s", sourceID: "\(number)") }
    func edits(_ id: UInt64, _ number: Int) -> PlaceEdits {
      PlaceEdits(
        id: .sample(id), origin: origin(number), edits: [FieldEdit(field: .name, base: .text("b"), since: time)])
    }
    var contents = JournalContents(points: ContiguousArray(points), isNew: false, highestVersion: 1)
    contents.edits = [
      edits(1, 1), edits(2, 9), edits(7, 7), PlaceEdits(deletionOf: .sample(3), origin: origin(8), at: time),
      PlaceEdits(deletionOf: .sample(6), origin: origin(3), at: time),
      PlaceEdits(deletionOf: .sample(5), origin: origin(5), at: time),
    ]

    let store = MemoryStore(contents, journal: nil, clock: SystemClock())

    #expect(
      try await store.edits(matching: EditQuery(limit: 10))
        == EditPage(places: [contents.edits[0], contents.edits[5]], hasMore: false))
  }
}
