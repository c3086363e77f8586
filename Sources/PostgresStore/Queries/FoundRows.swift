import Points
import PostgresClient

/// The ordered rows of a page, still in the statement's result, followed by the first row of the next page if there is
/// one.
struct FoundRows: Sendable {
  /// The places that were found, ordered and without duplicates.
  let candidates: [NearestSearch.Candidate]
  /// The number of places on the page.
  private(set) var count: Int
  private let hasDistances: Bool
  private let result: QueryResult?

  init() {
    candidates = []
    hasDistances = false
    result = nil
    count = 0
  }

  /// Creates a page of candidates that are rows of a result.
  init(_ candidates: [NearestSearch.Candidate], in result: QueryResult, limit: Int) {
    self.candidates = candidates
    self.result = result
    hasDistances = true
    count = min(candidates.count, limit)
  }

  /// Creates a page without distances of a result's rows.
  init(listed result: QueryResult, limit: Int) throws(PointStoreError) {
    var candidates: [NearestSearch.Candidate] = []
    candidates.reserveCapacity(min(result.count, limit + 1))
    for row in result.rows.prefix(limit + 1) {
      let (id, coordinate) = (try row.pointID(), try row.coordinate())
      candidates.append(.init(distanceMetres: 0, id: id, coordinate: coordinate, row: row.index))
    }
    self.candidates = candidates
    self.result = result
    hasDistances = false
    count = min(candidates.count, limit)
  }

  /// Returns the next step towards the page.
  ///
  /// - Parameter included: the places whose long tags were included.
  func step(including included: [PointID]) -> PageStep {
    guard let result else { return .page(count: 0) }
    return PageStep(
      count: count,
      included: included,
      texts: { result.row(candidates[$0].row).texts },
      id: { candidates[$0].id }
    )
  }

  /// Returns a page of the first `count` places.
  func prefix(_ count: Int) -> FoundRows {
    var page = self
    page.count = count
    return page
  }

  /// Returns the page, decoded from all columns.
  func page() throws(PointStoreError) -> PointPage {
    guard let result else { return PointPage(points: [], hasMore: false) }
    var points: [FoundPoint] = []
    points.reserveCapacity(count)
    for candidate in candidates.prefix(count) {
      let point = try result.row(candidate.row).point()
      points.append(FoundPoint(point: point, distanceMetres: hasDistances ? candidate.distanceMetres : nil))
    }
    return PointPage(points: points, hasMore: candidates.count > count)
  }

  /// The page's summaries, which are decoded from the result in place.
  var summaryPage: SummaryPage {
    SummaryPage(self, next: candidates.count > count ? candidates[count - 1].position : nil)
  }
}

extension FoundRows: PointSummaries {
  func forEach(_ body: (PointSummary) -> Void) {
    guard let result else { return }
    for candidate in candidates.prefix(count) {
      result.row(candidate.row).withSummary(
        id: candidate.id,
        at: candidate.coordinate,
        distanceMetres: hasDistances ? candidate.distanceMetres : nil,
        body
      )
    }
  }
}
