import Basics
package import Points
import PostgresClient

extension PostgresSearchLog: SearchHistory {
  /// Returns a summary of the searches in a period.
  ///
  /// Each part is a separate statement: searches that are recorded concurrently may count in one and not in another. It
  /// takes time in proportion to the searches of the period.
  package func searches(
    from start: Timestamp, until end: Timestamp, limit: Int
  ) async throws(PointStoreError) -> SearchReport {
    func rows(_ statement: Statement, isLimited: Bool) async throws(PointStoreError) -> QueryResult {
      let parameters = Parameters {
        $0.add(start)
        $0.add(end)
        if isLimited { $0.add(Int64(max(0, limit))) }
      }
      return try await pool.query(statement, parameters, isRead: true)
    }
    var report = SearchReport()
    for row in try await rows(SearchStatements.totals, isLimited: false).rows {
      report.total = try row.count(0)
      if !row.isNull(2) { report.medianDuration = .microseconds(try row.integer(2)) }
      if !row.isNull(3) { report.slowDuration = .microseconds(try row.integer(3)) }
    }
    for row in try await rows(SearchStatements.busiestCells, isLimited: true).rows {
      report.busiestCells.append(try row.cellCount())
    }
    for row in try await rows(SearchStatements.emptiestCells, isLimited: true).rows {
      report.emptiestCells.append(try row.cellCount())
    }
    for row in try await rows(SearchStatements.categories, isLimited: true).rows {
      report.categories.append(.init(ExactText(try row.text(0)), count: try row.count(1)))
    }
    if let minimumTextCount {
      let parameters = Parameters {
        $0.add(start)
        $0.add(end)
        $0.add(Int64(max(0, limit)))
        $0.add(Int64(minimumTextCount))
      }
      report.textsFoundNothing = []
      for row in try await pool.query(SearchStatements.texts, parameters, isRead: true).rows {
        report.textsFoundNothing?.append(.init(ExactText(try row.text(0)), count: try row.count(1)))
      }
    }
    for row in try await rows(SearchStatements.hours, isLimited: false).rows {
      report.hours.append(.init(try row.timestamp(0), count: try row.count(1)))
    }
    return report
  }
}

extension QueryResult.Row {
  /// Returns the counts of two columns: all searches, and those without results.
  fileprivate func count(_ column: Int32) throws(PointStoreError) -> SearchReport.Count {
    .init(searches: Int(try integer(column)), foundNothing: Int(try integer(column + 1)))
  }

  fileprivate func cellCount() throws(PointStoreError) -> SearchReport.SubjectCount<Search.Cell> {
    guard let latitude = Int32(exactly: try integer(0)), let longitude = Int32(exactly: try integer(1)) else {
      throw .unexpected(reason: "a search cell has no coordinate")
    }
    return .init(Search.Cell(latitudeHundredths: latitude, longitudeHundredths: longitude), count: try count(2))
  }
}
