import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct MemoryStoreContractTests {
  @Test(arguments: PointStoreContract.all)
  func contractIsKept(_ behaviour: PointStoreContract) async throws {
    try await behaviour.check { rows in
      let store = MemoryStore()
      try await store.importRows(rows)
      return store
    }
  }

  @Test(arguments: PointStoreContract.all)
  func contractIsKeptByAStoreThatWasWrittenToBefore(_ behaviour: PointStoreContract) async throws {
    try await behaviour.check { rows in
      let store = MemoryStore()
      for row in rows { try await store.importRows([row]) }
      return store
    }
  }
}
