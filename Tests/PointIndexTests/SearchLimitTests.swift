import Basics
import Geo
import Points
import SyntheticData
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

  @Test(arguments: [PointQuery(), PointQuery(categories: ["cafe"])])
  func cellsEndAtTheDeadlineOfTheirComputation(filters: PointQuery) throws {
    let places = try ChangingPlaces(5_000, seed: 29)
    let query = CellQuery(box: nil, level: 20, filters: filters)

    let result = ComputationDeadline.$current.withValue(.now) {
      Result { try places.snapshot.cells(matching: query, limit: .max) }
    }

    #expect(throws: PointStoreError.filterTimeout) { try result.get() }
    #expect(try places.snapshot.cells(matching: query, limit: .max)?.isEmpty == false)
  }

  @Test func areasAroundAPlaceCountAsStepsOfFacets() throws {
    let places = try (0..<UInt64(1_000)).map { try TextPlaces.place($0, "P", at: (48.5, 16.5)) }
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let areas = try (0..<UInt64(40)).map { number in
      Area(
        id: .sample(number), draft: try .sample("A", kind: .city), version: 1, createdAt: time, updatedAt: time)
    }
    var query = FacetQuery(facets: [.area(.city)])
    query.areas = Areas(areas, version: 1)
    let limit = SearchLimit(.seconds(3_600))

    let facets = try PointSnapshot(ContiguousArray(places)).facets(matching: query, limit)

    #expect(facets.count == 1_000)
    #expect(limit.steps > 1_000 * (SearchLimit.stepsPerEvaluation + 40 * 2))
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

  @Test func firstPlacesHaveTheirWordsAndHoursBeforeTheyAreSearched() throws {
    let places = ContiguousArray(try TextPlaces.synthetic(6_000, seed: 12))

    let first = PointSnapshot().applying(PointChanges(puts: places))

    #expect(first.parts.allSatisfy { $0.segment.hasTextIndex && $0.segment.stepsToIndexHours == 0 })
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

  @Test func repeatedWordsAreNoMoreWorkThanOnce() throws {
    let names = ["Hotel", "Cafe"].flatMap { word in (0..<10_000).map { "\(word) \($0)" } }
    let snapshot = try TextPlaces.snapshot(names)
    // The first search indexes the words.
    _ = snapshot.steps(of: TextQuery(text: "hotel"))

    let once = snapshot.steps(of: TextQuery(text: "hotel caffe"))
    let often = snapshot.steps(of: TextQuery(text: String(repeating: "hotel caffe ", count: 16)))

    #expect(often < 2 * once)
  }

  @Test func placeIsComparedWithFewOfManyMisspeltWords() throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(10_000, seed: 14)))
    let words = "musuem restuarant hotle statoin pharmcy libary thaetre hosiptal chruch markte scohol bakrey"
    let few = snapshot.steps(of: TextQuery(text: words.split(separator: " ").prefix(4).joined(separator: " ")))

    let many = snapshot.steps(of: TextQuery(text: words))

    // The words are also joined, one pair after another.
    #expect(many < 6 * few)
  }

  /// The texts are the worst that `waymark-bench worst-text` found among names of these words.
  @Test(arguments: [
    "parkirg cmineaa cafe river toowerr offiiee muuseuu cathedral lake hotel park cathedarl rivertost musuem south"
      + " universtiy museum cafe university cathedral brdigie twoer east rivercafe rivertost riverto",
    "rooyal muontain hospitala memoria galleayr instituet museum towe arena cafe bakery monastery central roooyal"
      + " mountain hospital galleayr",
  ])
  func worstTextHasFewStepsForEachPlace(text: String) throws {
    let words = """
      museum restaurant cafe street park school church library station pharmacy market bakery theatre hospital hotel \
      bank garden bridge square tower castle palace central royal north south east west green river mountain valley \
      lake beach island harbour airport terminal university college academy institute cathedral monastery chapel \
      temple memorial monument fountain gallery cinema stadium arena playground parking police post office town hall
      """.split(separator: " ")
    var random = SeededGenerator(seed: 2)
    let count = 5_000
    let names = (0..<count).map { _ in
      (0..<Int.random(in: 2...4, using: &random)).map { _ in words.randomElement(using: &random) ?? "" }
        .joined(separator: " ")
    }
    let snapshot = try TextPlaces.snapshot(names)
    // The first search indexes the words.
    _ = snapshot.steps(of: TextQuery(text: text))

    #expect(snapshot.steps(of: TextQuery(text: text, completesLastWord: true)) < 100 * count)
  }

  @Test func mostFrequentValuesAreChosenWithinTheLimit() throws {
    let count = 5_000
    let snapshot = PointSnapshot(
      ContiguousArray(try (0..<count).map { try TextPlaces.place(UInt64($0), "P", tags: [("ref", "\($0)")]) }))
    let query = FacetQuery(facets: [.tag(ExactText("ref"))], limit: 1)
    let limit = SearchLimit(nil, maximumSteps: SearchLimit.stepsPerEvaluation * count + 64 * count / 2)

    #expect(throws: PointStoreError.stepLimit) { try snapshot.facets(matching: query, limit) }
    #expect(try snapshot.facets(matching: query).counts[0].values == [.init(text: "0", count: 1)])
  }

  @Test func mostFrequentOfManyTextsAndElementsAreFoundAgain() throws {
    let count = 3_000
    let texts = (0..<count).map { number in
      // Most are different; some have the same bytes but for their last one.
      String(repeating: "description ", count: 20) + (number.isMultiple(of: 7) ? "\(number % 3)" : "of \(number)")
    }
    let points = try texts.enumerated().map { number, text in
      try TextPlaces.place(UInt64(number), "P", tags: [("text", text), ("list", "\(text); \(text) ;\(number % 5)")])
    }
    let snapshot = PointSnapshot(ContiguousArray(points.prefix(2_000)))
      .applying(PointChanges(puts: ContiguousArray(points.dropFirst(2_000))))

    for limit in [1, 5, 9] {
      let found = try snapshot.facets(
        matching: FacetQuery(facets: [.tag("text"), .elements(ofTag: "list")], limit: limit))

      for (counts, values) in zip(found.counts, [texts, texts + (0..<count).map { "\($0 % 5)" }]) {
        let frequencies = Dictionary(grouping: values) { $0 }.map { Facets.Value(text: $0.key, count: $0.value.count) }
        let expected = frequencies.sorted { left, right in
          left.count != right.count ? left.count > right.count : ExactText(left.text) < ExactText(right.text)
        }
        #expect(counts.values == Array(expected.prefix(limit)))
        #expect(counts.missing == 0)
      }
    }
  }

  @Test(arguments: FilteredTexts.queries) func placesOfAFilterAreSortedWithinTheLimit(query: PointQuery) throws {
    let snapshot = try FilteredTexts.snapshot(sources: 10)
    let terms = QueryTerm.terms(of: "place", completesLastWord: false)
    var part = TextPart(snapshot.parts[0], number: 0, terms: terms, isRestricted: false, SearchLimit(nil))
    let found = part.slots(matching: query, atMost: 2_000)
    let slots = try #require(found)
    #expect(!slots.isEmpty)

    let limit = SearchLimit(nil, maximumSteps: 16 * slots.count)
    var limited = TextPart(snapshot.parts[0], number: 0, terms: terms, isRestricted: false, limit)

    let none = limited.slots(matching: query, atMost: 2_000)

    #expect(none == [])
    #expect(limit.isExpired)
  }

  @Test func distancesOfMatchesAreStepsOfASearch() throws {
    let snapshot = try FilteredTexts.snapshot(sources: 1)
    let center = try Coordinate(latitude: 1, longitude: 1)

    let steps = snapshot.steps(
      of: TextQuery(text: "place", bias: LocationBias(center: center), order: .distance, limit: 500))

    #expect(steps >= 500 * 100)
  }

  @Test(arguments: [8, 40]) func indexesOfManySourcesAreKept(count: Int) throws {
    let snapshot = try FilteredTexts.snapshot(sources: count)
    let queries = (0..<count).map { number in
      var query = PointQuery(source: .init(name: "s\(number)"))
      query.needsBuiltIndexes = true
      return query
    }
    for var query in queries {
      #expect(throws: PointStoreError.stepLimit) { try snapshot.page(matching: query) }
      query.needsBuiltIndexes = false
      #expect(try snapshot.page(matching: query).count == query.limit)
    }

    for query in queries { #expect(try snapshot.page(matching: query).count == query.limit) }
  }

  @Test func indexesOfVeryManySourcesHaveBoundedMemory() throws {
    let snapshot = try FilteredTexts.snapshot(sources: 2_000)

    for number in 0..<2_000 { _ = try snapshot.count(matching: PointQuery(source: .init(name: "s\(number)"))) }

    let bytes = snapshot.parts[0].segment.memory.first { $0.name == "sources" }?.bytes
    #expect(try (1...32 * FilteredTexts.count).contains(#require(bytes)))
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

/// Places of which a filter has a few.
private enum FilteredTexts {
  static let count = 10_000

  static let queries: [PointQuery] = [
    PointQuery(categories: [ExactText("c1")]),
    PointQuery(source: .init(name: "s1")),
    PointQuery(box: try? BoundingBox(west: 0, south: 0, east: 0.1, north: 1)),
    PointQuery(proximity: (try? Coordinate(latitude: 0, longitude: 0)).map { .init(center: $0, radiusMetres: 10_000) }),
  ]

  static func snapshot(sources: Int) throws -> PointSnapshot {
    var points: ContiguousArray<PointOfInterest> = []
    for number in 0..<count {
      let draft = try PointDraft(
        name: "Place \(number)", category: "c\(number % 10)",
        coordinate: Coordinate(latitude: 0, longitude: Double(number) / 10_000),
        source: "s\(number % sources)", sourceID: "\(number)")
      points.append(
        PointOfInterest(
          id: .sample(UInt64(number)), draft: draft, version: 1, createdAt: Timestamp(microsecondsSinceEpoch: 0),
          updatedAt: Timestamp(microsecondsSinceEpoch: 0)))
    }
    return PointSnapshot(points)
  }
}
