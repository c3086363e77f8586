import Basics
import Foundation
import GRDB
import JSONText
import MemoryStore
import Points
import TestSupport
import Testing
import Webhooks

@testable import SQLiteJournal

@Suite struct JournalDamageTests {
  /// A closed journal of some places and a key.
  private func folder(places: Int = 40) async throws -> JournalFolder {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)
    for number in 1...places {
      let place = try PointDraft.sample(
        "place \(number)", 1, Double(number % 90), category: "caf\u{E9}",
        tags: ["name:ja": "\u{5C71}", "k\(number)": "\u{1}\"\\"],
        sourceID: "\(number)")
      _ = try await store.put(place, id: .sample(UInt64(number)), if: .none)
    }
    _ = try await store.create(try .sample("keyed"), once: IdempotencyKey(text: "client/1", requestHash: 1))
    await journal.close()
    return folder
  }

  @Test(arguments: [
    ("tags = '{\"a\":'", "tags are not"), ("tags = '{\"a\":1}'", "tags are not"), ("tags = '{ }'", "tags are not"),
    ("tags = '{\"b\":\"\",\"a\":\"\"}'", "tags are not"), ("tags = CAST(x'7B22FF223A22227D' AS TEXT)", "tags are not"),
    ("name = CAST(x'80FF' AS TEXT)", "name is not valid UTF-8"), ("name = ''", "/name"), ("name = ' a'", "trimmed"),
    ("name = 'a' || char(7)", "/name"), ("category = ''", "trimmed"), ("source_id = NULL", "/sourceId"),
    ("latitude = 91", "not a latitude and a longitude"), ("longitude = 9e999", "not a latitude and a longitude"),
    ("version = 0", "version is 0"), ("version = -7", "version is -7"),
    ("created_at = \(Int64.max)", "created_at is beyond"), ("updated_at = \(Int64.min)", "updated_at is beyond"),
    ("updated_at = created_at - 1", "updated_at is before created_at"),
  ])
  func damagedRowIsNamedAndNothingIsLoaded(damage: String, reason: String) async throws {
    let folder = try await folder()
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: "UPDATE place SET \(damage) WHERE rowid = 7") }
    try file.close()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }

    guard case .unexpected(let text) = try #require(error) else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(text.contains(folder.path))
    #expect(text.contains("row 7 of table place"))
    #expect(text.contains(reason), "\(text)")
  }

  @Test(arguments: ["NULL", "'a'", "x'00'", "1.5"])
  func damagedRunIsNamedAndNothingIsLoaded(value: String) async throws {
    let folder = try await folder(places: 2)
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { database in
      try database.execute(
        sql: """
          DROP TABLE change_run;
          CREATE TABLE change_run (number INTEGER PRIMARY KEY, start);
          INSERT INTO change_run VALUES (7, \(value))
          """)
    }
    try file.close()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }

    #expect(error?.description.contains("row 7 of table change_run: start is not an integer") == true)
  }

  @Test(arguments: [
    "DELETE FROM version_counter", "UPDATE version_counter SET highest = -5",
    """
    DROP TABLE version_counter;
    CREATE TABLE version_counter (highest, has_changes, dropped);
    INSERT INTO version_counter VALUES ('a', 1, 0)
    """,
  ])
  func lostCounterIsNamedAndNothingIsLoaded(statements: String) async throws {
    let folder = try await folder(places: 2)
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: statements) }
    try file.close()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }

    #expect(error?.description.contains("table version_counter") == true)
  }

  @Test func damagedRowsThatWereDeletedByHandPreventNoOther() async throws {
    let folder = try await folder()
    func execute(_ statement: String) async throws {
      let file = try DatabaseQueue(path: folder.path)
      try await file.write { try $0.execute(sql: statement) }
      try file.close()
    }
    try await execute("UPDATE place SET tags = '{' WHERE rowid IN (3, 4)")
    let journal = try await SQLiteJournal.open(path: folder.path)
    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }
    await journal.close()
    try await execute("DELETE FROM place WHERE rowid IN (3, 4)")

    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let (anew, wasCreated) = try await store.put(try .sample("anew"), id: .sample(3), if: .none)

    #expect(error?.description.contains("row 3 of table place: tags are not") == true)
    #expect(error?.description.contains("1 more rows are damaged") == true)
    #expect(wasCreated)
    #expect(try await store.allPoints().count == 40)
    #expect(try await store.point(id: .sample(3)) == anew)
    withExtendedLifetime(folder) {}
  }

  private func execute(_ statements: String, in folder: JournalFolder) async throws {
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: statements) }
    try file.close()
  }

  @Test func placeWithADamagedIDCanBeDeletedByHand() async throws {
    let folder = try await folder(places: 4)
    try await execute(
      "PRAGMA ignore_check_constraints = ON; UPDATE place SET id = x'00' WHERE rowid = 3", in: folder)
    let journal = try await SQLiteJournal.open(path: folder.path)
    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }
    await journal.close()

    try await execute("DELETE FROM place WHERE rowid = 3", in: folder)

    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    #expect(error?.description.contains("row 3 of table place") == true)
    #expect(try await store.allPoints().count == 4)
    withExtendedLifetime(folder) {}
  }

  @Test func counterThatWasRepairedByHandIsAboveAllVersions() async throws {
    let folder = try await folder(places: 4)
    try await execute("DELETE FROM version_counter", in: folder)

    // As docs/operations.md has it.
    try await execute(
      """
      DELETE FROM version_counter;
      DELETE FROM index_anchor;
      DELETE FROM change_run;
      INSERT INTO version_counter
        SELECT max(version), 1, max(version)
        FROM (SELECT 0 AS version UNION ALL SELECT version FROM place UNION ALL SELECT version FROM removed_place)
        WHERE version <= 4503599627370496;
      """, in: folder)

    let store = try await MemoryStore(journal: try await SQLiteJournal.open(path: folder.path))
    let versions = try await store.allPoints().map(\.version)
    let next = try await store.create(try .sample("next"), once: nil)
    #expect(versions.count == 5 && next.version > (versions.max() ?? 0))
    withExtendedLifetime(folder) {}
  }

  @Test(arguments: [
    (1, "document = '{\"created\":\"a\",\"version\":1}'"), (1, "document = json_set(document, '$.version', 0)"),
    (1, "time = \(Int64.max)"), (2, "document = '{\"applied\":[\"created\"]}'"),
    (3, "document = json_set(document, '$.imported[0]', -1)"),
    (3, "document = json_set(document, '$.imported[2]', \(Int64.max))"), (4, "document = '{}'"), (4, "document = ''"),
  ])
  func damagedOutcomeOfAKeyIsNamedAndNothingIsLoaded(row: Int, damage: String) async throws {
    let folder = try JournalFolder()
    let former = try await SQLiteJournal.open(path: folder.path)
    try await Self.writeKeyed(try await MemoryStore(journal: former))
    await former.close()
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { try $0.execute(sql: "UPDATE outcome SET \(damage) WHERE rowid = \(row)") }
    try file.close()
    let journal = try await SQLiteJournal.open(path: folder.path)

    let error = await #expect(throws: PointStoreError.self) { try await MemoryStore(journal: journal) }

    #expect(error?.description.contains("row \(row) of table outcome: ") == true)
  }

  @Test func repeatOfABatchWithTheResultsOfAnotherIsNotDoneAgain() async throws {
    let folder = try JournalFolder()
    let former = try await SQLiteJournal.open(path: folder.path)
    try await Self.writeKeyed(try await MemoryStore(journal: former))
    await former.close()
    let file = try DatabaseQueue(path: folder.path)
    try await file.write {
      try $0.execute(sql: "UPDATE outcome SET document = '{\"applied\":[]}' WHERE key = 'client:2'")
    }
    try file.close()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let store = try await MemoryStore(journal: journal)

    await #expect(throws: PointWriteError.keyReused) { try await Self.writeKeyed(store) }

    #expect(store.count == 3)
    await journal.close()
  }

  /// Creates a place, applies a batch, imports a row and creates an area, each with a key.
  private static func writeKeyed(_ store: MemoryStore) async throws {
    _ = try await store.create(try .sample("one"), once: IdempotencyKey(text: "client:1", requestHash: 1))
    let key = IdempotencyKey(text: "client:2", requestHash: 1)
    _ = try await store.apply(PointBatch([.create(try .sample("two"))], once: key))
    let rows = [try ImportRow.sample("three", 1, 1)].inOneBatch
    _ = try await store.importRows(rows, mode: .partial, dryRun: false, once: ImportKey(text: "client:3") { 1 })
    _ = try await AreaEditor(store).create(.sample("A"), once: IdempotencyKey(text: "client:4", requestHash: 1))
  }

  @Test func fileWithRandomDamageIsRejectedOrLoadsOnlyValidRows() async throws {
    let whole = try await folder()
    let bytes = try Data(contentsOf: URL(filePath: whole.path))
    var random = Xorshift(seed: 12)
    var rejections = 0
    for round in 0..<150 {
      var damaged = bytes
      for _ in 0..<(1 + round % 4) {
        damaged[Int(random.next() % UInt64(damaged.count))] ^= UInt8(1 << (random.next() % 8))
      }
      let folder = try JournalFolder()
      try damaged.write(to: URL(filePath: folder.path))
      do {
        let journal = try await SQLiteJournal.open(path: folder.path)
        let store = try await MemoryStore(journal: journal)
        for point in try await store.allPoints() { try expectValid(point, round: round) }
        // A repeat returns the stored outcome, which must not stop the process either.
        _ = try? await store.create(try .sample("keyed"), once: IdempotencyKey(text: "client/1", requestHash: 1))
        await journal.close()
      } catch let error as PointStoreError {
        rejections += 1
        #expect("\(error)".contains(folder.path), "round \(round): \(error)")
      }
    }
    #expect(rejections > 0)
  }

  private func expectValid(_ point: PointOfInterest, round: Int) throws {
    let place = point.draft
    #expect(point.version >= 1, "round \(round)")
    #expect(point.updatedAt >= point.createdAt, "round \(round)")
    let tags = try Tags(try JSONReader.value(of: place.tags.json.utf8))
    #expect(tags.json.utf8.elementsEqual(place.tags.json.utf8), "round \(round)")
    let valid = try PointDraft(
      name: place.name, category: place.category, coordinate: place.coordinate, tags: tags,
      source: place.origin?.source, sourceID: place.origin?.sourceID)
    #expect(valid == place, "round \(round)")
  }

  @Test(arguments: [
    "'{}'", "'null'", "'{'", "''", "json_set(document, '$.positionTime', \(Int64.max))",
    "json_set(document, '$.secrets.current.text', 'whsec_')",
    "(SELECT document FROM record ORDER BY id LIMIT 1)",
  ])
  func webhookThatCannotBeDecodedIsLoggedOnceAndPreventsNoOther(_ document: String) async throws {
    let folder = try JournalFolder()
    let journal = try await SQLiteJournal.open(path: folder.path)
    let former = WebhookRecords(try await MemoryStore(journal: journal))
    for number in 1...3 { #expect(try await former.insert(.sample(UInt64(number)))) }
    await journal.close()
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { database in
      try database.execute(
        sql: "UPDATE record SET document = \(document) WHERE id = ?", arguments: [PointID.sample(2).description])
    }
    try file.close()
    let log = LogRecorder()
    let reopened = try await SQLiteJournal.open(path: folder.path, damagedRows: DamagedRows(logger: log.logger))
    let webhooks = WebhookRecords(try await MemoryStore(journal: reopened))

    for _ in 0..<2 { #expect(try await webhooks.webhooks(id: nil).map(\.id) == [.sample(1), .sample(3)]) }

    #expect(try await webhooks.webhooks(id: .sample(2)).isEmpty)
    #expect(log.lines.count == 1)
    #expect(log.lines.first?.contains("webhook") == true && log.lines.first?.contains("\(PointID.sample(2))") == true)
    #expect(try await webhooks.removeWebhook(id: .sample(2)))
    await reopened.close()
  }

  @Test func damagedRecordIsLoggedPreventsNoOtherAndCanBeRemoved() async throws {
    let folder = try await folder(places: 2)
    let file = try DatabaseQueue(path: folder.path)
    try await file.write { database in
      try database.execute(
        sql: """
          DROP TABLE record;
          CREATE TABLE record (collection, id, revision, fields, expires_at, kept_until, document);
          INSERT INTO record VALUES
            (NULL, NULL, NULL, NULL, NULL, NULL, NULL), ('notes', x'00', 1, '{}', NULL, NULL, '1'),
            ('notes', 'a', 1, '{"n":"1"}', NULL, NULL, '1'), ('notes', 'b', 1, '{"n":1}', NULL, 5, '1'),
            ('notes', 'c', 1, '{}', 'x', NULL, '1'), ('notes', 'd', 3, '{}', NULL, NULL, CAST(x'80FF' AS TEXT))
          """)
    }
    try file.close()
    let log = LogRecorder()
    let journal = try await SQLiteJournal.open(path: folder.path, damagedRows: DamagedRows(logger: log.logger))

    let store = try await MemoryStore(journal: journal)

    let notes = RecordCollection("notes")
    let records = try await store.records(matching: RecordQuery(notes))
    #expect(records.map(\.id) == ["a", "b", "c", "d"] && records.map(\.document) == ["1", "1", "1", ""])
    #expect(records.map(\.revision) == [1, 1, 1, 3])
    #expect(try await store.record("a", in: notes)?.fields == ["n": "1"])
    #expect(try await store.commit([.remove(notes, id: "d")]).isCommitted)
    // The time of removal was read although the fields are damaged.
    let now = Timestamp(microsecondsSinceEpoch: 5)
    #expect(try await store.removeRecords(of: notes, keptUntil: now) == 1)
    #expect(try await store.records(matching: RecordQuery(notes)).map(\.id) == ["a", "c"])
    #expect(log.lines.count == 4 && log.lines.allSatisfy { $0.contains("record") })
    await journal.close()
  }
}

/// A generator of pseudorandom numbers that are the same in every run.
private struct Xorshift {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 }

  mutating func next() -> UInt64 {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return state
  }
}

extension Webhook {
  fileprivate static func sample(_ number: UInt64) -> Webhook {
    Webhook(
      id: .sample(number), url: "https://example.com", filter: nil, secrets: WebhookSecrets(.generate()),
      position: "1.2", createdAt: Timestamp(microsecondsSinceEpoch: 1_795_000_000_000_000))
  }
}
