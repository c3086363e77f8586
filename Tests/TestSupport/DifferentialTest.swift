package import Points
import Testing

/// A comparison of a store with the reference implementation on random queries.
package struct DifferentialTest: Sendable {
  /// The number of centres.
  package var centers = 100

  /// The number of queries with each centre.
  package var queriesPerCenter = 20

  /// The seed of the random queries.
  package var seed: UInt64 = 1

  /// The property filters of the queries, one each in turn; without any, the queries have none.
  package var filters: [PropertyFilter] = []

  /// A Boolean value that indicates whether the queries have areas.
  package var hasAreas = false

  /// A Boolean value that indicates whether the queries have routes instead of centres.
  package var hasRoutes = false

  /// Creates a test with the default size of 2,000 queries.
  package init() {}

  /// Runs the queries on both, and records an issue for each difference.
  ///
  /// - Throws: the store's errors.
  package func run(against store: some PointStore) async throws {
    let points = try await store.allPoints()
    let reference = BruteForce(points)
    try #require(!points.isEmpty)
    #expect(try await store.categoryCounts() == reference.categoryCounts())
    var queries = RandomQueries(over: points, seed: seed)
    for _ in 0..<centers {
      let center = hasRoutes ? nil : try queries.center()
      let route = hasRoutes ? try queries.route() : nil
      let ordered =
        route.map { reference.along($0) } ?? center.map { reference.byDistance(from: $0) } ?? reference.byID()
      for number in 0..<queriesPerCenter {
        var query = try queries.query(center: center, ordered: ordered)
        query.route = route
        if hasAreas { query.area = try queries.area() }
        if !filters.isEmpty { query.filter = filters[number % filters.count] }
        let page = try await store.page(matching: query)
        if number.isMultiple(of: 5) {
          var whole = query
          whole.after = nil
          let count = try await store.count(matching: query)
          #expect(count == ordered.matches(of: whole).count, "the number of \(query)")
        }
        let expected = ordered.page(matching: query)
        if number.isMultiple(of: 4) {
          #expect(page.copied == expected.points, "\(query)")
        }
        // The results are compared as a whole first: only a difference is worth describing.
        if page == expected { continue }
        let position = zip(page.points, expected.points).prefix { $0 == $1 }.count
        Issue.record(
          """
          \(query)
          differs at \(position): \(page.points.dropFirst(position).first.debugDescription) for \
          \(expected.points.dropFirst(position).first.debugDescription), \
          \(page.points.count) places for \(expected.points.count), more: \(page.hasMore) for \(expected.hasMore)
          """
        )
      }
    }
  }
}

extension PointStore {
  /// Returns all places, page by page, in order of id.
  ///
  /// - Throws: ``Points/PointStoreError``.
  package func allPoints() async throws -> [PointOfInterest] {
    try await allMatches(of: PointQuery(limit: PointQuery.limits.upperBound)).map(\.point)
  }

  /// Returns all matches of a query in order, in pages of its limit.
  ///
  /// - Throws: ``Points/PointStoreError``.
  package func allMatches(of query: PointQuery) async throws -> [FoundPoint] {
    var query = query
    var found: [FoundPoint] = []
    while true {
      let page = try await page(matching: query)
      found += page.points
      guard let next = page.next else { return found }
      query.after = next
    }
  }
}

extension PointStore {
  /// Imports rows as one batch.
  ///
  /// - Throws: the store's errors.
  @discardableResult
  package func importRows(
    _ rows: [ImportRow],
    mode: ImportMode = .partial,
    dryRun: Bool = false
  ) async throws -> ImportReport {
    try await importRows(rows.inOneBatch, mode: mode, dryRun: dryRun)
  }
}

extension [ImportRow] {
  /// A sequence that contains the rows as one batch.
  package var inOneBatch: AsyncStream<[ImportRow]> {
    AsyncStream { continuation in
      continuation.yield(self)
      continuation.finish()
    }
  }
}
