import Points
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing

@Suite struct ContractTests {
  @Test(arguments: PointStoreContract.all) func contractIsKept(_ behaviour: PointStoreContract) async throws {
    try await behaviour.check { rows in
      let store = try await TemporaryDatabase.make().migratedStore()
      try await store.importRows(rows)
      return store
    }
  }
}
