import Points

/// The rows of a page in its order, still in the statement's result, and the one behind them where there is one.
struct FoundRows: Sendable {
  /// The places that were found, in order, each once.
  let candidates: [NearestSearch.Candidate]
  private let result: QueryResult?
  private var limit: Int

  /// Creates an empty page.
  init() {
    candidates = []
    result = nil
    limit = 0
  }

  /// Creates a page of candidates that are rows of a result.
  init(_ candidates: [NearestSearch.Candidate], in result: QueryResult, limit: Int) {
    self.candidates = candidates
    self.result = result
    self.limit = limit
  }

  /// The page, from whole places' columns.
  func page() throws(PointStoreError) -> PointPage {
    guard let result else { return PointPage(points: [], hasMore: false) }
    let limit = fittingCount
    var points: [FoundPoint] = []
    points.reserveCapacity(limit)
    for candidate in candidates.prefix(limit) {
      points.append(FoundPoint(point: try result.row(candidate.row).point(), distanceMetres: candidate.distanceMetres))
    }
    return PointPage(points: points, hasMore: candidates.count > limit)
  }

  /// The page's summaries, read where they are.
  var summaryPage: SummaryPage {
    var page = self
    page.limit = fittingCount
    return SummaryPage(page, next: candidates.count > page.limit ? candidates[page.limit - 1].position : nil)
  }

  /// The number of places that the page holds.
  private var fittingCount: Int {
    guard let result else { return 0 }
    return PointPage.fittingCount(of: count) { result.row(candidates[$0].row).textBytes }
  }
}

extension FoundRows: PointSummaries {
  var count: Int { min(candidates.count, limit) }

  func forEach(_ body: (PointSummary) -> Void) {
    guard let result else { return }
    for candidate in candidates.prefix(limit) {
      result.row(candidate.row).withSummary(
        id: candidate.id,
        at: candidate.coordinate,
        distanceMetres: candidate.distanceMetres,
        body
      )
    }
  }
}
