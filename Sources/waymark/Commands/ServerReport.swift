import PlaceFormats
import Points

/// What a server answers to an import.
struct ServerReport: Decodable {
  struct Row: Decodable {
    let row: Int
    let line: Int?
    let detail: String
  }

  let created: Int
  let updated: Int
  let unchanged: Int
  let rejected: Int
  let errors: [Row]
  let warnings: [String]?

  /// Returns the report of a file whose rows come after so many others.
  func counted(after rows: Int, in file: PlaceFiles.File) -> ImportReport {
    var report = ImportReport()
    (report.created, report.updated, report.unchanged) = (created, updated, unchanged)
    for error in errors { report.reject(error.rejection(after: rows, in: file)) }
    report.reject(count: max(0, rejected - errors.count))
    return report
  }
}

extension ServerReport.Row {
  /// Returns the rejection of a row of a file whose rows come after so many others.
  func rejection(after rows: Int, in file: PlaceFiles.File) -> RejectedRow {
    let isFeature = file.format == .geoJSON || file.format == .geoJSONSequence
    let location = RowLocation(file: file.path, line: line, feature: isFeature ? row : nil)
    return RejectedRow(number: rows + row, detail: detail, location: location)
  }
}
