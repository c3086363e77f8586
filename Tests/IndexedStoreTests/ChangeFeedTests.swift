import Foundation
import Points
import PostgresStore
import PostgresTestSupport
import Testing

/// The changes that the feed returns after a position. It misses none.
@Suite(.serialized) struct ChangeFeedTests {
  private static func insertion(_ name: String) -> String {
    "INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, '\(name)')"
  }

  /// The changes of an answer: the names of the places, "many" or "lost".
  private func summary(_ answer: ChangeFeed.Answer) -> [String] {
    switch answer {
    case .changes(let puts, let removals, _): puts.map(\.draft.name).sorted() + removals.map { _ in "removal" }
    case .manyChanges: ["many"]
    case .lost: ["lost"]
    }
  }

  private func withFeed(
    on server: TemporaryServer? = nil, _ body: (ChangeFeed, TemporaryDatabase, SQLSession) async throws -> Void
  ) async throws {
    let database = if let server { try await server.makeDatabase() } else { try await TemporaryDatabase.make() }
    let store = try await database.migratedStore()
    let session = try await database.openSession()
    try await body(try ChangeFeed(store), database, session)
    await session.close()
    await store.shutDown()
  }

  // MARK: Pruning

  @Test func deletedEntriesThatThePositionHasAreNoLossBesideAnOpenTransaction() async throws {
    try await withFeed { feed, database, session in
      try await session.run("BEGIN; \(Self.insertion("open"))")
      try await database.run(Self.insertion("A"))
      let position = try await feed.currentPosition()

      try await database.run("DELETE FROM changes")
      #expect(summary(try await feed.changes(after: position)) == [])

      try await database.run(Self.insertion("B"))
      try await session.run("COMMIT")
      #expect(summary(try await feed.changes(after: position)) == ["B", "open"])
    }
  }

  @Test func deletedEntryOfATransactionThatWasInProgressIsALoss() async throws {
    try await withFeed { feed, database, session in
      try await session.run("BEGIN; \(Self.insertion("open"))")
      try await database.run(Self.insertion("A"))
      let position = try await feed.currentPosition()

      try await session.run("COMMIT")
      try await database.run("DELETE FROM changes")

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
      let later = try await feed.currentPosition()
      #expect(summary(try await feed.changes(after: later)) == [])
    }
  }

  @Test(arguments: ["READ COMMITTED", "REPEATABLE READ"])
  func entryDeletedByItsOwnTransactionIsALoss(_ isolation: String) async throws {
    try await withFeed { feed, _, session in
      try await session.run("BEGIN ISOLATION LEVEL \(isolation); \(Self.insertion("A"))")
      let position = try await feed.currentPosition()

      try await session.run("SAVEPOINT s; DELETE FROM changes; COMMIT")

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
    }
  }

  @Test func deletionsCountForTransactionsThatTheyDeletedTheEntriesOf() async throws {
    try await withFeed { feed, database, session in
      // In progress at the position, with a number below those of deleted entries, and its own entry is not deleted.
      try await session.run("BEGIN; \(Self.insertion("A"))")
      try await database.run(Self.insertion("B"))
      let position = try await feed.currentPosition()
      try await session.run("COMMIT")
      try await database.run("DELETE FROM changes WHERE point_id = (SELECT id FROM points WHERE name = 'B')")
      #expect(summary(try await feed.changes(after: position)) == ["A"])

      try await database.run("DELETE FROM changes")
      #expect(summary(try await feed.changes(after: position)) == ["lost"])
    }
  }

  @Test func recordOfDeletionsIsBoundedAndMissesNone() async throws {
    // Beyond the bound, transactions in progress count, and other tests have some on their server.
    try await withFeed(on: try await TemporaryServer.start()) { feed, database, _ in
      let position = try await feed.currentPosition()
      // A number for each entry, as by many transactions.
      try await database.run(
        "INSERT INTO changes (point_id, kind, version) SELECT gen_random_uuid(), 'created', 1 FROM generate_series(1, 9)"
      )
      try await database.advanceTransactions(by: 6000)
      try await database.run(
        """
        INSERT INTO changes (point_id, kind, version, transaction)
        SELECT gen_random_uuid(), 'created', 1, (pg_current_xact_id()::text::int8 - i)::text::xid8
        FROM generate_series(1, 5500) AS i
        """)
      let middle = try await feed.currentPosition()
      try await database.run("DELETE FROM changes")

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
      #expect(summary(try await feed.changes(after: middle)) == [])
      #expect(try await database.run("SELECT cardinality(recent) BETWEEN 4000 AND 5000 FROM changes_pruned") == "t")
    }
  }

  @Test func laterDeletionDoesNotHideTheLossByAnEarlierOne() async throws {
    try await withFeed { feed, database, _ in
      let position = try await feed.currentPosition()
      try await database.run(Self.insertion("A"))
      try await database.run("DELETE FROM changes")
      try await database.run(Self.insertion("B"))
      let middle = try await feed.currentPosition()
      try await database.run("DELETE FROM changes")

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
      #expect(summary(try await feed.changes(after: middle)) == [])
    }
  }

  @Test(arguments: ["DELETE FROM changes_pruned", "TRUNCATE changes_pruned"])
  func removedRecordOfDeletionsIsALoss(_ removal: String) async throws {
    try await withFeed { feed, database, _ in
      let position = try await feed.currentPosition()
      try await database.run("\(Self.insertion("A")); DELETE FROM changes; \(removal)")
      #expect(summary(try await feed.changes(after: position)) == ["lost"])

      // A deletion is recorded without a row, too.
      let later = try await feed.currentPosition()
      try await database.run(Self.insertion("B"))
      try await database.run("DELETE FROM changes")
      #expect(summary(try await feed.changes(after: later)) == ["lost"])
    }
  }

  // MARK: Entries of another server

  @Test func entriesWithNumbersOfAnotherServerCountOnceAtMost() async throws {
    // The numbers of a server of its own are not raised by other tests.
    let database = try await TemporaryServer.start().makeDatabase()
    let store = try await database.migratedStore()
    let feed = try ChangeFeed(store)
    try await database.run(Self.insertion("A"))
    try await database.run(
      """
      INSERT INTO changes (point_id, kind, version, transaction)
      SELECT id, 'updated', version, (pg_current_xact_id()::text::int8 + 500)::text::xid8 FROM points;
      UPDATE changes_pruned
      SET transaction = '4000000000', settled = '4000000000', recent = '{4000000000}', pruned_by = '4000000001',
        horizon = '4000000000', horizon_time = now() - interval '1 day'
      """)
    var position = try await feed.currentPosition()

    #expect(summary(try await feed.changes(after: position)) == [])
    try await database.run(Self.insertion("B"))
    #expect(summary(try await feed.changes(after: position)) == ["B"])

    position = try await feed.currentPosition()
    try await database.advanceTransactions(by: 1000)
    guard case .changes(let puts, _, let next) = try await feed.changes(after: position) else {
      Issue.record("the changes are lost")
      return
    }
    #expect(puts.map(\.draft.name) == ["A"])
    #expect(summary(try await feed.changes(after: next)) == [])

    // A deletion here counts, whatever the greatest number is that was copied.
    try await database.run(Self.insertion("C"))
    try await database.run("DELETE FROM changes")
    #expect(summary(try await feed.changes(after: next)) == ["lost"])
    #expect(summary(try await feed.changes(after: try await feed.currentPosition())) == [])
  }

  @Test func pruningRemovesEntriesOfAnotherServerAndKeepsThoseOfThisOne() async throws {
    let database = try await TemporaryServer.start().makeDatabase()
    let store = try await database.migratedStore()
    let feed = try ChangeFeed(store)
    let position = try await feed.currentPosition()
    try await database.run(Self.insertion("A"))
    try await database.run(
      """
      INSERT INTO changes (point_id, kind, version, transaction) SELECT id, 'updated', version, '4000000000' FROM points;
      UPDATE changes_pruned SET horizon = '4000000000', horizon_time = now() - interval '1 day'
      """)

    let pruned = try await store.pruneChanges(before: Timestamp(microsecondsSinceEpoch: 1 << 52))

    #expect(pruned == 1)
    #expect(summary(try await feed.changes(after: position)) == ["A"])
  }

  // MARK: Changes that no trigger logs

  @Test func changesWithDisabledTriggersAreALossAlsoWhenTheyAreEnabledAgain() async throws {
    try await withFeed { feed, database, _ in
      let position = try await feed.currentPosition()

      try await database.run("ALTER TABLE points DISABLE TRIGGER ALL; \(Self.insertion("A"))")
      #expect(summary(try await feed.changes(after: position)) == ["lost"])
      await #expect(throws: PointStoreError.self) { try await feed.copyPoints { _ in } }

      try await database.run("ALTER TABLE points ENABLE TRIGGER ALL")
      #expect(summary(try await feed.changes(after: position)) == ["lost"])
      #expect(summary(try await feed.changes(after: try await feed.currentPosition())) == [])
    }
  }

  @Test func changesOfATransactionThatDisabledTheTriggersAreALoss() async throws {
    try await withFeed { feed, database, _ in
      let position = try await feed.currentPosition()
      try await database.run(
        "BEGIN; ALTER TABLE points DISABLE TRIGGER ALL; \(Self.insertion("A")); ALTER TABLE points ENABLE TRIGGER ALL; COMMIT"
      )

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
    }
  }

  @Test func rewrittenTableIsALoss() async throws {
    try await withFeed { feed, database, _ in
      try await database.run(Self.insertion("A"))
      let position = try await feed.currentPosition()
      try await database.run("ALTER TABLE points ALTER COLUMN name TYPE text COLLATE \"C\" USING lower(name)")

      #expect(summary(try await feed.changes(after: position)) == ["lost"])
    }
  }

  @Test func rowsByLogicalReplicationAreLogged() async throws {
    try await withFeed { feed, database, session in
      try await database.run(Self.insertion("A"))
      let position = try await feed.currentPosition()
      // As the process that applies the changes does.
      let asReplica = "SET session_replication_role = replica"
      try await session.run("\(asReplica); UPDATE points SET name = 'B'; RESET session_replication_role")
      #expect(summary(try await feed.changes(after: position)) == ["B"])

      // That process fires no triggers of statements.
      try await database.run("DELETE FROM changes; ALTER TABLE points DISABLE TRIGGER points_log_update")
      try await session.run("\(asReplica); UPDATE points SET name = 'C'; RESET session_replication_role")
      #expect(try await database.run("SELECT count(*) FROM changes") == "1")

      // Not twice where an operator has enabled all triggers.
      try await database.run("ALTER TABLE points ENABLE TRIGGER ALL; UPDATE points SET name = 'D'")
      #expect(try await database.run("SELECT count(*) FROM changes") == "2")
    }
  }

  // MARK: Long tags

  private static func tags(bytes: Int) -> String {
    "json_build_object('a', (SELECT string_agg(md5(i::text), '') FROM generate_series(1, \(bytes / 32)) AS i))"
  }

  @Test func placesWithLongTagsAreInTheSameStatement() async throws {
    try await withFeed { feed, database, _ in
      try await database.run(Self.insertion("A"))
      let position = try await feed.currentPosition()
      try await database.run("UPDATE points SET tags = \(Self.tags(bytes: 64_000))")

      guard case .changes(let puts, _, _) = try await feed.changes(after: position) else {
        Issue.record("the changes are not in the statement")
        return
      }
      #expect(puts.map { $0.draft.tags["a"]?.utf8.count } == [64_000])
    }
  }

  @Test(arguments: [
    "repeat('x', 20000000)", "(SELECT string_agg(md5(i::text), '') FROM generate_series(1, 600000) AS i)",
  ])
  func moreTagsThanFitIntoAStatementAreCopied(_ value: String) async throws {
    try await withFeed { feed, database, _ in
      let position = try await feed.currentPosition()
      try await database.run("\(Self.insertion("A")); UPDATE points SET tags = json_build_object('a', \(value))")

      #expect(summary(try await feed.changes(after: position)) == ["many"])
    }
  }
}

extension TemporaryDatabase {
  /// Raises the number of the next transaction.
  func advanceTransactions(by count: Int) async throws {
    try await run("DO 'BEGIN FOR i IN 1..\(count) LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END'")
  }
}
