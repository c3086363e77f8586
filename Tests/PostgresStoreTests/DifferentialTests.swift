import Points
import PostgresClient
import PostgresStore
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@Suite struct DifferentialTests {
  @Test func resultsMatchTheReference() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    var places = try SyntheticPoints(seed: 1, townCount: 40)
    try await store.importRows(try places.rows(count: 2_000))
    try await store.importRows(try SyntheticPoints.hardCases())

    try await DifferentialTest().run(against: store)
  }
}
