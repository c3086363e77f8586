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
  func contractIsKeptByAStoreOfManyParts(_ behaviour: PointStoreContract) async throws {
    try await behaviour.check { rows in
      let store = MemoryStore()
      for row in rows { try await store.importRows([row]) }
      return store
    }
  }

  @Test(arguments: WriteContract.all)
  func contractOfWritesIsKept(_ behaviour: WriteContract) async throws {
    try await behaviour.check { rows in
      let store = MemoryStore()
      try await store.importRows(rows)
      return store
    }
  }

  @Test(arguments: AreaContract.all)
  func contractOfAreasIsKept(_ behaviour: AreaContract) async throws {
    let store = MemoryStore()
    try await behaviour.check((store, store))
  }

  @Test func aDataSetStaysWhileItHasAreas() async throws {
    let store = MemoryStore()
    try await AreaContract.checkSourceOfAreas(store, store)
  }

  @Test(arguments: RecordContract.all)
  func contractOfRecordsIsKept(_ behaviour: RecordContract) async throws {
    try await behaviour.check(MemoryStore())
  }

  @Test(arguments: ChangeContract.all)
  func contractOfChangesIsKept(_ behaviour: ChangeContract) async throws {
    let store = MemoryStore()
    try await behaviour.check(.init(store, store.changes))
  }

  @Test func removedPlaceThatIsImportedAgainHasItsIDAndAGreaterVersion() async throws {
    let row = try ImportRow.sample("there and back", 1, 1, source: "s", sourceID: "1")
    let store = MemoryStore()
    try await store.importRows([row])
    let former = try #require(try await store.allPoints().first)

    _ = try await store.deleteBatch(ofSource: "s", after: nil)
    try await store.importRows([row])

    let point = try #require(try await store.allPoints().first)
    #expect(point.draft == former.draft)
    #expect(point.id == former.id && point.version > former.version)
  }
}
