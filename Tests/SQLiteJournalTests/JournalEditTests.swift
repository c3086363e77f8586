import Basics
import GRDB
import MemoryStore
import Points
import TestSupport
import Testing

@testable import SQLiteJournal

/// Edits in a journal; `WriteContract` has those of all stores.
@Suite struct JournalEditTests {
  @Test(arguments: 1...5 as ClosedRange<UInt64>) func randomEditsOutliveTheProcess(seed: UInt64) async throws {
    let folder = try JournalFolder()
    var journal = try await SQLiteJournal.open(path: folder.path)

    try await RandomEdits.check(seed: seed, steps: 160, try await MemoryStore(journal: journal)) { _ in
      await journal.close()
      journal = try await SQLiteJournal.open(path: folder.path)
      return try await MemoryStore(journal: journal)
    }

    await journal.close()
    withExtendedLifetime(folder) {}
  }

  /// A closed journal of two edited places and a deleted one of a data set.
  private func folder() async throws -> JournalFolder {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    try await store.importRows(
      (1...3).map { try .sample("old", 1, 2, source: "s", sourceID: "\($0)", id: .sample(UInt64($0)), number: $0) })
    _ = try await store.put(
      try .sample("mine \u{E9}", 3, 4, category: "x", tags: ["a\"": "\n"], sourceID: "1"), id: .sample(1), if: .none)
    _ = try await store.put(try .sample("mine", sourceID: "2"), id: .sample(2), if: .none)
    try await store.delete(id: .sample(3), if: .none)
    await journal.close()
    return folder
  }

  private func execute(_ statements: String, in folder: JournalFolder) async throws {
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: statements) }
    try file.close()
  }

  private func edits(in folder: JournalFolder) async throws -> [PlaceEdits] {
    let journal = try await SQLiteJournal.open(path: folder.path)
    let edits = try await MemoryStore(journal: journal).edits(matching: EditQuery(limit: 10)).places
    await journal.close()
    return edits
  }

  @Test func editsAreReadAsTheyWereWritten() async throws {
    let folder = try await folder()

    let edits = try await edits(in: folder)

    #expect(edits.map(\.id) == [.sample(1), .sample(2), .sample(3)])
    #expect(edits[0].edits.map(\.field) == [.category, .name, .position, .tag("a\"")])
    let coordinate = try PointDraft.sample("old").coordinate
    #expect(edits[0].edits.map(\.base) == [FieldValue.none, .text("old"), .position(coordinate), FieldValue.none])
    #expect(edits.map(\.isDeletion) == [false, false, true])
    #expect(edits.allSatisfy { $0.origin.source == "s" && !$0.hasConflict })
  }

  @Test func fileWithoutEditsGetsTheirTable() async throws {
    let folder = try await folder()
    try await execute("DROP TABLE edit; PRAGMA user_version = 1", in: folder)
    try SQLiteJournal.checkKind(path: folder.path)
    try await SQLiteJournal.verify(path: folder.path)

    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    let before = try await store.edits(matching: EditQuery(limit: 10)).places
    _ = try await store.put(try .sample("again", sourceID: "2"), id: .sample(2), if: .none)
    await journal.close()

    #expect(before.isEmpty)
    #expect(try await edits(in: folder).map(\.id) == [.sample(2)])
  }

  @Test func editsEndWithAChangeByHand() async throws {
    let folder = try await folder()
    try await execute(
      """
      DELETE FROM place WHERE name = 'mine';
      UPDATE place SET source_id = '7';
      INSERT INTO place
      SELECT id, 'by hand', NULL, 1, 1, '{}', NULL, NULL, 1, 1, 1 FROM edit WHERE field = 'deleted'
      """, in: folder)

    let first = try await edits(in: folder)
    // Their rows are gone too.
    try await execute("UPDATE place SET source_id = '1' WHERE source_id = '7'", in: folder)

    #expect(first.isEmpty)
    #expect(try await edits(in: folder).isEmpty)
  }

  @Test(arguments: [
    ("field = 'colour' WHERE field = 'category'", "field is 'colour'"),
    ("base = NULL WHERE field = 'name'", "base is missing"), ("base = 'a' WHERE field = 'deleted'", "base is missing"),
    ("base = '' WHERE field = 'name'", "/name"), ("base = ' a' WHERE field = 'category'", "trimmed"),
    ("base_latitude = 91 WHERE field = 'position'", "not a latitude and a longitude"),
    ("base_longitude = NULL WHERE field = 'position'", "longitude is not a number"),
    ("base = CAST(x'80FF' AS TEXT) WHERE field = 'name'", "base is not valid UTF-8"),
    ("since = \(Int64.max) WHERE field = 'name'", "since is beyond"),
  ])
  func damagedEditIsNamedAndNothingIsLoaded(damage: String, reason: String) async throws {
    let folder = try await folder()
    try await execute("UPDATE edit SET \(damage)", in: folder)
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }

    let text = try #require(error).description
    #expect(text.contains(" of table edit: ") && !text.contains("row ?") && text.contains(reason), "\(text)")
    withExtendedLifetime(folder) {}
  }
}
