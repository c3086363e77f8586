import Points

/// What an import did, in words.
struct ImportSummary {
  let report: ImportReport
  let isDryRun: Bool

  /// A line of counts, then one for each rejection that is known in detail.
  var lines: [String] {
    let rows = report.created + report.updated + report.unchanged + report.rejected
    let counts = "\(report.created) created, \(report.updated) updated, \(report.unchanged) unchanged, "
    var lines = [
      "\(rows) rows: \(counts)\(report.rejected) rejected\(isDryRun ? " (dry run: nothing was changed)" : "")"
    ]
    lines += report.rejections.map { "row \($0.number): \($0.detail)" }
    let more = report.rejected - report.rejections.count
    if more > 0 { lines.append("and \(more) more rows") }
    return lines
  }
}
