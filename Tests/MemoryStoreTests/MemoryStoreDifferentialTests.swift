import MemoryStore
import Points
import TestSupport
import Testing

@Suite struct MemoryStoreDifferentialTests {
  @Test func answersAreThoseOfTheReference() async throws {
    var places = try SyntheticPlaces(seed: 1, townCount: 40)
    let store = MemoryStore()
    try await store.importRows(try places.rows(count: 2_000))
    try await store.importRows(try SyntheticPlaces.hardCases())

    try await DifferentialTest().run(against: store)
  }
}
