import Points
import TestSupport
import Testing

@testable import PointIndex

@Suite struct SearchLimitTests {
  @Test func searchOfACancelledTaskIsAnError() async throws {
    let places = try ChangingPlaces(2_000, seed: 29)
    let query = FacetQuery(facets: [.category], timeLimit: .seconds(3_600))

    let result = await Task { [snapshot = places.snapshot] in
      withUnsafeCurrentTask { $0?.cancel() }
      return Result { try snapshot.facets(matching: query) }
    }.value

    #expect(throws: PointStoreError.filterTimeout) { try result.get() }
  }

  /// The places are fewer than those after which a short filter is interrupted.
  @Test(arguments: [(1, false), (1_500, true)])
  func longFilterIsInterruptedAfterFewPlaces(terms: Int, isInterrupted: Bool) async throws {
    let places = try ChangingPlaces(20, seed: 31)
    let text = Array(repeating: "unknown = 'x'", count: terms).joined(separator: " OR ")
    let filter = try PropertyFilter(text)

    let result = await Task { [snapshot = places.snapshot] in
      withUnsafeCurrentTask { $0?.cancel() }
      return Result { try snapshot.count(matching: PointQuery(filter: filter)) }
    }.value

    if isInterrupted {
      #expect(throws: PointStoreError.filterTimeout) { try result.get() }
    } else {
      #expect(try result.get() == 0)
    }
  }
}
