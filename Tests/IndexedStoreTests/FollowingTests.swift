import Foundation
import Geo
import IndexedStore
import Points
import PostgresStore
import PostgresTestSupport
import Testing

/// Writes by SQL sessions, and what strict reads from the index then return.
@Suite struct FollowingTests {
  private static let everywhere = PointQuery(limit: 1000)

  private static func insertion(_ name: String, id: String = "gen_random_uuid()") -> String {
    "INSERT INTO points (id, lat, long, name) VALUES (\(id), 1, 2, '\(name)')"
  }

  private func names(_ store: IndexedStore) async throws -> [String] {
    try await store.page(matching: Self.everywhere).points.map(\.point.draft.name).sorted()
  }

  /// Runs a body with a store whose index follows a database.
  private func withStore(
    _ body: (IndexedStore, IndexFollower, TemporaryDatabase) async throws -> Void
  ) async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make()
      let (store, index) = try await indexes.store(over: try await database.migratedStore())
      try await body(store, index, database)
      // The reads were from the index.
      #expect(store.indexReads > 0)
    }
  }

  @Test func statementsByHandAreSeenByTheNextRead() async throws {
    try await withStore { store, _, database in
      try await database.run(Self.insertion("A") + ";" + Self.insertion("B"))
      #expect(try await names(store) == ["A", "B"])

      try await database.run("UPDATE points SET name = 'C' WHERE name = 'A'")
      #expect(try await names(store) == ["B", "C"])

      try await database.run("DELETE FROM points WHERE name = 'B'")
      #expect(try await names(store) == ["C"])

      #expect(store.databaseReads == 0)
    }
  }

  @Test func updateByHandRenewsTheVersionAndTheTime() async throws {
    try await withStore { store, _, database in
      let place = try await store.create(.init(name: "A", coordinate: .init(latitude: 1, longitude: 2)), once: nil)

      try await database.run("UPDATE points SET name = 'B'")

      let changed = try #require(try await store.point(id: place.id))
      #expect(changed.draft.name == "B")
      #expect(changed.version > place.version)
      #expect(changed.updatedAt > place.updatedAt)
    }
  }

  @Test func changedIDLeavesNoPlaceUnderTheFormerOne() async throws {
    try await withStore { store, _, database in
      let place = try await store.create(.init(name: "A", coordinate: .init(latitude: 1, longitude: 2)), once: nil)
      #expect(try await names(store) == ["A"])

      try await database.run("UPDATE points SET id = gen_random_uuid()")

      #expect(try await names(store) == ["A"])
      #expect(try await store.point(id: place.id) == nil)
    }
  }

  @Test func transactionsThatCommitOutOfOrderAreSeenWhenTheyCommit() async throws {
    try await withStore { store, _, database in
      let first = try await database.openSession()
      try await first.run("BEGIN; \(Self.insertion("first"))")
      let second = try await database.openSession()
      try await second.run("BEGIN; \(Self.insertion("second"))")
      #expect(try await names(store).isEmpty)

      try await second.run("COMMIT")
      #expect(try await names(store) == ["second"])
      try await database.run(Self.insertion("third"))
      #expect(try await names(store) == ["second", "third"])

      try await first.run("COMMIT")
      #expect(try await names(store) == ["first", "second", "third"])
      #expect(store.databaseReads == 0)
      await first.close()
      await second.close()
    }
  }

  @Test func rolledBackChangesAreNeverSeen() async throws {
    try await withStore { store, _, database in
      try await database.run(
        """
        BEGIN; \(Self.insertion("A")); SAVEPOINT s; \(Self.insertion("B")); ROLLBACK TO SAVEPOINT s;
        \(Self.insertion("C")); COMMIT; BEGIN; \(Self.insertion("D")); ROLLBACK
        """)

      #expect(try await names(store) == ["A", "C"])
    }
  }

  @Test func truncationIsFollowedByANewIndex() async throws {
    try await withStore { store, index, database in
      try await database.run(Self.insertion("A"))
      #expect(try await names(store) == ["A"])

      try await database.run("TRUNCATE points; \(Self.insertion("B"))")

      #expect(try await names(store) == ["B"])
      try await index.waitUntilFollowing(builds: 2)
      #expect(try await names(store) == ["B"])
    }
  }

  @Test func manyChangesAreCaughtUpWithAtOnce() async throws {
    try await withStore { store, index, database in
      try await database.run(
        """
        INSERT INTO points (id, lat, long, name)
        SELECT gen_random_uuid(), i % 90, i % 180, 'place ' || i FROM generate_series(1, 20000) AS i
        """)

      let counts = try await store.categoryCounts(in: nil)
      #expect(counts.isEmpty)
      try await index.wait { $0.phase == .following && $0.points == 20_000 }
      try await database.run("DELETE FROM points WHERE name <> 'place 7'")
      try await index.wait { $0.phase == .following && $0.points == 1 }
      #expect(try await names(store) == ["place 7"])
      #expect(index.status.builds == 1)
    }
  }

  @Test func changeOfMostPlacesIsFollowedByANewIndex() async throws {
    try await withStore { store, index, database in
      try await database.run(
        """
        INSERT INTO points (id, lat, long, name)
        SELECT gen_random_uuid(), i % 90, i % 180, 'place ' || i FROM generate_series(1, 20001) AS i
        """)

      try await index.wait { $0.phase == .following && $0.points == 20_001 }
      #expect(index.status.builds == 2)
      try await database.run("DELETE FROM points WHERE name <> 'place 7'")
      try await index.wait { $0.phase == .following && $0.points == 1 }
      #expect(try await names(store) == ["place 7"])
      #expect(index.status.builds == 2)
    }
  }

  @Test func prunedLogIsFollowedByANewIndex() async throws {
    try await withStore { store, index, database in
      #expect(try await names(store).isEmpty)
      // The index does not see these before they are pruned.
      try await database.run(
        "BEGIN; \(Self.insertion("A")); COMMIT; DELETE FROM changes; \(Self.insertion("B"))")

      #expect(try await names(store) == ["A", "B"])
      try await index.waitUntilFollowing()
      #expect(try await names(store) == ["A", "B"])
    }
  }

  @Test func placesThatDoNotFitAreReadFromTheDatabase() async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make()
      let postgres = try await database.migratedStore()
      try await database.run(Self.insertion("A") + "; ANALYZE points")
      let index = try indexes.start(over: postgres, memoryLimit: 100)
      let store = IndexedStore(postgres, index: index)

      try await index.wait { $0.phase == .tooLarge }

      #expect(try await names(store) == ["A"])
      #expect(store.databaseReads == 1)
    }
  }

  @Test func writesOfManySessionsAreSeenOnceTheyAreAcknowledged() async throws {
    try await withStore { store, _, database in
      try await withThrowingTaskGroup { group in
        for writer in 0..<4 {
          group.addTask {
            let session = try await database.openSession()
            for number in 0..<50 {
              let id = "00000000-0000-7000-8000-\(String(format: "%012d", writer * 1000 + number))"
              let pointID = try #require(PointID(id))
              // A transaction with a savepoint that stays open while others commit.
              try await session.run(
                "BEGIN; SAVEPOINT s; \(Self.insertion("w\(writer)", id: "'\(id)'")); RELEASE SAVEPOINT s")
              #expect(try await store.point(id: pointID) == nil)
              try await session.run("COMMIT")
              #expect(try await store.point(id: pointID)?.draft.name == "w\(writer)")
              if number.isMultiple(of: 3) {
                try await session.run("DELETE FROM points WHERE id = '\(id)'")
                #expect(try await store.point(id: pointID) == nil)
              }
            }
            await session.close()
          }
        }
        try await group.waitForAll()
      }
      #expect(try await store.page(matching: Self.everywhere).points.count == 4 * 33)
    }
  }
}

extension FollowingTests {
  @Test func pruningLosesNoIndexThatFollows() async throws {
    // Transactions of other tests would keep the entries from being pruned.
    let database = try await TemporaryServer.start().makeDatabase()
    try await RunningIndexes.with { indexes in
      let postgres = try await database.migratedStore()
      let (store, index) = try await indexes.store(over: postgres)
      let distantFuture = Timestamp(microsecondsSinceEpoch: 1 << 52)
      try await database.run(Self.insertion("A"))

      // Entries of transactions that had ended at the newest anchor are deleted. The index is read before that, as it
      // follows the database in the time between them.
      try await ChangeFeed(postgres).keepAnchored()
      let anchor = """
        INSERT INTO change_anchors (life, origin, snapshot)
        SELECT life, origin, pg_current_snapshot() FROM change_anchors LIMIT 1
        """
      #expect(try await names(store) == ["A"])
      try await database.run(anchor)
      _ = try await postgres.pruneChanges(before: distantFuture)
      #expect(try await database.run("SELECT count(*) FROM changes") == "0")
      #expect(try await names(store) == ["A"])
      let session = try await database.openSession()
      try await session.run("BEGIN; \(Self.insertion("B"))")
      try await database.run(anchor)
      #expect(try await names(store) == ["A"])
      _ = try await postgres.pruneChanges(before: distantFuture)
      try await session.run("COMMIT")
      await session.close()

      #expect(try await names(store) == ["A", "B"])
      #expect(try await database.run("SELECT count(*) FROM changes") == "1")
      #expect(index.status.builds == 1)
    }
  }

  @Test(arguments: ["COMMIT", "PREPARE TRANSACTION 'held'"])
  func deletedEntriesBesideAnOpenTransactionLoseNoIndex(_ end: String) async throws {
    let database = try await TemporaryServer.start().makeDatabase()
    try await RunningIndexes.with { indexes in
      let (store, index) = try await indexes.store(over: try await database.migratedStore())
      let session = try await database.openSession()
      try await session.run("SET waymark.notifies = off")
      try await session.run("BEGIN; \(Self.insertion("held"))")
      if end != "COMMIT" { try await session.run(end) }

      for name in ["A", "B", "C"] {
        try await database.run(Self.insertion(name))
        #expect(try await names(store).last == name)
        try await database.run("DELETE FROM changes")
        #expect(try await names(store).last == name)
      }
      try await session.run(end == "COMMIT" ? end : "COMMIT PREPARED 'held'")
      await session.close()

      #expect(try await names(store) == ["A", "B", "C", "held"])
      #expect(index.status.builds == 1)
      #expect(store.databaseReads == 0)
    }
  }
}
