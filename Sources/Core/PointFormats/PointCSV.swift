import Basics
import Geo
import JSONText
package import Points

/// Places as CSV (RFC 4180): a header line with the names of the fields, then a line for each place.
///
/// Lines end with CRLF. Tags are a JSON object in their column; an optional value that a place lacks is an empty cell.
/// A text that a spreadsheet would take for a formula is written behind an apostrophe (see ``FormulaGuard``).
package struct PointCSV: Sendable {
  private let columns: [PointField]

  package init(fields: FieldSet) {
    columns = fields.fields
  }

  /// Appends the header and a page of places. There is a column of distances, and of lengths along a route, where a
  /// place has one.
  package static func append(_ points: [FoundPoint], fields: FieldSet, to bytes: inout [UInt8]) {
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
  package func appendHeader(to bytes: inout [UInt8]) {
    bytes.write(text: columns.map(\.name).joined(separator: ","))
    bytes.write("\r\n")
  }

  /// Appends the line of a place.
  package func append(_ found: FoundPoint, to bytes: inout [UInt8]) {
    for (index, column) in columns.enumerated() {
      if index > 0 { bytes.append(UInt8(ascii: ",")) }
      Self.append(column, of: found, to: &bytes)
    }
    bytes.write("\r\n")
  }

  private static func append(_ field: PointField, of found: FoundPoint, to bytes: inout [UInt8]) {
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
    case .openState: if let state = found.state { bytes.write(text: state.state.rawValue) }
    case .openUntil: if let time = found.state?.openUntil { bytes.write(text: time) }
    case .opensAt: if let time = found.state?.opensAt { bytes.write(text: time) }
    case .timeZone: if let state = found.state { CSVText.append(state.timeZone, to: &bytes) }
    case .label: if let label = found.label { CSVText.append(label, to: &bytes) }
    case .score: if let score = found.score { DecimalText.append(PointJSON.rounded(score), to: &bytes) }
    case .match:
      if let match = found.match {
        var json = JSONWriter()
        PointJSON.write(match, to: &json)
        CSVText.appendQuoted(String(decoding: json.sink, as: UTF8.self), to: &bytes)
      }
    case .geometry, .operatingStatus: break
    }
  }
}

/// The cells of a CSV record (RFC 4180).
package enum CSVText {
  /// Appends a text as a cell: behind an apostrophe where a spreadsheet would take it for a formula (see
  /// ``FormulaGuard``), and between quotation marks where it needs them.
  package static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { utf8 in
      if FormulaGuard.isNeeded(for: utf8) {
        appendWhole([FormulaGuard.apostrophe] + utf8, to: &bytes)
      } else {
        appendWhole(utf8, to: &bytes)
      }
    }
  }

  private static func appendWhole(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    let needsQuotes = text.contains { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
    }
    if needsQuotes { appendQuoted(text, to: &bytes) } else { bytes.append(contentsOf: text) }
  }

  /// Appends a text as a cell between quotation marks, those within doubled.
  static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { utf8 in appendQuoted(utf8, to: &bytes) }
  }

  private static func appendQuoted(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    let mark = UInt8(ascii: "\"")
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * text.count + 2) { cell in
      var length = 0
      func put(_ byte: UInt8) {
        cell[length] = byte
        length += 1
      }
      put(mark)
      for byte in text {
        if byte == mark { put(mark) }
        put(byte)
      }
      put(mark)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: cell[..<length]))
    }
  }
}

/// The guard that keeps a spreadsheet from taking a text for a formula.
///
/// Spreadsheets calculate a cell of a CSV file that begins with `=`, `+`, `-` or `@`, quoted or not, and a formula can
/// send the contents of other cells elsewhere (CWE-1236). A user who may write a place must not attack the users who
/// open an export, so such a text is written behind an apostrophe, which spreadsheets know as the mark of a text. So is
/// a text that already begins with apostrophes before such a character: removing one restores every text.
enum FormulaGuard {
  /// Returns a Boolean value that indicates whether the text must be guarded, or is.
  static func isNeeded(for text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = text.first(where: { $0 != apostrophe }) else { return false }
    return first == UInt8(ascii: "=") || first == UInt8(ascii: "+") || first == UInt8(ascii: "-")
      || first == UInt8(ascii: "@")
  }

  /// Returns the text without its guard.
  static func removed(from text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard text.first == apostrophe, isNeeded(for: text) else { return text }
    return UnsafeBufferPointer(rebasing: text.dropFirst())
  }

  static let apostrophe = UInt8(ascii: "'")
}

/// A point as well-known text (OGC 06-103r4, section 7.2): `POINT (13.4 52.5)`, with or without an altitude.
///
/// An SRID of 4326 before the text, as PostGIS writes it, is accepted; so is an empty space left out or doubled.
package struct WellKnownPoint: Hashable, Sendable {
  /// The latitude in degrees.
  package let latitude: Double

  /// The longitude in degrees.
  package let longitude: Double

  /// Creates the point of a text; `nil` if it is none within the range of coordinates.
  package init?(text: UnsafeBufferPointer<UInt8>) {
    var words = String(decoding: text.prefix(200), as: UTF8.self).uppercased()
    guard text.count <= 200 else { return nil }
    if words.hasPrefix("SRID=4326;") { words.removeFirst(10) }
    guard let open = words.firstIndex(of: "("), let close = words.lastIndex(of: ")"), open < close,
      words[words.index(after: close)...].allSatisfy(\.isWhitespace)
    else { return nil }
    let kind = words[..<open].split(whereSeparator: \.isWhitespace)
    let suffix = kind.dropFirst().first
    guard kind.first == "POINT" || kind.first == "POINTZ", kind.count <= 2,
      suffix == nil || ["Z", "M", "ZM"].contains(suffix)
    else { return nil }
    let numbers = words[words.index(after: open)..<close].split(whereSeparator: \.isWhitespace).map { number in
      Array(number.utf8).withUnsafeBufferPointer { DecimalText.value(of: $0) }
    }
    guard (2...4).contains(numbers.count), let longitude = numbers[0], let latitude = numbers[1],
      Coordinate.longitudes.contains(longitude), Coordinate.latitudes.contains(latitude)
    else { return nil }
    self.latitude = latitude
    self.longitude = longitude
  }
}
