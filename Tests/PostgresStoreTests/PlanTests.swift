import Geo
import JSONText
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

/// PostgreSQL goes about each kind of question in the intended way, on a table with enough rows to matter.
@Suite struct PlanTests {
  /// A million places, of which 10 have a category of their own; made once. Most are strewn over the map by PostgreSQL,
  /// where the planner counts them just as well.
  private static let prepared = Task {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    var places = try SyntheticPlaces(seed: 6)
    let rare = try places.rows(count: 10).map { row in
      ImportRow(
        number: row.number + 20_000,
        id: nil,
        place: try Place(name: "Rare", category: "rare", coordinate: row.place.coordinate)
      )
    }
    try await database.run("ALTER TABLE points SET UNLOGGED")
    try await store.importRows(try places.rows(count: 20_000) + rare)
    try await database.run(
      """
      INSERT INTO points (id, lat, long, name, category, source, source_id)
      SELECT gen_random_uuid(), 140 * sqrt(random()) - 70, 360 * random() - 180, 'Strewn', 'category ' || number % 40,
        CASE WHEN number <= 100 THEN 'small' ELSE 'large' END, 'node/' || number
      FROM generate_series(1, 980000) AS number
      """)
    // So that the index need not be checked against the table.
    try await database.run("VACUUM ANALYZE points")
    return store
  }

  private func plan(_ query: (Statement, Parameters), in store: PostgresStore? = nil) async throws -> String {
    let store = if let store { store } else { try await Self.prepared.value }
    let explain = Statement("explain", planning: .eachTime, "EXPLAIN " + query.0.sql)
    return try await store.read(explain, query.1).rows.map { try $0.text(0) }.joined(separator: "\n")
  }

  private let center: Coordinate
  private let position: EarthCentred

  init() throws {
    center = try Coordinate(latitude: 48.2, longitude: 16.4)
    position = EarthCentred(center)
  }

  private func nearest(_ query: PointQuery) -> (Statement, Parameters) {
    NearestStatements.nearest(.summary, position, PointFilter(query, center: position), count: 24)
  }

  /// What is asked by three callers at a time.
  private func sharedNearest(_ query: PointQuery) -> (Statement, Parameters) {
    let filter = PointFilter(query, center: position)
    let read = NearestStatements.sharedNearest(.summary, position, filter, count: 24)
    return (read.statement, SharedRead.parameters(of: [read, read, read]))
  }

  private func listing(_ query: PointQuery) -> (Statement, Parameters) {
    PostgresStore.listing(.summary, query, PointFilter(query, center: nil))
  }

  @Test func theNearestPlacesComeStraightOutOfTheSpatialIndex() async throws {
    let plan = try await plan(sharedNearest(PointQuery(proximity: .init(center: center))))

    #expect(plan.contains("Index Scan using points_position"))
    #expect(plan.contains("Order By: (\"position\" <<->>"))
    #expect(!plan.contains("Sort"))
  }

  @Test(arguments: [10.0, 10_000, 10_000_000]) func soDoThoseWithinARadius(radius: Double) async throws {
    let plan = try await plan(sharedNearest(PointQuery(proximity: .init(center: center, radiusMetres: radius))))

    #expect(plan.contains("Index Scan using points_position"))
    #expect(plan.contains("Index Cond: (\"position\" &&&"))
    #expect(plan.contains("Order By: (\"position\" <<->>"))
  }

  @Test func aStatementOfSeveralCallersIsNotPlannedEachTime() async throws {
    let store = try await Self.prepared.value
    let read = NearestStatements.sharedNearest(
      .all,
      position,
      PointFilter(PointQuery(proximity: .init(center: center)), center: position),
      count: 40
    )
    let plans = Statement(
      "plans",
      planning: .eachTime,
      "SELECT custom_plans FROM pg_prepared_statements WHERE name = '\(read.statement.name)'"
    )

    // Each connection of the pool tries five plans for the values it is given before it settles.
    for count in 0..<60 {
      _ = try await store.read(read.statement, SharedRead.parameters(of: Array(repeating: read, count: 1 + count % 16)))
    }
    let planned = try await store.read(plans, Parameters()).rows.first?.integer(0)

    #expect(planned == 5)
  }

  @Test func soDoThoseOfAFrequentCategory() async throws {
    let plan = try await plan(nearest(PointQuery(proximity: .init(center: center), categories: ["category 0"])))

    #expect(plan.contains("Index Scan using points_position"))
  }

  @Test func soDoThoseInALargeBox() async throws {
    let box = try BoundingBox(west: -60, south: -30, east: 100, north: 80)

    let plan = try await plan(nearest(PointQuery(proximity: .init(center: center), box: box)))

    #expect(plan.contains("Index Scan using points_position"))
    #expect(!plan.contains("Sort"))
  }

  @Test func placesOfARareCategoryAreLookedUpAndSorted() async throws {
    let near = try await plan(nearest(PointQuery(proximity: .init(center: center), categories: ["rare"])))
    let listed = try await plan(listing(PointQuery(categories: ["rare"])))

    #expect(near.contains("points_category"))
    #expect(listed.contains("points_category"))
  }

  @Test(arguments: ["small", "large"]) func placeIsFoundByItsOriginInTheKeyOfOrigins(source: String) async throws {
    let origin = PointQuery.Source(name: source, sourceID: "node/7")

    let near = try await plan(nearest(PointQuery(proximity: .init(center: center), source: origin)))
    let listed = try await plan(listing(PointQuery(source: origin)))

    for plan in [near, listed] {
      #expect(plan.contains("Index Scan using points_origin"))
      #expect(plan.contains("Index Cond: ((source = '\(source)'::text) AND (source_id = 'node/7'::text))"))
    }
  }

  @Test func placesOfASmallSourceAreLookedUpAndSorted() async throws {
    let source = PointQuery.Source(name: "small")

    let near = try await plan(nearest(PointQuery(proximity: .init(center: center), source: source)))
    let listed = try await plan(listing(PointQuery(source: source)))

    #expect(near.contains("points_origin"))
    #expect(listed.contains("points_origin"))
  }

  @Test func placesOfALargeSourceComeOutOfAnIndexInTheirOrder() async throws {
    let source = PointQuery.Source(name: "large")

    let near = try await plan(nearest(PointQuery(proximity: .init(center: center), source: source)))
    let listed = try await plan(listing(PointQuery(source: source)))

    #expect(near.contains("Index Scan using points_position"))
    #expect(listed.contains("Index Scan using points_pkey"))
  }

  @Test(arguments: ["small", "large", "no such source"], [nil, "node/1500"])
  func batchOfADeletionIsReadFromTheKeyOfOriginsInItsOrder(source: String, position: String?) async throws {
    let parameters = Parameters {
      $0.add(source)
      $0.add(position)
    }

    let plan = try await plan((WriteStatements.deleteBatch, parameters))

    #expect(plan.contains("Index Scan using points_origin"))
    #expect(!plan.contains("Seq Scan on points"))
    // What is sorted is no more than the batch.
    let lines = plan.split(separator: "\n").map { $0.drop { $0 == " " } }
    let batch = try #require(lines.firstIndex(of: "CTE batch"))
    #expect(lines[batch + 1].hasPrefix("->  Limit"))
    #expect(lines[batch + 2].hasPrefix("->  Index Scan using points_origin"))
  }

  @Test func categoriesOfASmallBoxAreCountedFromTheSpatialIndex() async throws {
    let box = try BoundingBox(west: 16.3, south: 48.1, east: 16.5, north: 48.3)

    let plan = try await plan(PostgresStore.categoryCounts(in: box))

    #expect(plan.contains("points_position"))
    #expect(!plan.contains("Seq Scan"))
  }

  @Test func aRingIsLookedUpBoxByBox() async throws {
    let query = PointQuery(proximity: .init(center: center))
    let chords = 100_000.0...101_000.0
    let statement = NearestStatements.ring(
      .summary,
      (center, position),
      PointFilter(query, center: position),
      chords: chords,
      cover: RingCover(around: center, chords: chords).boxes(atMost: 128, within: nil),
      after: .init(distanceMetres: 100_000, id: PointID(high: 0, low: 0)),
      toleranceMetres: 0.001,
      perSpot: 21,
      count: 74
    )

    let plan = try await plan(statement)

    #expect(plan.contains("Nested Loop"))
    #expect(plan.contains("points_position"))
  }

  @Test func allPlacesAreWalkedInTheOrderOfTheirIDs() async throws {
    let plan = try await plan(listing(PointQuery(after: .init(id: PointID(high: 1 << 50, low: 0)))))

    #expect(plan.contains("Index Scan using points_pkey"))
    #expect(!plan.contains("Sort"))
  }

  @Test func aSmallBoxIsLookedUpAndALargeOneWalked() async throws {
    let small = try await plan(
      listing(PointQuery(box: try BoundingBox(west: 16.3, south: 48.1, east: 16.5, north: 48.3)))
    )
    let large = try await plan(
      listing(PointQuery(box: try BoundingBox(west: -180, south: -90, east: 180, north: 90)))
    )

    #expect(small.contains("points_position"))
    #expect(large.contains("points_pkey"))
  }

  @Test func smallBoxesOfSeveralCallersAreLookedUp() async throws {
    let box = try BoundingBox(west: 16.35, south: 48.15, east: 16.45, north: 48.2)
    let read = PostgresStore.sharedListing(.summary, PointFilter(PointQuery(box: box), center: nil), count: 24)

    let plan = try await plan((read.statement, SharedRead.parameters(of: [read, read, read])))

    #expect(plan.contains("points_position"))
    #expect(!plan.contains("Seq Scan"))
  }

  /// What the other tests see is a matter of how many places there are: where there are none, no index is worth it.
  @Test func anEmptyTableIsReadWhole() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore()
    try await database.run("VACUUM ANALYZE points")

    let plan = try await plan(listing(PointQuery(categories: ["rare"])), in: store)

    #expect(plan.contains("Seq Scan"))
    #expect(!plan.contains("points_category"))
  }

  @Test func placesAreLookedUpByTheirIDsInTheKey() async throws {
    let read = SharedRead(statement: PostgresStore.byID, values: .id(PointID(high: 1, low: 2)))

    let plan = try await plan((read.statement, SharedRead.parameters(of: [read, read, read])))

    #expect(plan.contains("Index Scan using points_pkey"))
  }

  @Test func aShuffledPlaceIsOneLookUp() async throws {
    let plan = try await plan((PostgresStore.shuffledAtOrAfter, Parameters { $0.add(Int64(0)) }))

    #expect(plan.contains("points_shuffle"))
    #expect(!plan.contains("Seq Scan"))
  }

  @Test func categoriesAreCountedFromTheirIndexAlone() async throws {
    let plan = try await plan((PostgresStore.categoryCounts, Parameters()))

    #expect(plan.contains("Index Only Scan using points_category"))
  }
}
