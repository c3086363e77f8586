import IndexedStore
import Logging
import PointIndex
import Points
import PostgresStore
import PostgresTestSupport
import Synchronization
import Testing

/// The indexes that run during a test.
final class RunningIndexes: Sendable {
  private let tasks = Mutex<[Task<Void, Never>]>([])

  /// Calls a body with new indexes, which run until it returns.
  static func with<Value>(_ body: (RunningIndexes) async throws -> Value) async throws -> Value {
    let indexes = RunningIndexes()
    do {
      let value = try await body(indexes)
      await indexes.stop()
      return value
    } catch {
      await indexes.stop()
      throw error
    }
  }

  private func stop() async {
    let tasks = tasks.withLock { $0 }
    for task in tasks { task.cancel() }
    for task in tasks { await task.value }
  }

  /// Returns a store with an index that is built and follows the database.
  func store(
    over database: PostgresStore, freshness: ReadFreshness = ReadFreshness()
  ) async throws -> (store: IndexedStore, index: IndexFollower) {
    let index = try start(over: database, freshness: freshness)
    try await index.waitUntilFollowing()
    return (IndexedStore(database, index: index), index)
  }

  /// Returns an index that is being built.
  func start(
    over database: PostgresStore, freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil,
    files: IndexFiles? = nil
  ) throws -> IndexFollower {
    start(following: try ChangeFeed(database), freshness: freshness, memoryLimit: memoryLimit, files: files)
  }

  /// Returns an index of a feed that is being built.
  func start(
    following feed: any PointChangeFeed, freshness: ReadFreshness = ReadFreshness(), memoryLimit: Int? = nil,
    files: IndexFiles? = nil, changes: ChangeHub? = nil
  ) -> IndexFollower {
    let index = IndexFollower(
      feed, freshness: freshness, memoryLimit: memoryLimit, files: files, changes: changes,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let task = Task { await index.run() }
    tasks.withLock { $0.append(task) }
    return index
  }
}

extension IndexFollower {
  /// Waits until the index follows the database; records an issue after two minutes.
  func waitUntilFollowing(builds: Int = 1) async throws {
    try await wait { $0.phase == .following && $0.builds + $0.loads >= builds }
  }

  /// Waits until the status satisfies a predicate; records an issue after two minutes.
  func wait(until predicate: (Status) -> Bool) async throws {
    for _ in 0..<12_000 {
      if predicate(status) { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    Issue.record("the index is \(status)")
  }
}

/// A feed of a test has no anchors.
extension PointChangeFeed {
  func anchor(
    _ position: ChangePosition, removing obsolete: [ChangeAnchor]
  ) async throws(PointStoreError) -> ChangeAnchor? {
    throw .unavailable(reason: "a feed of a test has no anchors")
  }

  func position(of anchor: ChangeAnchor) async throws(PointStoreError) -> ChangePosition? { nil }
}
