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

  @Test func aPlaceThatGoesAndIsImportedAgainIsAnotherOne() async throws {
    let row = try ImportRow.sample("there and back", 1, 1, source: "s", sourceID: "1")
    let store = MemoryStore()
    try await store.importRows([row])
    let former = try #require(try await store.allPoints().first)

    try await store.delete(id: former.id, if: .none)
    try await store.importRows([row])

    let point = try #require(try await store.allPoints().first)
    #expect(point.place == former.place)
    #expect(point.id != former.id)
  }
}
