import Points
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing

/// The positions of the change log of PostgreSQL: none hides a change, whatever happens to the server.
@Suite(.serialized) struct ChangePositionTests {
  private static func insertion(_ name: String) -> String {
    "INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, '\(name)')"
  }

  private func names(_ feed: ChangeFeed, after position: String, limit: Int = 1000) async throws -> [String] {
    try await feed.all(after: position, limit: limit).changes.map { change in
      if case .put(let point) = change { point.draft.name } else { "removal" }
    }
  }

  private func withFeed(
    on server: TemporaryServer? = nil, _ body: (ChangeFeed, PostgresStore, TemporaryDatabase) async throws -> Void
  ) async throws {
    let database = if let server { try await server.makeDatabase() } else { try await TemporaryDatabase.make() }
    let store = try await database.migratedStore()
    try await body(try ChangeFeed(store), store, database)
    await store.shutDown()
  }

  private func expectExpired(_ feed: ChangeFeed, _ position: String) async {
    let error = await #expect(throws: ChangeReadError.self) { try await feed.page(after: position, limit: 10) }
    guard case .expired = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
  }

  // MARK: Texts

  @Test(arguments: ["", "0", "0.0.0", "1.0.1", "1.2.1", "1.1.18446744073709551616", "1.1.1.1-", "1.1.1-1.1-1.1"])
  func textThatIsNoPositionIsNoFailureOfTheStore(_ text: String) async throws {
    try await withFeed { feed, _, _ in
      let error = await #expect(throws: ChangeReadError.self) { try await feed.page(after: text, limit: 10) }
      // It may be a position of another store.
      switch error {
      case .malformed, .expired: break
      default: Issue.record("the error is \(String(describing: error))")
      }
    }
  }

  // MARK: Lives of the server

  @Test(arguments: [TemporaryServer.StopMode.fast, .immediate])
  func positionIsValidAfterARestart(_ mode: TemporaryServer.StopMode) async throws {
    let server = try await TemporaryServer.start()
    try await withFeed(on: server) { feed, _, database in
      let first = try await feed.presentPosition()
      try await database.run(Self.insertion("A"))
      let second = try await feed.presentPosition()
      try await database.run("UPDATE points SET name = 'A2'; \(Self.insertion("B"))")

      try await server.stop(mode)
      try await server.start()
      try await database.run(Self.insertion("C"))

      #expect(try await names(feed, after: first).sorted() == ["A2", "B", "C"])
      // It is later than the anchor, so that more may come, and all of what it lacks.
      #expect(Set(try await names(feed, after: second)).isSuperset(of: ["A2", "B", "C"]))
      let third = try await feed.presentPosition()
      #expect(try await names(feed, after: third) == [])

      try await server.kill()
      try await server.start()
      #expect(Set(try await names(feed, after: third)).isSubset(of: ["A2", "B", "C"]))
      #expect(try await names(feed, after: first).sorted() == ["A2", "B", "C"])
    }
  }

  @Test func positionInsideADifferenceIsValidOnAnotherInstanceAndAfterARestart() async throws {
    let server = try await TemporaryServer.start()
    try await withFeed(on: server) { feed, _, database in
      let start = try await feed.presentPosition()
      try await database.run(
        "INSERT INTO points (id, lat, long, name) SELECT gen_random_uuid(), 1, 2, i::text FROM generate_series(1, 50) AS i"
      )
      let page = try await feed.page(after: start, limit: 20)
      let other = try await database.migratedStore()
      let rest = try await ChangeFeed(other).all(after: page.position, limit: 7).changes
      #expect(page.changes.count == 20 && rest.count == 30)
      #expect(Set((page.changes + rest).map(\.id)).count == 50)

      try await database.run("UPDATE points SET name = 'changed'")
      try await server.stop(.fast)
      try await server.start()

      let later = try await feed.all(after: page.position, limit: 1000).changes
      #expect(Set(later.map(\.id)).count == 50)
      await other.shutDown()
    }
  }

  @Test func positionIsValidAfterThePromotionOfAStandby() async throws {
    let primary = try await TemporaryServer.start()
    try await withFeed(on: primary) { feed, store, database in
      let position = try await feed.presentPosition()
      try await database.run(Self.insertion("A"))
      try await database.run("UPDATE points SET name = 'A2'")
      let standby = try await primary.startStandby()
      try await primary.waitUntilFollowed(by: standby)
      try await primary.stop(.immediate)
      try await standby.promote()

      let promoted = try await database.onStandby(standby).migratedStore()
      let other = try ChangeFeed(promoted)
      try await database.onStandby(standby).run(Self.insertion("B"))

      #expect(try await names(other, after: position).sorted() == ["A2", "B"])
      await promoted.shutDown()
    }
  }

  @Test func positionWithoutAnAnchorIsExpiredAfterARestart() async throws {
    let server = try await TemporaryServer.start()
    try await withFeed(on: server) { feed, _, database in
      let position = try await feed.presentPosition()
      try await database.run("DELETE FROM change_anchors")
      #expect(try await names(feed, after: position) == [])

      try await server.stop(.fast)
      try await server.start()

      await expectExpired(feed, position)
      #expect(try await names(feed, after: try await feed.presentPosition()) == [])
    }
  }

  @Test func positionOfAnotherDatabaseIsExpired() async throws {
    try await withFeed { feed, _, _ in
      try await withFeed { other, _, _ in await expectExpired(feed, try await other.presentPosition()) }
    }
  }

  @Test func anchorsAreWrittenWhileSomethingChangesAndOneIsKeptForEachHour() async throws {
    try await withFeed { feed, _, database in
      _ = try await feed.presentPosition()
      try await feed.keepAnchored()
      #expect(try await database.run("SELECT count(*) FROM change_anchors") == "1")

      try await database.run(Self.insertion("A"))
      try await database.run("UPDATE change_anchors SET time = time - interval '11 seconds'")
      let former = try await database.run("SELECT snapshot FROM change_anchors")
      try await feed.keepAnchored()
      #expect(try await database.run("SELECT max(snapshot::text) = '\(former)' FROM change_anchors") == "f")

      // Nothing has changed since.
      try await database.run("UPDATE change_anchors SET time = time - interval '50 minutes'")
      let count = try await database.run("SELECT count(*) FROM change_anchors")
      try await feed.keepAnchored()
      #expect(try await database.run("SELECT count(*) FROM change_anchors") == count)
      try await database.run("UPDATE change_anchors SET time = time - interval '2 hours'")
      try await feed.keepAnchored()
      #expect(try await database.run("SELECT count(*) > \(count) FROM change_anchors") == "t")
    }
  }

  // MARK: Order

  @Test func transactionThatCommitsLateIsOnALaterPage() async throws {
    try await withFeed { feed, _, database in
      let session = try await database.openSession()
      try await session.run("BEGIN; \(Self.insertion("late"))")
      try await database.run(Self.insertion("A"))
      let before = try await feed.presentPosition()
      try await database.run(Self.insertion("B"))
      let page = try await feed.page(after: before, limit: 1)
      #expect(page.changes.count == 1)

      try await session.run("COMMIT")

      #expect(try await names(feed, after: before).sorted() == ["B", "late"])
      #expect(try await names(feed, after: page.position) == ["late"])
      await session.close()
    }
  }

  @Test(arguments: [1, 7, 1000])
  func placeWithSeveralEntriesComesOnce(limit: Int) async throws {
    try await withFeed { feed, _, database in
      let start = try await feed.presentPosition()
      try await database.run(
        "INSERT INTO points (id, lat, long, name) SELECT gen_random_uuid(), 1, 2, i::text FROM generate_series(1, 30) AS i"
      )
      for _ in 0..<3 { try await database.run("UPDATE points SET name = name || 'x'") }
      try await database.run("DELETE FROM points WHERE name LIKE '1%'")

      let changes = try await feed.all(after: start, limit: limit).changes

      #expect(changes.count == 30 && Set(changes.map(\.id)).count == 30)
      let names = changes.compactMap { if case .put(let point) = $0 { point.draft.name } else { nil } }
      #expect(names.count == 19 && names.allSatisfy { $0.hasSuffix("xxx") })
    }
  }

  @Test func placeThatChangesBetweenTwoPagesComesWithItsLastState() async throws {
    try await withFeed { feed, _, database in
      let start = try await feed.presentPosition()
      for name in ["A", "B"] { try await database.run(Self.insertion(name)) }
      try await database.run("UPDATE points SET name = name || '1' WHERE name = 'A'")
      let first = try await feed.page(after: start, limit: 1)
      try await database.run("UPDATE points SET name = name || '2'")

      let rest = try await names(feed, after: first.position, limit: 1)

      #expect(first.changes.isEmpty && first.hasMore, "the first entry has a later one")
      #expect(rest.contains("A12") && rest.contains("B2") && rest.allSatisfy { $0.hasSuffix("2") })
    }
  }

  @Test func pageEndsBeforeItsTextsAreTooLong() async throws {
    try await withFeed { feed, _, database in
      let start = try await feed.presentPosition()
      try await database.run(
        """
        INSERT INTO points (id, lat, long, name, tags)
        SELECT gen_random_uuid(), 1, 2, i::text, json_build_object('a', repeat('x', 3000000)) FROM generate_series(1, 3) AS i
        """)

      let page = try await feed.page(after: start, limit: 10)

      #expect(page.changes.count == 1 && page.hasMore)
      #expect(try await names(feed, after: page.position, limit: 10).count == 2)
    }
  }

  // MARK: Compaction and retention

  // These have servers of their own: an old transaction of any database, another test's say, delays both.

  @Test func compactionKeepsTheLastEntryOfEachPlaceAndHidesNothing() async throws {
    try await withFeed(on: .start()) { feed, store, database in
      let start = try await feed.presentPosition()
      try await database.run(
        "INSERT INTO points (id, lat, long, name) SELECT gen_random_uuid(), 1, 2, i::text FROM generate_series(1, 100) AS i"
      )
      for _ in 0..<3 { try await database.run("UPDATE points SET name = name || 'x'") }
      try await database.run("DELETE FROM points WHERE name < '2'")
      let middle = try await feed.presentPosition()
      try await database.run("UPDATE points SET name = name || 'y'")
      let position = try await feed.changePosition()

      let count = try await store.compactChanges()

      #expect(try await database.run("SELECT count(*), count(DISTINCT point_id) FROM changes") == "100|100")
      #expect(count > 300)
      #expect(Set(try await feed.all(after: start, limit: 7).changes.map(\.id)).count == 100)
      #expect(
        try await feed.all(after: middle, limit: 7).changes.count
          == Int(try await database.run("SELECT count(*) FROM points")))
      // It is no loss for an index that has not seen the deleted entries.
      #expect(try await database.run("SELECT pruned_by = '0' OR cardinality(recent) = 0 FROM changes_pruned") == "t")
      guard case .changes = try await feed.changes(after: position) else {
        Issue.record("compaction is a loss")
        return
      }
      #expect(try await store.compactChanges() == 0)
    }
  }

  @Test func compactionKeepsAnEntryWhoseLaterOneIsOfAnEarlierTransaction() async throws {
    try await withFeed(on: .start()) { feed, store, database in
      try await database.run(Self.insertion("A"))
      let session = try await database.openSession()
      // It has the lower number, and writes after the other.
      try await session.run("BEGIN; SELECT pg_current_xact_id()")
      let start = try await feed.presentPosition()
      try await database.run("UPDATE points SET name = 'B'")
      let middle = try await feed.presentPosition()
      try await session.run("UPDATE points SET name = 'C'; COMMIT")
      let end = try await feed.presentPosition()
      try await database.advanceTransactions(by: 3)

      _ = try await store.compactChanges()

      #expect(try await names(feed, after: start) == ["C"])
      #expect(try await names(feed, after: middle) == ["C"])
      #expect(try await names(feed, after: end) == [])
      await session.close()
    }
  }

  @Test func entryWithoutALaterOneIsALossWhereItIsDeleted() async throws {
    try await withFeed { feed, _, database in
      let start = try await feed.presentPosition()
      try await database.run(Self.insertion("A"))
      try await database.run("UPDATE points SET name = 'B'")

      try await database.run("DELETE FROM changes WHERE kind = 'created'")
      #expect(try await names(feed, after: start) == ["B"])
      try await database.run("DELETE FROM changes")
      await expectExpired(feed, start)
    }
  }

  @Test func entriesFromBeforeTheRetentionAreDeletedAndTheirPositionsExpire() async throws {
    try await withFeed(on: .start()) { feed, store, database in
      let start = try await feed.presentPosition()
      try await database.run(Self.insertion("A"))
      let middle = try await feed.presentPosition()
      try await database.run("DELETE FROM change_anchors")
      try await feed.keepAnchored()
      try await database.run(
        "UPDATE change_anchors SET time = now() - interval '31 days'; UPDATE changes_pruned SET horizon_time = '2000-01-01'"
      )
      try await database.run(Self.insertion("B"))

      let cutoff = SystemClock().now().microsecondsSinceEpoch - 30 * 86_400 * 1_000_000
      #expect(try await store.pruneChanges(before: Timestamp(microsecondsSinceEpoch: cutoff)) == 1)

      await expectExpired(feed, start)
      #expect(try await names(feed, after: middle) == ["B"])
    }
  }

  @Test(arguments: ["TRUNCATE points", "ALTER TABLE points DISABLE TRIGGER points_log_insert"])
  func changeThatIsNotLoggedExpiresPositions(_ statement: String) async throws {
    try await withFeed { feed, _, database in
      let start = try await feed.presentPosition()
      try await database.run(Self.insertion("A"))
      try await database.run(statement)

      await expectExpired(feed, start)
    }
  }
}

extension ChangeFeed {
  /// Returns the present position as a value.
  fileprivate func changePosition() async throws -> ChangePosition {
    try #require(ChangePosition(text: try await presentPosition()))
  }
}
