import Geo
import Points
import PostgresClient

/// Rows in the binary format of `COPY` (PostgreSQL's manual, `COPY`, section "Binary Format").
struct CopyRows {
  /// The encoded rows, preceded by the header in the first batch.
  private(set) var bytes: [UInt8] = []

  private let time: Timestamp
  private var generator = SystemRandomNumberGenerator()

  /// The columns of a row, in order.
  static let columns = "row_number, id, new_id, lat, long, name, category, tags, source, source_id"
  private static let columnCount: Int16 = 10

  /// Creates an empty list of rows.
  init(time: Timestamp) {
    self.time = time
    bytes.append(contentsOf: "PGCOPY\n".utf8)
    bytes.append(contentsOf: [0xFF, 0x0D, 0x0A, 0x00])
    BinaryFormat.append(Int32(0), to: &bytes)  // flags
    BinaryFormat.append(Int32(0), to: &bytes)  // length of the header's extension
  }

  /// Removes the rows after they were sent.
  mutating func removeAll() {
    bytes.removeAll(keepingCapacity: true)
  }

  /// Appends the end-of-data marker.
  mutating func appendEnd() {
    BinaryFormat.append(Int16(-1), to: &bytes)
  }

  /// Appends a row, with an id for a new place that came without one.
  mutating func append(_ row: ImportRow) {
    let place = row.draft
    BinaryFormat.append(Self.columnCount, to: &bytes)
    append(UInt64(row.number))
    append(row.id)
    append(row.id == nil ? PointID(at: time, using: &generator) : nil)
    append(place.coordinate.latitude.bitPattern)
    append(place.coordinate.longitude.bitPattern)
    append(place.name)
    append(place.category)
    append(place.tags.json)
    append(place.origin?.source)
    append(place.origin?.sourceID)
  }

  private mutating func append(_ number: UInt64) {
    BinaryFormat.append(Int32(8), to: &bytes)
    BinaryFormat.append(number, to: &bytes)
  }

  private mutating func append(_ id: PointID?) {
    BinaryFormat.append(Int32(id == nil ? -1 : 16), to: &bytes)
    if let id { BinaryFormat.append(id, to: &bytes) }
  }

  private mutating func append(_ text: String?) {
    guard var text else { return BinaryFormat.append(Int32(-1), to: &bytes) }
    text.withUTF8 { utf8 in
      BinaryFormat.append(Int32(utf8.count), to: &bytes)
      bytes.append(contentsOf: utf8)
    }
  }
}
