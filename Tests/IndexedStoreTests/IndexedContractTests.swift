import Geo
import IndexedStore
import Logging
import PointIndex
import Points
import PostgresClient
import PostgresStore
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@Suite struct IndexedContractTests {
  @Test(arguments: PointStoreContract.all) func readContractIsKept(_ behaviour: PointStoreContract) async throws {
    try await RunningIndexes.with { indexes in
      try await behaviour.check { rows in
        let database = try await TemporaryDatabase.make().migratedStore()
        try await database.importRows(rows)
        return try await indexes.store(over: database).store
      }
    }
  }

  @Test(arguments: WriteContract.all) func writeContractIsKept(_ behaviour: WriteContract) async throws {
    try await RunningIndexes.with { indexes in
      try await behaviour.check { rows in
        let database = try await TemporaryDatabase.make().migratedStore()
        let store = try await indexes.store(over: database).store
        try await store.importRows(rows)
        return store
      }
    }
  }

  @Test(arguments: ChangeContract.all) func contractOfChangesIsKept(_ behaviour: ChangeContract) async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make().migratedStore()
      let feed = try ChangeFeed(database)
      let changes = ChangeHub(feed)
      let index = indexes.start(following: feed, changes: changes)
      try await index.waitUntilFollowing()
      try await behaviour.check(.init(IndexedStore(database, index: index), changes))
    }
  }

  @Test(arguments: ChangeContract.log)
  func contractOfChangesIsKeptWithoutAnIndex(_ behaviour: ChangeContract) async throws {
    let database = try await TemporaryDatabase.make().migratedStore()
    try await behaviour.check(.init(database, ChangeHub(try ChangeFeed(database))))
  }

  @Test func filterAreaAndRouteAreUnsupportedWithoutAnIndex() async throws {
    let corners = try [(0.0, 0.0), (0, 1), (1, 1)].map { try Coordinate(latitude: $0.0, longitude: $0.1) }
    var (inArea, alongRoute) = (PointQuery(), PointQuery())
    inArea.area = try GeodesicArea(polygons: [[corners]])
    alongRoute.route = .init(try GeodesicRoute(corners), radiusMetres: 100)
    let opening = PointQuery(opening: .init(at: .instant(minutes: 0)))
    let queries = [PointQuery(filter: try PropertyFilter("name = 'x'")), inArea, alongRoute, opening]
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make().migratedStore()
      var places = try SyntheticPoints(seed: 1)
      try await database.importRows(try places.rows(count: 10))
      let index = try indexes.start(over: database, memoryLimit: 0)
      try await index.wait { $0.phase == .tooLarge }
      let store = IndexedStore(database, index: index)

      for query in queries {
        await #expect(throws: PointStoreError.indexRequired) { try await database.page(matching: query) }
        await #expect(throws: PointStoreError.indexRequired) { try await database.count(matching: query) }
        await #expect(throws: PointStoreError.indexRequired) {
          try await database.exportPoints(matching: query) { _ in }
        }
        await #expect(throws: PointStoreError.indexRequired) { try await store.page(matching: query) }
        await #expect(throws: PointStoreError.indexRequired) { try await store.exportPoints(matching: query) { _ in } }
      }
    }
  }

  @Test func filterFailsWhileTheIndexIsNotBuilt() async throws {
    let database = try await TemporaryDatabase.make().migratedStore()
    let index = IndexFollower(
      try ChangeFeed(database), freshness: ReadFreshness(), waitLimit: .zero,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    let query = PointQuery(filter: try PropertyFilter("name = 'x'"))

    await #expect(throws: PointStoreError.indexNotReady) {
      try await IndexedStore(database, index: index).page(matching: query)
    }
  }

  @Test func resultsMatchTheReference() async throws {
    try await RunningIndexes.with { indexes in
      let database = try await TemporaryDatabase.make().migratedStore()
      let (store, index) = try await indexes.store(over: database)
      var places = try SyntheticPoints(seed: 1, townCount: 40)
      try await store.importRows(try places.rows(count: 2_000))
      try await store.importRows(try SyntheticPoints.hardCases())
      // The imports may have been too many changes for one statement.
      try await index.wait { $0.phase == .following && $0.points > 2_000 }

      let reads = store.databaseReads
      try await DifferentialTest().run(against: store)
      var filtered = DifferentialTest()
      filtered.filters = try PropertyFilter.samples()
      filtered.queriesPerCenter = filtered.filters.count
      filtered.centers = 10
      try await filtered.run(against: store)

      #expect(store.databaseReads == reads)
    }
  }
}
