import Foundation
import Logging
import PointIndex
import Points
import PostgresStore
import PostgresTestSupport
import Synchronization
import TestSupport
import Testing

@testable import IndexedStore

/// Indexes that continue from their files.
@Suite struct KeptIndexTests {
  /// A database on a server of its own, and a folder for the files of an index.
  private final class Fixture: Sendable {
    let server: TemporaryServer
    let database: TemporaryDatabase
    let folder = "\(NSTemporaryDirectory())/kept-\(UUID().uuidString)"

    init() async throws {
      server = try await TemporaryServer.start()
      database = try await server.makeDatabase()
      await (try await database.migratedStore()).shutDown()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func insert(_ names: String...) async throws {
      for name in names {
        try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, '\(name)')")
      }
    }
  }

  private func names(_ store: IndexedStore) async throws -> [String] {
    try await store.page(matching: PointQuery(limit: 1000)).points.map(\.point.draft.name).sorted()
  }

  /// Calls a body with a store whose index is kept in the fixture's files.
  private func withStore(
    _ fixture: Fixture, _ body: (IndexedStore, IndexFollower, IndexFiles) async throws -> Void
  ) async throws {
    try await RunningIndexes.with { indexes in
      let files = try IndexFiles(folder: fixture.folder)
      let postgres = try await fixture.database.migratedStore()
      let index = try indexes.start(over: postgres, files: files)
      try await index.waitUntilFollowing()
      try await body(IndexedStore(postgres, index: index), index, files)
      await postgres.shutDown()
    }
  }

  /// Waits until the files have what the index has.
  private func save(_ index: IndexFollower, _ files: IndexFiles) async throws {
    for _ in 0..<12_000 {
      // The task of the index writes too.
      if try await !index.save(to: files) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the index changes all the time")
  }

  @Test func startContinuesFromTheFiles() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A", "B", "C")
    try await withStore(fixture) { store, index, files in
      try await save(index, files)
      #expect(index.status.builds == 1)
    }
    try await fixture.database.run(
      "DELETE FROM points WHERE name = 'A'; UPDATE points SET name = 'B2' WHERE name = 'B'")
    try await fixture.insert("D")

    try await withStore(fixture) { store, index, _ in
      let present = try await names(store)
      #expect(present == ["B2", "C", "D"])
      #expect(index.status.builds == 0 && index.status.loads == 1)
      #expect(store.databaseReads == 0)
    }
  }

  @Test(arguments: [TemporaryServer.StopMode.fast, .immediate])
  func restartOfTheServerCostsNoBuild(_ mode: TemporaryServer.StopMode) async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A", "B")
    try await withStore(fixture) { store, index, files in
      try await save(index, files)
      // These are in the index, but in no files.
      try await fixture.insert("C")
      try await fixture.database.run("DELETE FROM points WHERE name = 'A'")
      #expect(try await names(store) == ["B", "C"])

      try await fixture.server.stop(mode)
      try await fixture.server.start()
      try await index.wait { $0.loads == 1 && $0.phase == .following }

      #expect(try await names(store) == ["B", "C"])
      try await fixture.insert("D")
      #expect(try await names(store) == ["B", "C", "D"])
      #expect(index.status.builds == 1)
    }
  }

  @Test func commitsThatACrashHasLostAreNotInTheIndex() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A")
    try await withStore(fixture) { store, index, files in
      try await save(index, files)
      // The commits are acknowledged and visible before they are on disk.
      for statement in [
        "ALTER SYSTEM SET wal_writer_delay = '10s'", "ALTER SYSTEM SET wal_writer_flush_after = 0",
        "SELECT pg_reload_conf()",
      ] { try await fixture.database.run(statement) }
      let session = try await fixture.database.openSession()
      try await session.run("SET synchronous_commit = off; SET waymark.notifies = off")
      for name in ["lost 1", "lost 2", "lost 3"] {
        try await session.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, '\(name)')")
      }
      #expect(try await names(store).count == 4)

      try await fixture.server.stop(.immediate)
      try await fixture.server.start()
      try await index.wait { $0.loads == 1 && $0.phase == .following }

      let statement = "SELECT string_agg(name, ' ' ORDER BY name COLLATE \"C\") FROM points"
      #expect(try await names(store).joined(separator: " ") == fixture.database.run(statement))
      // The transaction numbers of lost commits are given out again.
      try await fixture.insert("B", "D", "E", "F")
      #expect(try await names(store).joined(separator: " ") == fixture.database.run(statement))
      #expect(index.status.builds == 1)
    }
  }

  @Test func positionBeforeARestartGetsNoAnchorAfterIt() async throws {
    let fixture = try await Fixture()
    let postgres = try await fixture.database.migratedStore()
    let feed = try ChangeFeed(postgres)
    let position = try await feed.currentPosition()
    let anchor = try #require(try await feed.anchor(position, removing: []))

    try await fixture.server.stop(.immediate)
    try await fixture.server.start()
    // The first statement may meet the connection of the former server.
    _ = try? await feed.currentPosition()

    #expect(try await feed.anchor(position, removing: []) == nil)
    #expect(try await feed.position(of: anchor) != nil)
    await postgres.shutDown()
  }

  @Test func databaseWithoutTheAnchorHasTheIndexBuilt() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A")
    try await withStore(fixture) { _, index, files in try await save(index, files) }
    // As after a backup from before the anchor was restored.
    try await fixture.database.run("DELETE FROM index_anchors; UPDATE points SET name = 'B'; DELETE FROM changes")

    try await withStore(fixture) { store, index, _ in
      let present = try await names(store)
      #expect(present == ["B"])
      #expect(index.status.builds == 1 && index.status.loads == 0)
    }
  }

  @Test func anchorOfAnotherDatabaseHasTheIndexBuilt() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A")
    try await withStore(fixture) { _, index, files in try await save(index, files) }
    let copy = try await fixture.server.makeDatabase()
    try await fixture.database.copy(to: copy)
    try await copy.run("UPDATE points SET name = 'B'; DELETE FROM changes")

    try await RunningIndexes.with { indexes in
      let postgres = try await copy.migratedStore()
      let index = try indexes.start(over: postgres, files: try IndexFiles(folder: fixture.folder))
      try await index.waitUntilFollowing()

      #expect(try await names(IndexedStore(postgres, index: index)) == ["B"])
      #expect(index.status.builds == 1 && index.status.loads == 0)
    }
  }

  @Test func prunedLogHasTheIndexBuilt() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A")
    try await withStore(fixture) { _, index, files in try await save(index, files) }
    try await fixture.insert("B")
    try await fixture.database.run("DELETE FROM changes")

    try await withStore(fixture) { store, index, _ in
      let present = try await names(store)
      #expect(present == ["A", "B"])
      #expect(index.status.builds == 1 && index.status.loads == 0)
    }
  }

  @Test func damagedFilesHaveTheIndexBuilt() async throws {
    let fixture = try await Fixture()
    try await fixture.insert("A")
    try await withStore(fixture) { _, index, files in try await save(index, files) }
    try Data("damaged".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder)/manifest"))

    try await withStore(fixture) { store, index, files in
      #expect(try await names(store) == ["A"])
      #expect(index.status.builds == 1 && index.status.loads == 0)
      try await save(index, files)
    }
    try await withStore(fixture) { _, index, _ in #expect(index.status.loads == 1) }
  }

  @Test func anchorsOfFailedWritesAreRemoved() async throws {
    let fixture = try await Fixture()
    try await withStore(fixture) { store, index, files in
      try await save(index, files)
      // The name of the manifest's next version is taken by a folder.
      let obstacle = "\(fixture.folder)/manifest.new"
      try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: false)
      for name in ["A", "B", "C", "D"] {
        try await fixture.insert(name)
        _ = try await names(store)
        await #expect(throws: IndexFileError.self) { try await save(index, files) }
      }
      #expect(try await fixture.database.run("SELECT count(*) FROM index_anchors") == "2")

      try FileManager.default.removeItem(atPath: obstacle)
      try await save(index, files)

      #expect(try await fixture.database.run("SELECT count(*) FROM index_anchors") == "2")
    }
    try await withStore(fixture) { _, index, _ in #expect(index.status.loads == 1) }
  }

  @Test func anIndexThatIsLostSoonContinuesAfterADelay() async throws {
    let fixture = try await Fixture()
    let postgres = try await fixture.database.migratedStore()
    let files = try IndexFiles(folder: fixture.folder)
    let delays = Mutex(0)
    let index = IndexFollower(
      try ChangeFeed(postgres), files: files, pause: { _ in delays.withLock { $0 += 1 } },
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    try await index.waitUntilFollowing()
    try await save(index, files)

    for restart in 1...2 {
      try await fixture.server.stop(.fast)
      try await fixture.server.start()
      try await index.wait { $0.loads == restart && $0.phase == .following }
    }
    task.cancel()
    await task.value
    await postgres.shutDown()

    #expect(delays.withLock { $0 } == 2)
  }

  @Test(arguments: [(1, "A B"), (90, "A B C")])
  func anchorsAreKeptForAsLongAsChangesAndThirtyDaysAtLeast(retentionDays: Int, kept: String) async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()
    let feed = try ChangeFeed(postgres, changesKeptFor: .seconds(86_400 * retentionDays))
    let position = try await feed.currentPosition()
    try await database.run(
      """
      INSERT INTO index_anchors (id, created_at)
      SELECT id, now() - days * interval '1 day' FROM (VALUES ('A', 0), ('B', 29), ('C', 89), ('D', 91)) AS old (id, days)
      """)

    let anchor = try await feed.anchor(position, removing: [])

    #expect(anchor != nil)
    #expect(
      try await database.run("SELECT string_agg(id, ' ' ORDER BY id) FROM index_anchors WHERE length(id) = 1") == kept)
    await postgres.shutDown()
  }

  @Test func formerAnchorsAreRemoved() async throws {
    let fixture = try await Fixture()
    try await withStore(fixture) { store, index, files in
      for name in ["A", "B", "C", "D"] {
        try await fixture.insert(name)
        _ = try await names(store)
        try await save(index, files)
      }
      #expect(try await fixture.database.run("SELECT count(*) FROM index_anchors") == "2")
    }
  }
}
