import Basics
import Geo
import JSONText
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of difficult pages: many places at one spot, far from everything, and deep in a result.
@Suite struct PagingTests {
  private func place(_ number: Int, _ latitude: Double, _ longitude: Double) throws -> ImportRow {
    ImportRow(
      number: number,
      id: nil,
      draft: try PointDraft(
        name: "Place \(number)", coordinate: try Coordinate(latitude: latitude, longitude: longitude))
    )
  }

  /// Checks that the ids of all pages are those of the reference, in its order.
  private func expectReferenceOrder(_ store: PostgresStore, _ query: PointQuery) async throws {
    let reference = BruteForce(try await store.allPoints())
    var all = query
    all.limit = .max
    let expected = reference.page(matching: all).points.map(\.point.id)

    let found = try await store.allMatches(of: query).map(\.point.id)

    #expect(found == expected)
  }

  @Test func thousandsOfPlacesAtOneSpotArePagedOnceEach() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    let rows = try (1...3000).map { try place($0, 48, 16) } + (3001...3040).map { try place($0, 48, 16.001) }
    try await store.importRows(rows)

    for limit in [7, 100, 1000] {
      try await expectReferenceOrder(
        store,
        PointQuery(proximity: .init(center: try Coordinate(latitude: 48, longitude: 16)), limit: max(limit, 50))
      )
    }
    try await expectReferenceOrder(
      store,
      PointQuery(
        proximity: .init(center: try Coordinate(latitude: 47, longitude: 16), radiusMetres: 112_000),
        limit: 500
      )
    )
  }

  @Test func equallyDistantSpotsAreOrderedByID() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows(try (1...600).map { try place($0, 10, $0 % 2 == 0 ? 1 : -1) })

    try await expectReferenceOrder(
      store,
      PointQuery(proximity: .init(center: try Coordinate(latitude: 10, longitude: 0)), limit: 20)
    )
  }

  @Test func clusterOnTheOtherSideOfTheEarthIsPagedInOrder() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    var places = try SyntheticPoints(seed: 9, townCount: 1)
    try await store.importRows(try places.rows(count: 2000))
    let town = try #require(try await store.allPoints().first).draft.coordinate
    let longitude = town.longitude > 0 ? town.longitude - 179 : town.longitude + 179

    try await expectReferenceOrder(
      store,
      PointQuery(proximity: .init(center: try Coordinate(latitude: -town.latitude, longitude: longitude)), limit: 100)
    )
  }

  @Test func everyPageOfALongResultIsReturned() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    var places = try SyntheticPoints(seed: 10, townCount: 30)
    try await store.importRows(try places.rows(count: 3000))
    let center = try #require(try await store.allPoints().first).draft.coordinate

    try await expectReferenceOrder(store, PointQuery(proximity: .init(center: center), limit: 40))
    try await expectReferenceOrder(
      store,
      PointQuery(proximity: .init(center: center), categories: ["category 0", "category 1"], limit: 40)
    )
  }

  @Test func concurrentWritesNeitherHideNorDuplicateOtherPlaces() async throws {
    let store = try await TemporaryDatabase.make().migratedStore()
    try await store.importRows(try (1...300).map { try place($0, 48, 16 + Double($0) / 1000) })
    let there = try await store.allPoints().map(\.id)
    var query = PointQuery(proximity: .init(center: try Coordinate(latitude: 48, longitude: 16)), limit: 20)

    var seen: [PointID] = []
    var number = 1000
    while true {
      let page = try await store.page(matching: query)
      seen += page.points.map(\.point.id)
      guard let next = page.next else { break }
      query.after = next
      number += 10
      try await store.importRows(try (number..<number + 10).map { try place($0, 48, 16 + Double($0 % 300) / 1000) })
    }

    #expect(Set(seen).count == seen.count)
    #expect(Set(seen).isSuperset(of: there))
  }
}
