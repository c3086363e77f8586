import JSONText
import Points

/// The JSON text of a report of searches.
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
    write(report.busiestCells, as: "busiestCells", to: &json)
    write(report.emptiestCells, as: "cellsFoundNothing", to: &json)
    json.write(name: "categories")
    json.beginArray()
    for category in report.categories {
      json.beginObject()
      json.write(member: "category", category.category)
      write(category.count, to: &json)
      json.endObject()
    }
    json.endArray()
    json.write(name: "hours")
    json.beginArray()
    for hour in report.hours {
      json.beginObject()
      json.write(member: "hour", hour.start.description)
      write(hour.count, to: &json)
      json.endObject()
    }
    json.endArray()
    json.endObject()
    return json
  }

  private static func write(
    _ cells: [SearchReport.CellCount], as name: StaticString, to json: inout JSONWriter<[UInt8]>
  ) {
    json.write(name: name)
    json.beginArray()
    for cell in cells {
      json.beginObject()
      json.write(name: "lat")
      json.write(json: "\(Double(cell.cell.latitudeHundredths) / 100)")
      json.write(name: "long")
      json.write(json: "\(Double(cell.cell.longitudeHundredths) / 100)")
      write(cell.count, to: &json)
      json.endObject()
    }
    json.endArray()
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
