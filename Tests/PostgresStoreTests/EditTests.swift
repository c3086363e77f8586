import Basics
import Points
import PostgresClient
import PostgresTestSupport
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of edits beside what all stores have in common.
@Suite(.timeLimit(.minutes(5))) struct EditTests {
  private func row(
    _ name: String, _ number: Int = 1, category: String? = nil, tags: KeyValuePairs<String, String> = [:]
  ) throws -> ImportRow {
    try .sample(
      name, 1, 1, category: category, tags: tags, source: "s", sourceID: "\(number)", id: .sample(UInt64(number)),
      number: number)
  }

  /// Returns a store with the places 1 to 3 of the data set, on a database.
  private func store(
    _ database: TemporaryDatabase, maximumEdits: Int = PlaceEdits.defaultMaximumCount
  ) async throws -> PostgresStore {
    let migrated = try await database.migratedStore()
    try await migrated.importRows(try (1...3).map { try row("base", $0) })
    return try PostgresStore(
      configuration: try .withLongTimeouts(url: database.url),
      migrations: try Migration.all(inDirectory: migrationsDirectory), maximumEdits: maximumEdits)
  }

  private static let waiting = """
    SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
    """

  /// The definition of a trigger by which imports wait for a lock before they change places.
  private static let importsWait = """
    CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS
      'BEGIN
        IF to_regclass(''pg_temp.import_rows'') IS NOT NULL THEN PERFORM pg_advisory_xact_lock(42); END IF;
        RETURN NULL;
      END';
    CREATE TRIGGER wait BEFORE UPDATE ON points FOR EACH STATEMENT EXECUTE FUNCTION wait()
    """

  @Test(arguments: 2...5 as ClosedRange<UInt64>) func randomEditsAndImportsHaveTheEffectsOfTheReference(seed: UInt64)
    async throws
  {
    try await RandomEdits.check(seed: seed, steps: 150, try await TemporaryDatabase.make().migratedStore())
  }

  /// The import has merged the rows when it waits, and its statement that changes the places has begun.
  @Test(arguments: [false, true]) func writeBetweenTheMergeAndTheChangeOfAnImportIsKept(isDeletion: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run(Self.importsWait)
    let other = try await database.session()
    try await other.run(script: "BEGIN")
    try await other.run("SELECT pg_advisory_xact_lock(42)")
    let rows = [try row("imported", 1, category: "new"), try row("imported", 2)]
    async let importing = store.importRows(rows)
    while try await database.run(Self.waiting) == "0" {}

    if isDeletion {
      try await store.delete(id: .sample(1), if: .exists)
    } else {
      _ = try await store.put(try row("edited").draft, id: .sample(1), if: .exists)
    }
    try await other.run(script: "COMMIT")
    let report = try await importing

    let point = try await store.point(id: .sample(1))
    let edits = try await store.edits(of: .sample(1))?.edits
    #expect(report.keptEdits == 1)
    #expect(try await store.point(id: .sample(2))?.draft.name == "imported")
    if isDeletion {
      #expect(point == nil)
      #expect(edits?.map(\.field) == [.deletion])
      #expect([report.updated, report.unchanged, report.created] == [1, 1, 0])
    } else {
      #expect(point?.draft.name == "edited" && point?.draft.category == "new")
      #expect(edits?.map(\.field) == [.name])
      #expect(edits?.first?.isConflict == true)
      #expect(report.updated == 2 && report.conflicts == 1)
    }
    await other.close()
  }

  /// The write waits for the lock on the place, and does not see the edits that are committed meanwhile.
  @Test(arguments: [false, true]) func writeThatHasWaitedForAnEditKnowsItsBase(isDeletion: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    let other = try await database.session()
    try await other.run(
      script: """
        BEGIN; UPDATE points SET name = 'first edit' WHERE id = '\(PointID.sample(1))';
        INSERT INTO edits (id, field, source, source_id, base, since)
        VALUES ('\(PointID.sample(1))', 'name', 's', '1', 'base', now())
        """)
    async let write: Void = {
      if isDeletion {
        try await store.delete(id: .sample(1), if: .exists)
      } else {
        _ = try await store.put(try row("second edit").draft, id: .sample(1), if: .exists)
      }
    }()
    while try await database.run(Self.waiting) == "0" {}

    try await other.run(script: "COMMIT")
    try await write

    let fields = try await database.run("SELECT field, base FROM edits")
    #expect(fields == (isDeletion ? "deleted|" : "name|base"))
    await other.close()
  }

  @Test func writesOfFurtherPlacesFailBeyondTheMaximum() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database, maximumEdits: 1)
    let exhausted = PointWriteError.store(.editsExhausted)
    let changed = try row("changed", 1, category: "changed").draft

    await #expect(throws: exhausted) { try await store.put(changed, id: .sample(1), if: .none) }
    _ = try await store.put(try row("changed").draft, id: .sample(1), if: .none)
    // A place with edits may have more.
    _ = try await store.put(changed, id: .sample(1), if: .none)
    await #expect(throws: exhausted) { try await store.put(try row("changed", 2).draft, id: .sample(2), if: .none) }
    await #expect(throws: exhausted) {
      try await store.apply(
        PointBatch([.put(try row("changed", 2).draft, id: .sample(2), if: .none), .delete(id: .sample(3), if: .none)]))
    }
    var options = ImportOptions()
    options.assumeEditedSince = Timestamp(microsecondsSinceEpoch: 0)
    await #expect(throws: PointStoreError.editsExhausted) {
      try await store.importRows([row("imported", 3)].inOneBatch, options: options)
    }
    // Deletions are made, though only that of a place with edits is kept.
    try await store.delete(id: .sample(2), if: .none)
    #expect(try await store.apply(PointBatch([.delete(id: .sample(3), if: .none)])) == [.deleted(.sample(3))])
    #expect(try await database.run("SELECT field FROM edits ORDER BY field") == "category\nname")
    try await store.delete(id: .sample(1), if: .none)

    #expect(try await store.allPoints().isEmpty)
    #expect(try await database.run("SELECT id, field FROM edits") == "\(PointID.sample(1))|deleted")
  }

  @Test func rowsAreCountedOnlyNearTheMaximum() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run(
      """
      INSERT INTO edits (id, field, source, source_id, base, since)
      SELECT gen_random_uuid(), 'name', 's', number, repeat('x', 200), now() FROM generate_series(1, 10000) AS number;
      ANALYZE edits
      """)

    var areCounted: [Bool] = []
    for maximum in [9_999, 10_001, 15_000] {
      let room = EditStatements.hasRoom(for: nil, "1", maximum: "\(maximum)")
      let explain = Statement("explain", planning: .eachTime, "EXPLAIN (ANALYZE, COSTS OFF) SELECT \(room)")
      let plan = try await store.read(explain, Parameters()).rows.map { try $0.text(0) }.joined(separator: "\n")
      areCounted.append(!plan.contains("Aggregate (never executed)"))
    }

    #expect(areCounted == [true, true, false])
  }

  /// A connection of imports is a new one each time.
  @Test func writeAsTheSourceTakesAConnectionOfImportsOnlyForAPlaceWithEdits() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1)
    try await store.importRows([try row("base"), try row("base", 2)])
    try await database.run(
      """
      CREATE TABLE writers (pid integer);
      CREATE FUNCTION note_writer() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN INSERT INTO writers VALUES (pg_backend_pid()); RETURN NULL; END';
      CREATE TRIGGER note_writer AFTER UPDATE ON points FOR EACH STATEMENT EXECUTE FUNCTION note_writer()
      """)
    let countOfWriters = "SELECT count(DISTINCT pid) FROM writers"

    _ = try await store.put(try row("edited").draft, id: .sample(1), if: .none)
    for name in ["a", "b", "c"] {
      _ = try await store.put(try row(name, 2).draft, id: .sample(2), if: .none, as: .source)
    }
    let before = try await database.run(countOfWriters)
    let merged = try await store.put(try row("base", category: "new").draft, id: .sample(1), if: .none, as: .source)
    let after = try await database.run(countOfWriters)

    #expect(before == "1")
    #expect(after == "2")
    #expect(merged.point.draft.name == "edited" && merged.point.draft.category == "new")
  }

  /// The import has taken the edit for one that returned to the value of its source, and has forgotten it.
  @Test(arguments: [false, true]) func editOfAPlaceWhoseEditAnImportForgetsMeanwhileIsNoted(isBatch: Bool) async throws
  {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    _ = try await store.put(try row("edited").draft, id: .sample(1), if: .none)
    let other = try await database.session()
    try await other.run(
      script: """
        BEGIN; SELECT FROM points WHERE id = '\(PointID.sample(1))' FOR UPDATE;
        DELETE FROM edits WHERE id = '\(PointID.sample(1))'
        """)
    let draft = try row("base").draft
    async let write: Void = {
      if isBatch {
        _ = try await store.apply(PointBatch([.put(draft, id: .sample(1), if: .none)]))
      } else {
        _ = try await store.put(draft, id: .sample(1), if: .none)
      }
    }()
    while try await database.run(Self.waiting) == "0" {}

    try await other.run(script: "COMMIT")
    try await write

    #expect(try await database.run("SELECT field, base FROM edits") == "name|edited")
    #expect(try await store.point(id: .sample(1))?.draft.name == "base")
    await other.close()
  }

  /// A repeated merge would change the other place twice.
  @Test func importTakesOverPlacesThatAreChangedMeanwhileWithoutEdits() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run(
      """
      \(Self.importsWait);
      CREATE SEQUENCE changed_rows;
      CREATE FUNCTION count_row() RETURNS trigger LANGUAGE plpgsql AS
        'BEGIN
          IF to_regclass(''pg_temp.import_rows'') IS NOT NULL THEN PERFORM nextval(''changed_rows''); END IF;
          RETURN NULL;
        END';
      CREATE TRIGGER count_row AFTER UPDATE ON points FOR EACH ROW EXECUTE FUNCTION count_row()
      """)
    let other = try await database.session()
    try await other.run(script: "BEGIN")
    try await other.run("SELECT pg_advisory_xact_lock(42)")
    let rows = [try row("imported", 1), try row("imported", 2)]
    async let importing = store.importRows(rows)
    while try await database.run(Self.waiting) == "0" {}

    try await database.run(
      """
      UPDATE points SET name = 'by another program', version = nextval('point_versions')
      WHERE id = '\(PointID.sample(1))'
      """)
    try await other.run(script: "COMMIT")
    let report = try await importing

    #expect(report.updated == 2)
    #expect(try await store.allPoints().map(\.draft.name) == ["imported", "imported", "base"])
    #expect(try await database.run("SELECT last_value FROM changed_rows") == "2")
    await other.close()
  }

  @Test func dryRunDoesNotWaitForLockedPlaces() async throws {
    let database = try await TemporaryDatabase.make()
    try await database.run("ALTER DATABASE \(database.name) SET lock_timeout = '20s'")
    let store = try await store(database)
    _ = try await store.put(try row("edited").draft, id: .sample(1), if: .none)
    let other = try await database.session()
    try await other.run(script: "BEGIN; SELECT FROM points FOR UPDATE")
    var options = ImportOptions()
    options.dryRun = true
    options.assumeEditedSince = Timestamp(microsecondsSinceEpoch: 0)

    let rows = [try row("new", 1), try row("new", 2)]
    let report = try await store.importRows(rows.inOneBatch, options: options)

    #expect(report.keptEdits == 2 && report.conflicts == 1)
    await other.close()
  }

  @Test func importForgetsEditsOfIDsThatItCreates() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    for number in 1...2 {
      _ = try await store.put(try row("edited", number).draft, id: .sample(UInt64(number)), if: .none)
    }
    try await database.run("DELETE FROM points WHERE id = '\(PointID.sample(1))'")

    let report = try await store.importRows([try row("base", 1), try row("base", 2)])

    #expect(report.created == 1 && report.keptEdits == 1)
    #expect(try await store.edits(matching: EditQuery(limit: 10)).places.map(\.id) == [.sample(2)])
    #expect(try await store.importRows([try row("new", 1)]).updated == 1)
    #expect(try await store.point(id: .sample(1))?.draft.name == "new")
  }

  @Test func tagsThatAreTooManyAreNotTakenForEdits() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run(
      """
      UPDATE points
      SET name = 'mine', tags = (
        SELECT json_object_agg('key ' || number, 'value') FROM generate_series(0, \(Tags.maximumCount)) AS number)
      WHERE id = '\(PointID.sample(1))'
      """)
    var options = ImportOptions()
    options.assumeEditedSince = Timestamp(microsecondsSinceEpoch: 0)

    let report = try await store.importRows([try row("base")].inOneBatch, options: options)

    let point = try await store.point(id: .sample(1))
    #expect(report.keptEdits == 1)
    #expect(try await store.edits(of: .sample(1))?.edits.map(\.field) == [.name])
    #expect(point?.draft.name == "mine" && point?.draft.tags == Tags.none)
  }

  @Test(arguments: [#"{"a":"\u0000"}"#, #"{"a":"\\\ud800"}"#, #"{"a":1e999999}"#, #"{"a":"\udc00\ud800"}"#])
  func tagsThatAreNoTextsAreNone(tags: String) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run("UPDATE points SET tags = '\(tags)'")

    _ = try await store.put(try row("base", tags: ["k": "v"]).draft, id: .sample(1), if: .none)
    #expect(try await database.run("SELECT field, base IS NULL FROM edits") == "tags.k|t")
    let draft = try row("base", 2, tags: ["k": "v"]).draft
    _ = try await store.apply(PointBatch([.put(draft, id: .sample(2), if: .none)]))
    try await database.run("UPDATE points SET tags = '\(tags)' WHERE id = '\(PointID.sample(1))'")
    let report = try await store.importRows([try row("new", 1), try row("new", 2)])

    #expect(report.updated == 2)
    #expect(try await store.point(id: .sample(2))?.draft.tags == Tags(["k": "v"]))
  }

  @Test func textsOfPairsOfSurrogatesAndOfBackslashesAreBases() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    try await database.run(##"UPDATE points SET tags = '{"a":"\ud83d\ude00","b":"\\u0000"}'"##)

    _ = try await store.put(try row("base").draft, id: .sample(1), if: .none)

    let bases = try await store.edits(of: .sample(1))?.edits.map(\.base)
    #expect(bases == [.text(ExactText("😀")), .text(ExactText(#"\u0000"#))])
  }

  @Test func placeWithEditedTagsAndControlCharactersInKeysIsUnchanged() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    func row(_ value: String) throws -> ImportRow {
      try self.row("base", tags: ["\u{8}\\b\u{8}\u{C}": "1", #"\f"#: "2", "k": value])
    }
    try await store.importRows([try row("base")])
    _ = try await store.put(try row("edited").draft, id: .sample(1), if: .none)

    let report = try await store.importRows([try row("base")])

    #expect(report.keptEdits == 1 && report.unchanged == 1)
  }

  @Test func importOfRowsThatAreAllLeftOutIsRecorded() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    for number in 1...3 as ClosedRange<UInt64> { try await store.delete(id: .sample(number), if: .none) }
    try await database.run("UPDATE source_imports SET imported_at = now() - interval '2 days'")

    let report = try await store.importRows((1...3).map { try row("base", $0) })

    #expect(report.keptEdits == 3)
    #expect(try await database.run("SELECT imported_at > now() - interval '1 day' FROM source_imports") == "t")
  }

  @Test func damagedRowsAreLeftOut() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await store(database)
    _ = try await store.put(try row("edited").draft, id: .sample(1), if: .none)
    try await database.run(
      """
      INSERT INTO edits (id, field, source, source_id, since)
      VALUES ('\(PointID.sample(1))', 'no field', 's', '1', now()), ('\(PointID.sample(2))', 'name', 's', '2', now())
      """)

    let page = try await store.edits(matching: EditQuery(source: nil, limit: 10))
    try await store.importRows([try row("base"), try row("new", 2)])

    #expect(page.places.map(\.id) == [.sample(1)])
    #expect(page.places.first?.edits.map(\.field) == [.name])
    #expect(try await store.point(id: .sample(1))?.draft.name == "edited")
  }
}
