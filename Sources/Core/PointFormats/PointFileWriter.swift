import Basics
import JSONText
package import Points

/// A writer of files that ``PointParser`` reads as the same places with the same ids.
///
/// Each place is appended to bytes of the caller; nothing is kept. All fields are written, tags always, other optional
/// ones where there is a value. Coordinates are the shortest decimals that read as the same number. In CSV,
/// ``PointParser`` removes the apostrophe that keeps a spreadsheet from calculating a text.
package struct PointFileWriter: Sendable {
  private static let fields = FieldSet.all.subtracting(.ofSearch)

  /// The format that is written.
  package let format: PointFormat

  private let csv = PointCSV(fields: fields)
  private var isFollowing = false

  package init(format: PointFormat) {
    self.format = format
  }

  /// Appends the text before the first place.
  package func begin(to bytes: inout [UInt8]) {
    switch format {
    case .json: bytes.write("[")
    case .geoJSON: bytes.write("{\"type\":\"FeatureCollection\",\"features\":[")
    case .geoJSONSequence, .ndjson: break
    case .csv: csv.appendHeader(to: &bytes)
    }
  }

  /// Appends a place, after its separator.
  package mutating func append(_ point: PointOfInterest, to bytes: inout [UInt8]) {
    let found = FoundPoint(point: point, distanceMetres: nil)
    switch format {
    case .json:
      beginLine(in: &bytes)
      PointJSON.append(found, fields: Self.fields, to: &bytes)
    case .geoJSON:
      beginLine(in: &bytes)
      PointGeoJSON.append(found, fields: Self.fields, to: &bytes)
    case .geoJSONSequence: PointGeoJSON.appendRecord(found, fields: Self.fields, to: &bytes)
    case .ndjson:
      PointJSON.append(found, fields: Self.fields, to: &bytes)
      bytes.write("\n")
    case .csv: csv.append(found, to: &bytes)
    }
  }

  /// Appends the text behind the last place.
  package func end(to bytes: inout [UInt8]) {
    switch format {
    case .json: bytes.write("\n]\n")
    case .geoJSON: bytes.write("\n]}\n")
    case .geoJSONSequence, .ndjson, .csv: break
    }
  }

  /// Appends a row as a line of NDJSON.
  package static func append(_ row: ImportRow, to bytes: inout [UInt8]) {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let point = PointOfInterest(
      id: row.id ?? PointID(high: 0, low: 0), draft: row.draft, version: 1, createdAt: time, updatedAt: time)
    var fields = FieldSet.writable
    if row.id == nil { fields.remove(.id) }
    PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: fields, to: &bytes)
    bytes.write("\n")
  }

  /// Appends the comma behind the place before, if any, and begins a line.
  private mutating func beginLine(in bytes: inout [UInt8]) {
    if isFollowing { bytes.write(",\n") } else { bytes.write("\n") }
    isFollowing = true
  }
}
