import JSONText
import Points

/// A report of searches as JSON.
enum SearchReportJSON {
  /// The report of a stretch of time as one object.
  static func bytes(of report: SearchReport, from start: Timestamp, until end: Timestamp) -> [UInt8] {
    var json = Array("{\"since\":\"\(start)\",\"until\":\"\(end)\",\(members(report.total))".utf8)
    let (half, most) = (milliseconds(report.medianDuration), milliseconds(report.slowDuration))
    json.append(contentsOf: ",\"durationMs\":{\"p50\":\(half),\"p99\":\(most)}".utf8)
    append("busiestCells", report.busiestCells, to: &json, cell)
    append("cellsFoundNothing", report.emptiestCells, to: &json, cell)
    append("categories", report.categories, to: &json) { category, json in
      json.append(contentsOf: "{\"category\":".utf8)
      JSONString.append(category.category, to: &json)
      json.append(contentsOf: ",\(members(category.count))}".utf8)
    }
    append("hours", report.hours, to: &json) { hour, json in
      json.append(contentsOf: "{\"hour\":\"\(hour.start)\",\(members(hour.count))}".utf8)
    }
    json.append(UInt8(ascii: "}"))
    return json
  }

  private static func append<Element>(
    _ name: String, _ elements: [Element], to json: inout [UInt8], _ write: (Element, inout [UInt8]) -> Void
  ) {
    json.append(contentsOf: ",\"\(name)\":[".utf8)
    for (index, element) in elements.enumerated() {
      if index > 0 { json.append(UInt8(ascii: ",")) }
      write(element, &json)
    }
    json.append(UInt8(ascii: "]"))
  }

  private static func cell(_ cell: SearchReport.CellCount, to json: inout [UInt8]) {
    let (latitude, longitude) = (cell.cell.latitudeHundredths, cell.cell.longitudeHundredths)
    json.append(
      contentsOf: "{\"lat\":\(Double(latitude) / 100),\"long\":\(Double(longitude) / 100),\(members(cell.count))}".utf8)
  }

  private static func members(_ count: SearchReport.Count) -> String {
    "\"searches\":\(count.searches),\"foundNothing\":\(count.foundNothing)"
  }

  private static func milliseconds(_ duration: Duration?) -> String {
    duration.map { "\(Double($0 / .microseconds(1)) / 1000)" } ?? "null"
  }
}
