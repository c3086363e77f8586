import Points

/// The rows of a page in its order, still in the statement's result, and the one behind them where there is one.
struct FoundRows: Sendable {
  /// The places that were found, in order, each once.
  let candidates: [NearestSearch.Candidate]
  /// The number of places that the page holds.
  private(set) var count: Int
  private let hasDistances: Bool
  private let result: QueryResult?

  /// Creates an empty page.
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

  /// Returns what is to be done for the page.
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

  /// Returns the page of the first so many places.
  func prefix(_ count: Int) -> FoundRows {
    var page = self
    page.count = count
    return page
  }

  /// The page, from whole places' columns.
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

  /// The page's summaries, read where they are.
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
