import Foundation
import IndexedStore
import PointIndex
import Points
import PostgresClient
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing

/// The publication of changes while no index follows the database, and the connections for it.
@Suite(.serialized, .timeLimit(.minutes(5))) struct ChangePollerTests {
  @Test func pollerBesideAnIndexOpensNoConnection() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    // Without a place an index fits into no memory too.
    _ = try await store.create(.sample("first"), once: nil)
    try await RunningIndexes.with { indexes in
      let feed = try ChangeFeed(store)
      let hub = ChangeHub(feed)
      let index = indexes.start(following: feed, memoryLimit: 0, changes: hub)
      try await index.wait { $0.phase == .tooLarge }
      try await database.waitForListeners(1)

      let poller = Task { await ChangePoller(feed, hub, beside: index).run() }
      let subscription = hub.subscribe(matching: PointQuery(), for: .server)
      // The reader must read the log first.
      guard case .interrupted = await subscription.next(until: .now + .seconds(240)) else {
        Issue.record("the poller has not begun")
        return
      }
      try await database.run("INSERT INTO points (id, lat, long, name) VALUES (gen_random_uuid(), 1, 2, 'A')")
      let event = await subscription.next(until: .now + .seconds(240))
      let listeners = try await database.listeners()
      poller.cancel()
      await poller.value

      guard case .batches(let batches) = event, case .put(let place) = batches.first?.changes.first else {
        Issue.record("the change was not published: \(event)")
        return
      }
      #expect(place.draft.name == "A")
      #expect(listeners == 1)
    }
    await store.shutDown()
  }

  @Test func pollerWithoutAnIndexListensWhileThereAreSubscriptions() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    let feed = try ChangeFeed(store)
    let hub = ChangeHub(feed)
    let poller = Task { await ChangePoller(feed, hub).run() }

    for _ in 0..<2 {
      do {
        let subscription = hub.subscribe(matching: PointQuery(), for: .server)
        try await database.waitForListeners(1)
        withExtendedLifetime(subscription) {}
      }
      try await database.waitForListeners(0)
    }
    poller.cancel()
    await poller.value
    await store.shutDown()
  }

  @Test func standbyIsNeverSentAListenStatement() async throws {
    let primary = try await TemporaryServer.start()
    let database = try await primary.makeDatabase()
    let migrated = try await database.migratedStore()
    await migrated.shutDown()
    let standby = try await primary.startStandby()
    try await primary.waitUntilFollowed(by: standby)
    let copy = database.onStandby(standby)
    let store = try PostgresStore(configuration: .withLongTimeouts(url: copy.url), migrations: Migration.builtIn)
    let feed = try ChangeFeed(store)

    let error = await #expect(throws: PointStoreError.self) { try await feed.listen {} }

    guard case .readOnly = error else {
      Issue.record("the error is \(String(describing: error))")
      return
    }
    let log = try String(contentsOfFile: standby.directory + "/log", encoding: .utf8)
    #expect(!log.contains("LISTEN"))
    await store.shutDown()
  }
}

extension TemporaryDatabase {
  /// Returns the number of connections that wait for notifications.
  fileprivate func listeners() async throws -> Int? {
    Int(
      try await run(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"))
  }

  fileprivate func waitForListeners(_ count: Int) async throws {
    while try await listeners() != count { try await Task.sleep(for: .milliseconds(50)) }
  }
}
