import Basics
import Foundation
import GRDB
import MemoryStore
import PointIndex
import Points
import Synchronization
import SyntheticData
import TestSupport
import Testing

@testable import SQLiteJournal

/// Stores that continue from the files of their index.
@Suite struct KeptIndexTests {
  /// An open store, whose index is kept in files.
  private final class Opened: Sendable {
    let store: MemoryStore
    let journal: SQLiteJournal

    /// The files, which are locked until the store is closed.
    private let openFiles: Mutex<IndexFiles?>

    init(_ folder: JournalFolder, text: TextIndexConfiguration = .init()) async throws {
      let files = try IndexFiles(folder: folder.indexPath)
      openFiles = Mutex(files)
      journal = try await SQLiteJournal.open(path: folder.path)
      store = try await MemoryStore(journal: journal, files: files, text: text)
    }

    func put(_ name: String, _ number: UInt64, sourceID: String? = nil) async throws {
      _ = try await store.put(try .sample(name, sourceID: sourceID), id: .sample(number), if: .none)
    }

    /// The names of the places, each with what is found by its id and by a search for it.
    func names() async throws -> [String] {
      var names: [String] = []
      for point in try await store.allPoints() {
        #expect(try await store.point(id: point.id) == point)
        let found = try await store.snapshot(isRequired: true)?.page(matching: TextQuery(text: point.draft.name))
        #expect(found?.matches.map(\.point).contains(point) == true, "\(point.draft.name)")
        names.append(point.draft.name)
      }
      return names.sorted()
    }

    var files: IndexFiles { get throws { try #require(openFiles.withLock { $0 }) } }

    func save() async throws -> Bool { try await store.save(to: try files) }

    func close() async {
      openFiles.withLock { $0 = nil }
      await journal.close()
    }
  }

  private static func isFromFiles(_ store: MemoryStore) -> Bool {
    if case .files = store.indexOrigin { true } else { false }
  }

  /// A closed store of the places A, B and C, in files.
  private func folder() async throws -> JournalFolder {
    let folder = try JournalFolder()
    let opened = try await Opened(folder)
    for (number, name) in ["A", "B", "C"].enumerated() {
      try await opened.put(name, UInt64(number + 1), sourceID: name)
    }
    #expect(opened.store.indexOrigin == .built(reason: nil))
    #expect(try await opened.save())
    await opened.close()
    return folder
  }

  /// Changes the file of a closed journal by hand.
  private func change(_ folder: JournalFolder, _ sql: String) async throws {
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: sql) }
    try file.close()
  }

  private func count(_ table: String, in folder: JournalFolder) async throws -> Int? {
    let file = try DatabaseQueue(path: folder.path)
    defer { try? file.close() }
    return try await file.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
  }

  @Test func startContinuesFromTheFilesWithWhatHasChangedSince() async throws {
    let folder = try await folder()
    let key = IdempotencyKey(text: "client/1", requestHash: 7)
    let place = try PointDraft.sample("D", sourceID: "D")
    let first = try await Opened(folder)
    let created = try await first.store.create(place, once: key)
    try await first.put("B2", 2, sourceID: "B")
    try await first.store.delete(id: .sample(1), if: .none)
    try await first.store.delete(id: .sample(3), if: .none)
    try await first.put("C again", 3)
    let points = try await first.store.allPoints()
    await first.close()

    let second = try await Opened(folder)
    let names = try await second.names()
    let repeated = try await second.store.create(place, once: key)
    let revived = try await second.store.create(try .sample("A again", sourceID: "A"), once: nil)
    await second.close()

    #expect(first.store.indexOrigin == .files(changes: 0))
    // Three places were put, and the removal of two is logged, although one is there again.
    #expect(second.store.indexOrigin == .files(changes: 5))
    #expect(names == ["B2", "C again", "D"])
    #expect(try await second.store.allPoints().filter { $0.id != revived.id } == points)
    #expect(repeated == created && !second.store.wasNew)
    #expect(revived.id == .sample(1) && revived.version > (points.map(\.version).max() ?? 0))
  }

  @Test func everyKilledStoreContinuesWithTheSamePlaces() async throws {
    let folder = try JournalFolder()
    var opened = try await Opened(folder)
    var random = SeededGenerator(seed: 17)
    var copies: [JournalFolder] = []
    var continued = 0
    for round in 0..<60 {
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        let rows = try (0..<Int.random(in: 1...40, using: &random)).map { row in
          let number = Int.random(in: 1...60, using: &random)
          return try ImportRow.sample(
            "import \(round)", 1, 2, source: "s", sourceID: "\(number)", number: row + 1)
        }
        let (batches, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
        continuation.yield(rows)
        continuation.finish()
        let removal = ImportRemoval.others(source: "s", limit: .percentage(100))
        _ = try await opened.store.importRows(
          batches, options: ImportOptions(removal: Bool.random(using: &random) ? removal : nil))
      case 1, 2:
        let number = UInt64.random(in: 1...30, using: &random)
        try? await opened.store.delete(id: .sample(number), if: .none)
      default: try await opened.put("round \(round)", UInt64.random(in: 1...30, using: &random))
      }
      if Int.random(in: 0..<4, using: &random) == 0 { _ = try await opened.save() }
      guard Int.random(in: 0..<3, using: &random) == 0 else { continue }
      let copy = try folder.copy()
      copies.append(copy)
      let next = try await Opened(copy)
      #expect(try await next.store.allPoints() == opened.store.allPoints(), "round \(round)")
      if Self.isFromFiles(next.store) { continued += 1 }
      if Bool.random(using: &random) {
        // The copy is a file of its own from now on.
        try await next.put("elsewhere \(round)", 99)
        if Bool.random(using: &random) { _ = try await next.save() }
      }
      await next.close()
    }
    await opened.close()
    opened = try await Opened(folder)

    #expect(Self.isFromFiles(opened.store))
    #expect(continued > 3)
  }

  @Test func writeThatFailsBetweenTheAnchorAndTheManifestLeavesTheFormerFiles() async throws {
    let folder = try await folder()
    let first = try await Opened(folder)
    try await first.put("D", 4)
    try await first.store.delete(id: .sample(1), if: .none)
    // The name of the manifest's next version is taken by a folder.
    let blocked = "\(folder.indexPath)/manifest.new"
    try FileManager.default.createDirectory(atPath: blocked, withIntermediateDirectories: false)
    for _ in 0..<3 {
      await #expect(throws: IndexFileError.self) { try await first.save() }
    }
    let killed = try folder.copy()
    let second = try await Opened(killed)

    #expect(second.store.indexOrigin == .files(changes: 2))
    #expect(try await second.names() == ["B", "C", "D"])

    try FileManager.default.removeItem(atPath: blocked)
    #expect(try await first.save())
    #expect(try await !first.save())
    await first.close()
    await second.close()
    #expect(try await count("index_anchor", in: folder) == 2)
    let third = try await Opened(folder)
    #expect(third.store.indexOrigin == .files(changes: 0))
    #expect(try await third.names() == ["B", "C", "D"])
    await third.close()
  }

  @Test func restoredBackupIsNotCombinedWithTheFilesOfALaterState() async throws {
    let folder = try await folder()
    let first = try await Opened(folder)
    try await first.journal.backUp(to: folder.path + ".backup")
    try await first.put("D", 4)
    try await first.store.delete(id: .sample(1), if: .none)
    #expect(try await first.save())
    await first.close()
    try FileManager.default.removeItem(atPath: folder.path)
    try FileManager.default.moveItem(atPath: folder.path + ".backup", toPath: folder.path)

    let second = try await Opened(folder)
    #expect(second.store.indexOrigin == .built(reason: "the journal is another one, or was changed by another program"))
    #expect(try await second.names() == ["A", "B", "C"])
    try await second.put("E", 5)
    #expect(try await second.save())
    await second.close()

    let third = try await Opened(folder)
    #expect(third.store.indexOrigin == .files(changes: 0))
    #expect(try await third.names() == ["A", "B", "C", "E"])
    await third.close()
  }

  @Test func journalsThatWereOneAreNotCombinedWithTheFilesOfEachOther() async throws {
    let folder = try await folder()
    let copy = try folder.copy()
    let other = try await Opened(copy)
    let first = try await Opened(folder)
    try await first.put("D", 4)
    try await other.put("X", 4)
    #expect(try await first.save())
    #expect(try await other.save())
    await other.close()
    await first.close()

    // The files of one beside the journal of the other.
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal, files: IndexFiles(folder: copy.indexPath))
    await journal.close()

    #expect(!Self.isFromFiles(store))
    #expect(try await store.allPoints().map(\.draft.name).sorted() == ["A", "B", "C", "D"])
  }

  @Test(arguments: [
    ("UPDATE place SET name = 'A2' WHERE name = 'A'", ["A2", "B", "C"]),
    ("UPDATE place SET name = 'A2', version = version + 1000000000000 WHERE name = 'A'", ["A2", "B", "C"]),
    ("UPDATE place SET id = x'00000000000000000000000000000001' WHERE name = 'A'", ["A", "B", "C"]),
    ("DELETE FROM place WHERE name = 'A'", ["B", "C"]), ("DELETE FROM place", []),
    ("UPDATE place SET source = NULL, source_id = NULL", ["A", "B", "C"]),
    (
      """
      INSERT INTO place SELECT x'00000000000000000000000000000002', 'D', category, latitude, longitude, tags, NULL, NULL,
        version, created_at, updated_at FROM place WHERE name = 'A'
      """, ["A", "B", "C", "D"]
    ),
    (
      "INSERT OR REPLACE INTO place SELECT id, 'A2', category, latitude, longitude, tags, source, source_id, version, "
        + "created_at, updated_at FROM place WHERE name = 'A'", ["A2", "B", "C"]
    ),
  ])
  func changesByHandAreSeen(sql: String, names: [String]) async throws {
    let folder = try await folder()
    try await change(folder, sql)

    let opened = try await Opened(folder)
    let found = try await opened.names()
    let ids = try await opened.store.allPoints().map(\.id)
    await opened.close()
    let built = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))

    #expect(found == names)
    #expect(try await built.allPoints().map(\.id) == ids)
  }

  @Test func damagedFilesAndOnesOfAnotherStoreAreBuiltAgain() async throws {
    let folder = try await folder()
    let manifest = "\(folder.indexPath)/manifest"
    var bytes = try Data(contentsOf: URL(filePath: manifest))
    bytes[bytes.count / 2] ^= 1
    try bytes.write(to: URL(filePath: manifest))
    let damaged = try await Opened(folder)
    #expect(damaged.store.indexOrigin == .built(reason: "the manifest is damaged"))
    #expect(try await damaged.names() == ["A", "B", "C"])
    _ = try damaged.files.save(PointSnapshot(), standingFor: "an anchor of PostgreSQL")
    await damaged.close()

    let other = try await Opened(folder)
    #expect(other.store.indexOrigin == .built(reason: "they are of another store"))
    #expect(try await other.names() == ["A", "B", "C"])
    #expect(try await other.save())
    await other.close()

    let configured = try await Opened(folder, text: .init(nameTags: ["name:xx"]))
    #expect(configured.store.indexOrigin == .built(reason: "the fields that are searched have changed"))
    #expect(try await configured.names() == ["A", "B", "C"])
    await configured.close()
  }

  @Test func counterThatWasSetBackHasTheIndexBuilt() async throws {
    let folder = try await folder()
    try await change(folder, "UPDATE version_counter SET highest = 1")

    let opened = try await Opened(folder)
    await opened.close()

    #expect(!Self.isFromFiles(opened.store))
  }

  @Test func damageOfAChangedRowStopsTheStart() async throws {
    let folder = try await folder()
    let first = try await Opened(folder)
    try await first.put("D", 4)
    await first.close()
    // Without the triggers, as a disk damages rows.
    try await change(
      folder, "DROP TRIGGER place_foreign_update; UPDATE place SET name = '' WHERE name = 'D'")

    let error = await #expect(throws: PointStoreError.self) { try await Opened(folder) }

    #expect("\(try #require(error))".contains("place"))
  }

  @Test func removalsAreLoggedUntilTheyAreDroppedAndFilesFromBeforeAreNotUsed() async throws {
    let folder = try await folder()
    let opened = try await Opened(folder)
    try await opened.store.delete(id: .sample(1), if: .none)
    await opened.close()
    #expect(try await count("removed_place", in: folder) == 1)

    let next = try await Opened(folder)
    #expect(Self.isFromFiles(next.store))
    #expect(try await next.store.pruneChanges(before: Timestamp(microsecondsSinceEpoch: 1 << 52)) == 1)
    await next.close()
    #expect(try await count("removed_place", in: folder) == 0)

    let last = try await Opened(folder)
    #expect(!Self.isFromFiles(last.store))
    #expect(try await last.names() == ["B", "C"])
    await last.close()
  }

  @Test func writingTheFilesChangesNoVersion() async throws {
    let folder = try await folder()
    let opened = try await Opened(folder)
    let version = try await opened.store.dataVersion()
    try await opened.put("D", 4)
    let next = try await opened.store.dataVersion()
    #expect(try await opened.save())
    let saved = try await opened.store.dataVersion()
    #expect(try await opened.names() == ["A", "B", "C", "D"])
    await opened.close()

    #expect(version != next && next == saved)
  }
}
