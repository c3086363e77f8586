import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct MemoryStoreWriteTests {
  @Test(arguments: WriteContract.all)
  func contractIsKept(_ behaviour: WriteContract) async throws {
    try await behaviour.check { rows in
      let store = MemoryStore()
      try await store.importRows(rows)
      return store
    }
  }
}
