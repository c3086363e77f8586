import Geo
import JSONText
public import Points

/// Writes places as ``PlaceParser`` reads them, so that what was written reads as the same places with the same ids.
///
/// Each place is appended to bytes that the caller sends on when it likes; nothing is kept. All fields are written,
/// optional ones where they are there, tags always. Coordinates are the shortest decimals that read as the same number.
///
/// In CSV, lines end with CRLF, the columns are ``csvColumns`` and `tags` is a JSON object. A text that begins with `=`,
/// `+`, `-` or `@`, which a spreadsheet would take for a formula, is written behind an apostrophe, and so is one that
/// begins with apostrophes before such a character; ``PlaceParser`` takes one away again.
public struct PlaceWriter: Sendable {
  /// The columns of a CSV file, in order.
  public static let csvColumns = [
    "id", "name", "category", "lat", "long", "tags", "source", "sourceId", "version", "createdAt", "updatedAt",
  ]

  /// The format that is written.
  public let format: PlaceFormat

  private var isFirst = true
  private var times = TimestampText()

  /// Creates a writer that has written nothing.
  public init(format: PlaceFormat) {
    self.format = format
  }

  /// Appends what stands before the first place.
  public func begin(to bytes: inout [UInt8]) {
    switch format {
    case .json: bytes.append(ascii: "[")
    case .geoJSON: bytes.append(ascii: "{\"type\":\"FeatureCollection\",\"features\":[")
    case .geoJSONSequence, .ndjson: break
    case .csv:
      for (index, column) in Self.csvColumns.enumerated() {
        if index > 0 { bytes.append(ascii: ",") }
        bytes.append(contentsOf: column.utf8)
      }
      bytes.append(ascii: "\r\n")
    }
  }

  /// Appends a place, and what parts it from the one before.
  public mutating func append(_ point: PointOfInterest, to bytes: inout [UInt8]) {
    defer { isFirst = false }
    switch format {
    case .json, .geoJSON:
      bytes.append(ascii: isFirst ? "\n" : ",\n")
      if format == .json { bytes.appendObject(of: point, &times) } else { bytes.appendFeature(of: point, &times) }
    case .geoJSONSequence:
      bytes.append(0x1E)
      bytes.appendFeature(of: point, &times)
      bytes.append(ascii: "\n")
    case .ndjson:
      bytes.appendObject(of: point, &times)
      bytes.append(ascii: "\n")
    case .csv: bytes.appendRecord(of: point, &times)
    }
  }

  /// Appends what stands behind the last place.
  public func end(to bytes: inout [UInt8]) {
    switch format {
    case .json: bytes.append(ascii: "\n]\n")
    case .geoJSON: bytes.append(ascii: "\n]}\n")
    case .geoJSONSequence, .ndjson, .csv: break
    }
  }
}

// MARK: JSON

extension [UInt8] {
  fileprivate mutating func appendObject(of point: PointOfInterest, _ times: inout TimestampText) {
    append(ascii: "{\"id\":\"")
    append(point.id)
    append(ascii: "\",\"name\":")
    JSONString.append(point.place.name, to: &self)
    appendMember(",\"category\":", point.place.category)
    append(ascii: ",\"lat\":")
    DecimalText.append(point.place.coordinate.latitude, to: &self)
    append(ascii: ",\"long\":")
    DecimalText.append(point.place.coordinate.longitude, to: &self)
    appendWhatIsNoCoordinate(of: point, &times)
    append(ascii: "}")
  }

  fileprivate mutating func appendFeature(of point: PointOfInterest, _ times: inout TimestampText) {
    append(ascii: "{\"type\":\"Feature\",\"id\":\"")
    append(point.id)
    append(ascii: "\",\"geometry\":{\"type\":\"Point\",\"coordinates\":[")
    DecimalText.append(point.place.coordinate.longitude, to: &self)
    append(ascii: ",")
    DecimalText.append(point.place.coordinate.latitude, to: &self)
    append(ascii: "]},\"properties\":{\"name\":")
    JSONString.append(point.place.name, to: &self)
    appendMember(",\"category\":", point.place.category)
    appendWhatIsNoCoordinate(of: point, &times)
    append(ascii: "}}")
  }

  /// Appends the members that stand behind the coordinates in an object and behind the category in a Feature.
  private mutating func appendWhatIsNoCoordinate(of point: PointOfInterest, _ times: inout TimestampText) {
    append(ascii: ",\"tags\":")
    append(contentsOf: point.place.tags.json.utf8)
    appendMember(",\"source\":", point.place.origin?.source)
    appendMember(",\"sourceId\":", point.place.origin?.sourceID)
    append(ascii: ",\"version\":")
    append(contentsOf: point.version.description.utf8)
    append(ascii: ",\"createdAt\":\"")
    times.append(point.createdAt, to: &self)
    append(ascii: "\",\"updatedAt\":\"")
    times.append(point.updatedAt, to: &self)
    append(ascii: "\"")
  }

  private mutating func appendMember(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    append(ascii: name)
    JSONString.append(value, to: &self)
  }
}

// MARK: CSV

extension [UInt8] {
  fileprivate mutating func appendRecord(of point: PointOfInterest, _ times: inout TimestampText) {
    append(point.id)
    appendText(point.place.name)
    appendText(point.place.category)
    append(ascii: ",")
    DecimalText.append(point.place.coordinate.latitude, to: &self)
    append(ascii: ",")
    DecimalText.append(point.place.coordinate.longitude, to: &self)
    append(ascii: ",")
    if !point.place.tags.isEmpty { CSVText.appendQuoted(point.place.tags.json, to: &self) }
    appendText(point.place.origin?.source)
    appendText(point.place.origin?.sourceID)
    append(ascii: ",")
    append(contentsOf: point.version.description.utf8)
    append(ascii: ",")
    times.append(point.createdAt, to: &self)
    append(ascii: ",")
    times.append(point.updatedAt, to: &self)
    append(ascii: "\r\n")
  }

  /// Appends a comma and the text.
  private mutating func appendText(_ text: String?) {
    append(ascii: ",")
    if let text { CSVText.append(text, to: &self) }
  }
}

// MARK: Values

extension [UInt8] {
  fileprivate mutating func append(ascii text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  fileprivate mutating func append(_ id: PointID) {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: PointID.textLength) { buffer in
      id.write(to: buffer.baseAddress.unsafelyUnwrapped)
      append(contentsOf: buffer)
    }
  }
}
