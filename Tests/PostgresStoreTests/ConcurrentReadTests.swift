import Geo
import Points
import PostgresClient
import PostgresTestSupport
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

/// Tests of more reads at a time than there are connections.
@Suite struct ConcurrentReadTests {
  @Test(arguments: [nil, 2_000_000.0]) func eachConcurrentCallerGetsItsOwnRows(radius: Double?) async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1)
    var places = try SyntheticPoints(seed: 12, townCount: 10)
    try await store.importRows(try places.rows(count: 2000))
    let queries = try (0..<200).map { number in
      PointQuery(
        proximity: .init(center: try places.anywhere(), radiusMetres: radius),
        limit: number.isMultiple(of: 3) ? 7 : 20
      )
    }
    let reference = BruteForce(try await store.allPoints())

    let pages = try await withThrowingTaskGroup(of: (Int, PointPage).self) { group in
      for (number, query) in queries.enumerated() {
        group.addTask { (number, try await store.page(matching: query)) }
      }
      return try await group.reduce(into: [:]) { pages, page in pages[page.0] = page.1 }
    }

    #expect(pages.count == queries.count)
    for (number, query) in queries.enumerated() {
      let center = try #require(query.proximity?.center)
      #expect(pages[number] == reference.byDistance(from: center).page(matching: query))
    }
  }

  @Test func cancelledCallerDoesNotAffectTheOthers() async throws {
    let database = try await TemporaryDatabase.make()
    let store = try await database.migratedStore(poolSize: 1)
    try await store.importRows((0..<50).map { try .sample("place \($0)", 1, Double($0)) })
    let query = try PointQuery.near(1, 25, limit: 5)
    let expected = try await store.page(matching: query)

    let pages = try await withThrowingTaskGroup(of: PointPage?.self) { group in
      for number in 0..<60 {
        group.addTask {
          let asking = Task { try await store.page(matching: query) }
          if number.isMultiple(of: 2) { asking.cancel() }
          return number.isMultiple(of: 2) ? nil : try await asking.value
        }
      }
      return try await group.compactMap { $0 }.reduce(into: [PointPage]()) { $0.append($1) }
    }

    #expect(pages == Array(repeating: expected, count: 30))
  }
}
