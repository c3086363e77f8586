import Basics
import Geo
import JSONText
public import Points

/// Places as CSV (RFC 4180): a header line with the names of the fields, then a line for each place.
///
/// Lines end with CRLF. Tags are a JSON object in their column; an optional value that a place lacks is an empty cell.
/// A text that a spreadsheet would take for a formula is written behind an apostrophe (see ``FormulaGuard``).
public struct PointCSV: Sendable {
  private let columns: [(name: String, field: FieldSet)]

  /// Creates the columns for fields.
  public init(fields: FieldSet) {
    columns = FieldSet.named.filter { fields.contains($0.field) }
  }

  /// Appends the header and a page of places. There is a column of distances, and of lengths along a route, where a
  /// place has one.
  public static func append(_ points: [FoundPoint], fields: FieldSet, to bytes: inout [UInt8]) {
    let hasDistances = points.contains { $0.distanceMetres != nil }
    let hasLengths = points.contains { $0.alongMetres != nil }
    var columns = fields
    if !hasDistances { columns.subtract(.distance) }
    if !hasLengths { columns.subtract(.along) }
    let csv = PointCSV(fields: columns)
    csv.appendHeader(to: &bytes)
    for point in points { csv.append(point, to: &bytes) }
  }

  /// Appends the header line.
  public func appendHeader(to bytes: inout [UInt8]) {
    bytes.write(text: columns.map(\.name).joined(separator: ","))
    bytes.write("\r\n")
  }

  /// Appends the line of a place.
  public func append(_ found: FoundPoint, to bytes: inout [UInt8]) {
    for (index, column) in columns.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      Self.append(column.field, of: found, to: &bytes)
    }
    bytes.write("\r\n")
  }

  private static func append(_ field: FieldSet, of found: FoundPoint, to bytes: inout [UInt8]) {
    let point = found.point
    let place = point.draft
    switch field {
    case .id:
      bytes.write(atMost: PointID.textLength) { text in
        point.id.write(to: text)
        return PointID.textLength
      }
    case .name: CSVText.append(place.name, to: &bytes)
    case .category: if let category = place.category { CSVText.append(category, to: &bytes) }
    case .latitude: DecimalText.append(place.coordinate.latitude, to: &bytes)
    case .longitude: DecimalText.append(place.coordinate.longitude, to: &bytes)
    case .distance: if let distance = found.distanceMetres { DecimalText.appendTenths(distance, to: &bytes) }
    case .along: if let along = found.alongMetres { DecimalText.appendTenths(along, to: &bytes) }
    case .tags: if !place.tags.isEmpty { CSVText.appendQuoted(place.tags.json, to: &bytes) }
    case .source: if let origin = place.origin { CSVText.append(origin.source, to: &bytes) }
    case .sourceID: if let origin = place.origin { CSVText.append(origin.sourceID, to: &bytes) }
    case .version: bytes.write(text: point.version.description)
    case .createdAt: bytes.write(atMost: Timestamp.maximumTextLength) { point.createdAt.write(to: $0) }
    case .updatedAt: bytes.write(atMost: Timestamp.maximumTextLength) { point.updatedAt.write(to: $0) }
    case .attribution: if let attribution = found.attribution { CSVText.append(attribution, to: &bytes) }
    case .label: if let label = found.label { CSVText.append(label, to: &bytes) }
    case .score: if let score = found.score { DecimalText.append(PointJSON.rounded(score), to: &bytes) }
    case .match:
      if let match = found.match {
        var json = JSONWriter()
        PointJSON.write(match, to: &json)
        CSVText.appendQuoted(String(decoding: json.sink, as: UTF8.self), to: &bytes)
      }
    default: preconditionFailure("a column is one field")
    }
  }
}
