import IndexedStore
import Points
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

      #expect(store.databaseReads == reads)
    }
  }
}
