import Basics
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

  @Test func waitForAProcessorCountsTowardsTheTimeLimit() throws {
    let places = try ChangingPlaces(2_000, seed: 29)
    let query = FacetQuery(facets: [.category], timeLimit: .seconds(3_600))

    let result = ComputationDeadline.$current.withValue(.now) {
      Result { try places.snapshot.facets(matching: query) }
    }

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

  @Test(arguments: ["h", "hotel s", "musuem caef hotle", "東京駅前", "category 3"])
  func searchThatReachesItsStepLimitIsAnError(text: String) throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(5_000, seed: 12)))
    var query = TextQuery(text: text)
    let steps = snapshot.steps(of: query)

    query.stepLimit = steps
    #expect(throws: PointStoreError.stepLimit) { try snapshot.page(matching: query) }
    query.stepLimit = steps + 1
    #expect(try snapshot.page(matching: query) == snapshot.matches(of: query))
  }

  @Test func wordsOfASmallSegmentAreNotIndexedWithinAStepLimit() throws {
    let snapshot = try TextPlaces.snapshot((0..<2_000).map { "Place \($0)" })
    var query = TextQuery(text: "place 7")

    query.stepLimit = 400_000
    #expect(throws: PointStoreError.stepLimit) { try snapshot.page(matching: query) }
    query.stepLimit = nil
    #expect(try snapshot.page(matching: query).matches.first?.point.draft.name == "Place 7")
    query.stepLimit = 400_000
    #expect(try snapshot.page(matching: query).matches.first?.point.draft.name == "Place 7")
  }

  @Test func searchThatIndexesWordsTriesAllRules() throws {
    let others = ["Alpha", "Beta"].flatMap { word in (0..<2_000).map { "\(word) \($0)" } }
    let snapshot = try TextPlaces.snapshot(others + ["Alphabeta"])
    let query = TextQuery(text: "alpha beta")

    let first = snapshot.matches(of: query)

    #expect(first.matches.map(\.point.draft.name) == ["Alphabeta"])
    #expect(first == snapshot.matches(of: query))
  }

  @Test func longWordIsNotSeparatedAtEachLetter() throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(1_000, seed: 15)))
    // Each character is a ligature of four letters.
    let short = snapshot.steps(of: TextQuery(text: String(repeating: "ﷲ", count: 10)))

    let long = snapshot.steps(of: TextQuery(text: String(repeating: "ﷲ", count: 200)))

    #expect(long <= short)
  }

  @Test func placeIsComparedWithFewOfManyMisspeltWords() throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(10_000, seed: 14)))
    let words = "musuem restuarant hotle statoin pharmcy libary thaetre hosiptal chruch markte scohol bakrey"
    let few = snapshot.steps(of: TextQuery(text: words.split(separator: " ").prefix(4).joined(separator: " ")))

    let many = snapshot.steps(of: TextQuery(text: words))

    // The words are also joined, one pair after another.
    #expect(many < 6 * few)
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
