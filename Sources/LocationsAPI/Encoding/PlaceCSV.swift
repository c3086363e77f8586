import Geo
import JSONText
import NIOCore
import PlaceFormats
import Points

/// Writes places as CSV (RFC 4180): a header line with the fields' names, then a line for each place. Tags are a JSON
/// object in their column; what a place does not have is an empty column.
enum PlaceCSV {
  static func write(_ points: [FoundPoint], fields: FieldSet, to buffer: inout ByteBuffer) {
    let hasDistances = points.contains { $0.distanceMetres != nil }
    let columns = FieldSet.named.filter { column in
      fields.contains(column.field) && (column.field != .distance || hasDistances)
    }
    var bytes = Array(columns.map(\.name).joined(separator: ",").utf8)
    bytes.append(contentsOf: "\r\n".utf8)
    for point in points {
      for (index, column) in columns.enumerated() {
        if index > 0 { bytes.append(UInt8(ascii: ",")) }
        append(column.field, of: point, to: &bytes)
      }
      bytes.append(contentsOf: "\r\n".utf8)
    }
    buffer.writeBytes(bytes)
  }

  private static func append(_ field: FieldSet, of found: FoundPoint, to bytes: inout [UInt8]) {
    let point = found.point
    let place = point.place
    switch field {
    case .id: bytes.append(contentsOf: point.id.description.utf8)
    case .name: CSVText.append(place.name, to: &bytes)
    case .category: CSVText.append(place.category ?? "", to: &bytes)
    case .latitude: DecimalText.append(place.coordinate.latitude, to: &bytes)
    case .longitude: DecimalText.append(place.coordinate.longitude, to: &bytes)
    case .distance: if let distance = found.distanceMetres { DecimalText.appendTenths(distance, to: &bytes) }
    case .tags: if !place.tags.isEmpty { CSVText.appendQuoted(place.tags.json, to: &bytes) }
    case .source: CSVText.append(place.origin?.source ?? "", to: &bytes)
    case .sourceID: CSVText.append(place.origin?.sourceID ?? "", to: &bytes)
    case .version: bytes.append(contentsOf: point.version.description.utf8)
    case .createdAt: bytes.append(contentsOf: point.createdAt.description.utf8)
    case .updatedAt: bytes.append(contentsOf: point.updatedAt.description.utf8)
    default: preconditionFailure("a column is one field")
    }
  }
}
