import Basics
@testable import MemoryStore
import Geo
@testable import PointIndex
import Points
import SyntheticData
import TestSupport
import Testing

@Suite struct MemoryStoreDifferentialTests {
  @Test func resultsEqualTheReference() async throws {
    var places = try SyntheticPoints(seed: 1, townCount: 40)
    let store = MemoryStore()
    try await store.importRows(try places.rows(count: 1_200) + SyntheticPoints.hardCases())

    try await DifferentialTest().run(against: store)
  }

  @Test(arguments: [nil, .hash, .sorted] as [TagIndexKind?])
  func resultsOfPropertyFiltersEqualTheReference(index: TagIndexKind?) async throws {
    var places = try SyntheticPoints(seed: 5, townCount: 30)
    let store = MemoryStore()
    // Two parts, so that places of one segment are not taken for those of the other.
    try await store.importRows(try places.rows(count: 900))
    try await store.importRows(try SyntheticPoints.hardCases())

    var test = DifferentialTest()
    let indexes = index.map { [ExactText("ref"): $0, ExactText("opening_hours"): $0] } ?? [:]
    test.filters = try PropertyFilter.samples(indexes: indexes)
    test.queriesPerCenter = test.filters.count
    test.centers = 30
    try await test.run(against: store)
  }

  @Test(arguments: [false, true])
  func resultsInAreasAndAlongRoutesEqualTheReference(hasRoutes: Bool) async throws {
    var places = try SyntheticPoints(seed: 6, townCount: 30)
    let store = MemoryStore()
    try await store.importRows(try places.rows(count: 600))
    try await store.importRows(try SyntheticPoints.hardCases())
    var test = DifferentialTest()
    test.centers = 25
    test.hasAreas = !hasRoutes
    test.hasRoutes = hasRoutes

    try await test.run(against: store)

    let points = try await store.allPoints()
    var queries = RandomQueries(over: points, seed: 3)
    for _ in 0..<10 {
      let query = hasRoutes ? PointQuery(route: try queries.route()) : PointQuery(area: try queries.area())
      let exported = Counter()
      try await store.exportPoints(matching: query) { exported.add($0.count) }
      let ordered = query.route.map { BruteForce(points).along($0) } ?? BruteForce(points).byID()
      #expect(exported.value == ordered.matches(of: query).count)
    }

    test.hasAreas = true
    test.filters = try PropertyFilter.samples()
    test.seed = 2
    test.centers = 6
    try await test.run(against: store)
  }

  @Test func resultsEqualTheReferenceAfterManyWrites() async throws {
    var places = try SyntheticPoints(seed: 2, townCount: 20)
    var rows = try places.rows(count: 2_000)
    let store = MemoryStore()
    try await store.importRows(rows)
    try await store.importRows(try SyntheticPoints.hardCases())
    for start in stride(from: 0, to: 2_000, by: 250) {
      // Some of the places move to where others are, and some new ones come.
      let moved = try (start..<start + 60).map { index in
        let row = rows[index]
        rows[index] = ImportRow(
          number: row.number,
          id: nil,
          draft: try PointDraft(
            name: row.draft.name + ", moved",
            category: rows[(index + 70) % 2_000].draft.category,
            coordinate: rows[(index + 700) % 2_000].draft.coordinate,
            source: row.draft.origin?.source,
            sourceID: row.draft.origin?.sourceID
          )
        )
        return rows[index]
      }
      try await store.importRows(moved + places.rows(count: 7))
    }
    try #require(store.snapshot.parts.count > 1)
    try #require(store.snapshot.parts.contains { $0.tombstones != nil })
    var test = DifferentialTest()
    test.centers = 40

    try await test.run(against: store)
  }

  @Test(arguments: [1, 2, 15, 16, 17, 128, 129, 1024, 1025])
  func resultsEqualTheReferenceForEveryShapeOfTree(count: Int) async throws {
    var places = try SyntheticPoints(seed: UInt64(count), townCount: 3)
    let store = MemoryStore()
    try await store.importRows(try places.rows(count: count))
    var test = DifferentialTest()
    test.centers = 10

    try await test.run(against: store)
  }

  @Test func resultsEqualTheReferenceWhenAllPlacesAreAtOneFarPosition() async throws {
    let store = MemoryStore()
    try await store.importRows(
      try (0..<500).map { number in
        try .sample("\(number)", 47.5 + Double(number % 7) * 1e-7, 19, category: number % 3 == 0 ? "few" : nil)
      }
    )
    var test = DifferentialTest()
    test.centers = 40

    try await test.run(against: store)
  }

  @Test(arguments: [false, true])
  func boxIsSearchedCorrectlyWhenItsPlacesHaveAdjacentIDs(boxIsFirst: Bool) async throws {
    let rows = try (0..<4_000 as Range<UInt64>).map { number in
      let isInBox = (number < 2_000) == boxIsFirst
      return try ImportRow.sample(
        "\(number)",
        Double(number % 60),
        isInBox ? 10 : -10,
        category: "all",
        id: .sample(number)
      )
    }
    let store = MemoryStore()
    try await store.importRows(rows)
    let reference = BruteForce(try await store.allPoints()).byID()
    let box = try BoundingBox(west: 0, south: -1, east: 20, north: 70)

    for limit in [1, 20] {
      for after in [0, 1_000, 1_990, 1_999, 2_000, 3_990, 3_999] as [UInt64] {
        for categories in [[], ["all"]] as [Set<ExactText>] {
          let query = PointQuery(box: box, categories: categories, limit: limit, after: .init(id: .sample(after)))
          #expect(try await store.page(matching: query) == reference.page(matching: query))
        }
      }
    }
  }
}
