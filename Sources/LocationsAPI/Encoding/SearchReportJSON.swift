import Basics
import JSONText
import Points

enum SearchReportJSON {
  /// Returns the report of a stretch of time as one object.
  static func text(of report: SearchReport, from start: Timestamp, until end: Timestamp) -> JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "since", start.description)
    json.write(member: "until", end.description)
    write(report.total, to: &json)
    json.write(name: "durationMs")
    json.beginObject()
    write(milliseconds: report.medianDuration, as: "p50", to: &json)
    write(milliseconds: report.slowDuration, as: "p99", to: &json)
    json.endObject()
    for (name, cells) in [
      ("busiestCells" as StaticString, report.busiestCells), ("cellsFoundNothing", report.emptiestCells),
    ] {
      write(cells, as: name, to: &json) { cell, json in
        json.write(name: "lat")
        json.write(json: "\(Double(cell.latitudeHundredths) / 100)")
        json.write(name: "long")
        json.write(json: "\(Double(cell.longitudeHundredths) / 100)")
      }
    }
    write(report.categories, as: "categories", to: &json) { $1.write(member: "category", $0.text) }
    if let texts = report.textsFoundNothing {
      write(texts, as: "textsFoundNothing", to: &json) { $1.write(member: "text", $0.text) }
    }
    write(report.hours, as: "hours", to: &json) { $1.write(member: "hour", $0.description) }
    json.endObject()
    return json
  }

  private static func write<Subject>(
    _ counts: [SearchReport.SubjectCount<Subject>],
    as name: StaticString,
    to json: inout JSONWriter<[UInt8]>,
    _ writeSubject: (Subject, inout JSONWriter<[UInt8]>) -> Void
  ) {
    json.write(name: name)
    json.writeArray(of: counts) { entry, json in
      writeSubject(entry.subject, &json)
      write(entry.count, to: &json)
    }
  }

  private static func write(_ count: SearchReport.Count, to json: inout JSONWriter<[UInt8]>) {
    json.write(member: "searches", count.searches)
    json.write(member: "foundNothing", count.foundNothing)
  }

  private static func write(
    milliseconds duration: Duration?, as name: StaticString, to json: inout JSONWriter<[UInt8]>
  ) {
    json.write(name: name)
    json.write(json: duration.map { "\(Double($0 / .microseconds(1)) / 1000)" } ?? "null")
  }
}
