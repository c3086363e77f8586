import Points
import PostgresStore
import PostgresTestSupport
import TestSupport
import Testing

@Suite struct WriteContractTests {
  @Test(arguments: WriteContract.all)
  func contractIsKept(_ behaviour: WriteContract) async throws {
    try await behaviour.check { rows in
      let store = try await TemporaryDatabase.make().migratedStore()
      try await store.importRows(rows)
      return store
    }
  }

  @Test(arguments: RecordContract.all)
  func contractOfRecordsIsKept(_ behaviour: RecordContract) async throws {
    try await behaviour.check(try await TemporaryDatabase.make().migratedStore())
  }

  @Test(arguments: AreaContract.all)
  func contractOfAreasIsKeptByTwoInstances(_ behaviour: AreaContract) async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await behaviour.check((PostgresAreas(store), PostgresAreas(store)))
  }

  @Test func aDataSetStaysWhileItHasAreas() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await AreaContract.checkSourceOfAreas(store, PostgresAreas(store))
  }
}
