import Points

/// The report of an import in words.
struct ImportSummary {
  let report: ImportReport
  let isDryRun: Bool

  /// A line of counts, then one for each rejection with details.
  var lines: [String] {
    let rows = report.created + report.updated + report.unchanged + report.rejected
    let deleted = report.deleted.map { "\($0) deleted, " } ?? ""
    let counts = "\(report.created) created, \(report.updated) updated, \(report.unchanged) unchanged, \(deleted)"
    var lines = [
      "\(rows) rows: \(counts)\(report.rejected) rejected\(isDryRun ? " (dry run: nothing was changed)" : "")"
    ]
    lines += Self.lines(of: report)
    return lines
  }

  /// Returns the explanation for an import that took nothing because rows are invalid: a line, then one for each of
  /// them.
  static func rejection(of report: ImportReport) -> String {
    let isCut = report.rejected >= ImportReport.maximumRejections
    let count = "\(isCut ? "at least " : "")\(report.rejected) \(report.rejected == 1 ? "row is" : "rows are") invalid"
    return (["\(count); nothing was imported"] + lines(of: report)).joined(separator: "\n")
  }

  private static func lines(of report: ImportReport) -> [String] {
    var lines = report.rejections.map { row in
      let location = row.location.description
      return "row \(row.number)\(location.isEmpty ? "" : " (\(location))"): \(row.detail)"
    }
    let more = report.rejected - report.rejections.count
    if more > 0 { lines.append("and \(more) more rows") }
    return lines
  }
}
