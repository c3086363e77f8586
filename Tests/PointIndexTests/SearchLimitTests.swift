import JSONText
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

  @Test func textSearchOfACancelledTaskIsAnError() async throws {
    let places = try ChangingPlaces(2_000, seed: 29)
    let (page, facets) = await Task { [snapshot = places.snapshot] in
      withUnsafeCurrentTask { $0?.cancel() }
      return (
        Result { try snapshot.page(matching: TextQuery(text: "P1")) },
        Result { try snapshot.facets(matching: FacetQuery(facets: [.category], text: ExactText("P1"))) }
      )
    }.value

    #expect(throws: PointStoreError.filterTimeout) { try page.get() }
    #expect(throws: PointStoreError.filterTimeout) { try facets.get() }
  }

  @Test(arguments: ["P1", "P"]) func mapHasEveryPlaceOfAText(text: String) throws {
    let snapshot = try ChangingPlaces(5_000, seed: 41).snapshot
    let search = TextSearch(TextQuery(text: text, completesLastWord: true), in: snapshot)
    search.postingLimit = 600

    let matches = search.allMatches()

    let names = snapshot.parts.flatMap { part in (0..<part.segment.count).map { part.segment.point(at: $0).draft.name }
    }
    #expect(matches.slots.map(\.count).reduce(0, +) == names.count { $0.hasPrefix(text) })
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
