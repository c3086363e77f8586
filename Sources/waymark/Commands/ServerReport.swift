import Points

/// What a server answers to an import.
struct ServerReport: Decodable {
  struct Row: Decodable {
    let row: Int
    let detail: String
  }

  let created: Int
  let updated: Int
  let unchanged: Int
  let rejected: Int
  let errors: [Row]

  /// The report of a file whose rows come after so many others.
  func counted(after rows: Int) -> ImportReport {
    var report = ImportReport()
    (report.created, report.updated, report.unchanged) = (created, updated, unchanged)
    for error in errors { report.reject(RejectedRow(number: rows + error.row, detail: error.detail)) }
    report.reject(count: max(0, rejected - errors.count))
    return report
  }
}
