import Points

/// The rows of a page in its order, still in the answers that they came in, and the one behind them where there is one.
struct FoundRows: Sendable {
  /// The places that were found, in order, each once.
  private(set) var candidates: [NearestSearch.Candidate] = []
  private var answers: [QueryResult] = []
  private var limit: Int

  /// Makes an empty page.
  init(limit: Int) {
    self.limit = limit
  }

  /// Adds what an answer proves.
  mutating func append(_ batch: NearestSearch.Batch) {
    for var candidate in batch.proven {
      candidate.answer = Int32(answers.count)
      candidates.append(candidate)
    }
    answers.append(batch.answer)
  }

  /// The page, from whole places' columns.
  func page() throws(PointStoreError) -> PointPage {
    let limit = fittingCount
    var points: [FoundPoint] = []
    points.reserveCapacity(limit)
    for candidate in candidates.prefix(limit) {
      points.append(FoundPoint(point: try row(of: candidate).point(), distanceMetres: candidate.distanceMetres))
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
    PointPage.fittingCount(of: count) { row(of: candidates[$0]).textBytes }
  }

  private func row(of candidate: NearestSearch.Candidate) -> QueryResult.Row {
    answers[Int(candidate.answer)].row(candidate.row)
  }
}

extension FoundRows: PointSummaries {
  var count: Int { min(candidates.count, limit) }

  func forEach(_ body: (PointSummary) -> Void) {
    for candidate in candidates.prefix(limit) {
      row(of: candidate).withSummary(
        id: candidate.id,
        at: candidate.coordinate,
        distanceMetres: candidate.distanceMetres,
        body
      )
    }
  }
}
