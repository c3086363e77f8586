public import Points
import Testing

/// Holds a store's answers to random queries against the reference's.
public struct DifferentialTest: Sendable {
  /// How many centres are tried.
  public var centers = 100

  /// How many queries are made with each centre.
  public var queriesPerCenter = 20

  /// The seed of all that is random.
  public var seed: UInt64 = 1

  /// Creates a test of the usual size: 2,000 queries.
  public init() {}

  /// Asks the store and the reference, and records an issue where they differ.
  ///
  /// - Throws: what the store throws.
  public func run(against store: some PointStore) async throws {
    let points = try await store.allPoints()
    let reference = BruteForce(points)
    try #require(!points.isEmpty)
    #expect(try await store.categoryCounts() == reference.categoryCounts())
    var queries = RandomQueries(over: points, seed: seed)
    for _ in 0..<centers {
      let center = try queries.center()
      let ordered = center.map { reference.byDistance(from: $0) } ?? reference.byID()
      for number in 0..<queriesPerCenter {
        let query = try queries.query(center: center, ordered: ordered)
        let answer = try await store.page(matching: query)
        let expected = ordered.page(matching: query)
        if number.isMultiple(of: 4) {
          let summaries = try await store.summaries(matching: query)
          #expect(summaries.contents == SummaryPage(expected).contents, "\(query)")
        }
        // Compared as a whole first: a difference is worth describing, two thousand pages are not.
        if answer == expected { continue }
        let position = zip(answer.points, expected.points).prefix { $0 == $1 }.count
        Issue.record(
          """
          \(query)
          differs at \(position): \(answer.points.dropFirst(position).first.debugDescription) for \
          \(expected.points.dropFirst(position).first.debugDescription), \
          \(answer.points.count) places for \(expected.points.count), more: \(answer.hasMore) for \(expected.hasMore)
          """
        )
      }
    }
  }
}

extension PointStore {
  /// Every place, by id, a page after another.
  ///
  /// - Throws: ``Points/PointStoreError``.
  public func allPoints() async throws -> [PointOfInterest] {
    try await allMatches(of: PointQuery(limit: PointQuery.limits.upperBound)).map(\.point)
  }

  /// Every match of a query in its order, a page of its limit after another.
  ///
  /// - Throws: ``Points/PointStoreError``.
  public func allMatches(of query: PointQuery) async throws -> [FoundPoint] {
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

extension PointImporter {
  /// Takes rows as one batch.
  ///
  /// - Throws: what the store throws.
  @discardableResult
  public func importRows(
    _ rows: [ImportRow],
    mode: ImportMode = .partial,
    dryRun: Bool = false
  ) async throws -> ImportReport {
    try await importRows(rows.inOneBatch, mode: mode, dryRun: dryRun)
  }
}

extension [ImportRow] {
  /// The rows as a sequence of one batch.
  public var inOneBatch: AsyncStream<[ImportRow]> {
    AsyncStream { continuation in
      continuation.yield(self)
      continuation.finish()
    }
  }
}
