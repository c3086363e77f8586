import Foundation
import PointIndex
import Points
import PostgresStore
import PostgresTestSupport
import Testing

@testable import IndexedStore

/// The conditions under which an index is built.
@Suite(.serialized) struct BuildingTests {
  /// Inserts places with 23 KB of tags, which PostgreSQL stores in a few hundred bytes outside of the rows.
  private func insertLongTags(_ count: Int, _ database: TemporaryDatabase) async throws {
    try await database.run(
      """
      INSERT INTO points (id, lat, long, name, tags)
      SELECT gen_random_uuid(), 1, 2, 'A', json_build_object('a', repeat(md5(i::text), 720))
      FROM generate_series(1, \(count)) AS i
      """)
  }

  @Test(arguments: [false, true]) func estimateHasTheLengthsOfLongTags(_ isAnalyzed: Bool) async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()
    try await insertLongTags(4000, database)
    if isAnalyzed { try await database.run("ANALYZE points") }

    let size = try await ChangeFeed(postgres).estimatedSize()

    #expect((1000...10_000).contains(size.points), "\(size)")
    let bytes = size.points * 23_000
    #expect((bytes * 8 / 10...bytes * 12 / 10).contains(size.textBytes), "\(size)")
    await postgres.shutDown()
  }

  @Test func estimateOfAnEmptyTableIsAlmostNothing() async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()

    let size = try await ChangeFeed(postgres).estimatedSize()

    #expect(size.points <= 1)
    #expect(size.textBytes <= 100)
    await postgres.shutDown()
  }

  @Test func buildThatExceedsTheLimitStops() async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()
    try await insertLongTags(1000, database)
    try await RunningIndexes.with { indexes in
      let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
      let index = indexes.start(following: feed, memoryLimit: 5_000_000)

      try await index.wait { $0.phase == .tooLarge }

      #expect(index.status.builds == 0)
      let store = IndexedStore(postgres, index: index)
      #expect(try await store.page(matching: PointQuery(limit: 10)).points.count == 10)
      await #expect(throws: PointStoreError.indexRequired) { try await store.snapshot(isRequired: true) }
    }
    await postgres.shutDown()
  }

  @Test func placesThatDoNotFitAtOnceAreBuiltInPiecesInFiles() async throws {
    let server = try await TemporaryServer.start()
    let database = try await server.makeDatabase()
    let postgres = try await database.migratedStore()
    try await database.run(
      """
      INSERT INTO points (id, lat, long, name, source, source_id)
      SELECT gen_random_uuid(), i % 90, i % 180, 'place ' || i, 's', i FROM generate_series(1, 300) AS i
      """)
    let folder = "\(NSTemporaryDirectory())/pieces-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Less than all need, but what searches always read.
    let limit = 310 * PointSnapshot.residentBytesPerPoint

    for loads in 0...1 {
      try await RunningIndexes.with { indexes in
        let files = try IndexFiles(folder: folder)
        let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
        let index = indexes.start(following: feed, memoryLimit: limit, files: files)
        try await index.waitUntilFollowing()
        #expect(index.status.builds == 1 - loads && index.status.loads == loads)

        let store = IndexedStore(postgres, index: index)
        let names = try await store.page(matching: PointQuery(limit: 1000)).points.map(\.point.draft.name)
        #expect(Set(names) == Set((1...300).map { "place \($0)" }) && names.count == 300)
        let found = try await store.snapshot(isRequired: true)?.page(matching: TextQuery(text: "place 123"))
        #expect(found?.matches.first?.point.draft.name == "place 123")
        #expect(store.databaseReads == 0)
        // The task of the index writes the files too.
        while try await index.save(to: files) { try await Task.sleep(for: .milliseconds(10)) }
      }
    }
    let segments = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".segment") }
    #expect(segments.count > 1)

    // Without files they do not fit, and more places do not fit with files either.
    try await RunningIndexes.with { indexes in
      let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
      let index = indexes.start(following: feed, memoryLimit: limit)
      try await index.wait { $0.phase == .tooLarge }
    }
    try await database.run(
      "INSERT INTO points (id, lat, long, name) SELECT gen_random_uuid(), 1, 2, 'B' FROM generate_series(1, 20)")
    try await RunningIndexes.with { indexes in
      let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
      let index = indexes.start(following: feed, memoryLimit: limit, files: try IndexFiles(folder: folder))
      try await index.wait { $0.phase == .tooLarge }
    }
    await postgres.shutDown()
  }

  @Test func piecesThatCannotBeWrittenLeaveTheReadsToTheDatabase() async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()
    try await insertLongTags(1000, database)
    let folder = "\(NSTemporaryDirectory())/pieces-\(UUID().uuidString)"
    let files = try IndexFiles(folder: folder)
    try FileManager.default.removeItem(atPath: folder)
    try await RunningIndexes.with { indexes in
      let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
      let index = indexes.start(following: feed, memoryLimit: 5_000_000, files: files)

      try await index.wait { $0.phase == .tooLarge }

      let store = IndexedStore(postgres, index: index)
      #expect(try await store.page(matching: PointQuery(limit: 10)).points.count == 10)
    }
    await postgres.shutDown()
  }

  @Test func changesThatExceedTheLimitEndTheUseOfTheIndex() async throws {
    let database = try await TemporaryDatabase.make()
    let postgres = try await database.migratedStore()
    try await RunningIndexes.with { indexes in
      let feed = UnderestimatingFeed(feed: try ChangeFeed(postgres))
      let index = indexes.start(following: feed, memoryLimit: 5_000_000)
      try await index.waitUntilFollowing()

      // More than the entries of the log that a round reads.
      try await insertLongTags(2000, database)
      try await index.wait { $0.phase == .tooLarge }

      #expect(index.status.builds == 1)
      #expect(index.status.changes == 0)
      #expect(try await IndexedStore(postgres, index: index).page(matching: PointQuery(limit: 10)).points.count == 10)
    }
    await postgres.shutDown()
  }

  @Test func indexesThatAreLostSoonAreBuiltAfterAGrowingDelay() {
    var backOff = RebuildBackOff(least: .milliseconds(100), most: .seconds(10))
    var now = ContinuousClock.now
    #expect(backOff.delay(at: now) == nil)

    var delays: [Duration] = []
    for _ in 0..<9 {
      backOff.noteBuild(at: now)
      now += .seconds(1)
      if let delay = backOff.delay(at: now) { delays.append(delay) }
    }
    #expect(delays.prefix(3) == [.milliseconds(100), .milliseconds(200), .milliseconds(400)])
    #expect(delays.suffix(2) == [.seconds(10), .seconds(10)])

    // A failed attempt to build does not wait again here, and an index that lasted resets the delay.
    #expect(backOff.delay(at: now) == nil)
    backOff.noteBuild(at: now)
    now += RebuildBackOff.soon
    #expect(backOff.delay(at: now) == nil)
    backOff.noteBuild(at: now)
    #expect(backOff.delay(at: now + .seconds(1)) == .milliseconds(100))
  }
}

/// A feed that estimates no places.
private struct UnderestimatingFeed: PointChangeFeed {
  let feed: ChangeFeed

  func changes(after position: ChangePosition) async throws(PointStoreError) -> ChangeFeed.Answer {
    try await feed.changes(after: position)
  }

  func currentPosition() async throws(PointStoreError) -> ChangePosition { try await feed.currentPosition() }

  func estimatedSize() async throws(PointStoreError) -> (points: Int, textBytes: Int) { (0, 0) }

  func copyPoints(
    _ body: @escaping @Sendable (BorrowedPoint) -> Void
  ) async throws(PointStoreError) -> (position: ChangePosition, byteCount: Int) {
    try await feed.copyPoints(body)
  }

  func copyChanges(
    after position: ChangePosition, upTo maximum: Int, _ body: @escaping @Sendable (ChangeFeed.Change) -> Void
  ) async throws(PointStoreError) -> ChangeFeed.CopyResult {
    try await feed.copyChanges(after: position, upTo: maximum, body)
  }

  func anchor(
    _ position: ChangePosition, removing obsolete: [ChangeAnchor]
  ) async throws(PointStoreError) -> ChangeAnchor? {
    try await feed.anchor(position, removing: obsolete)
  }

  func position(of anchor: ChangeAnchor) async throws(PointStoreError) -> ChangePosition? {
    try await feed.position(of: anchor)
  }

  func listen(_ onChange: @Sendable () -> Void) async throws(PointStoreError) -> Bool {
    try await feed.listen(onChange)
  }
}
