import Geo
import Points
import PostgresClient

/// The decoder of a binary `COPY … TO STDOUT` of places (PostgreSQL's documentation, "COPY", "Binary Format").
struct CopiedPoints {
  /// A row of the copy.
  enum Row {
    /// A place.
    case point(BorrowedPoint)
    /// The id of a place that no longer exists: a row whose other fields are null.
    case deleted(PointID)
  }

  /// The number of bytes of the header before its extension: the signature, the flags and the length of the extension.
  private static let headerLength = 19

  /// A Boolean value that indicates whether a row begins with an id of its own, before the columns of the place.
  private let hasLeadingID: Bool
  private var hasHeader = false

  /// The reason for which the data could not be decoded; `nil` so far.
  private(set) var failure: String?

  /// The number of rows so far.
  private(set) var count = 0

  /// The number of bytes so far.
  private(set) var byteCount = 0

  init(hasLeadingID: Bool = false) {
    self.hasLeadingID = hasLeadingID
  }

  /// Decodes a message of the copy's data, which has whole rows, and passes each to a closure. After a failure it does
  /// nothing.
  mutating func decode(_ message: UnsafeRawBufferPointer, _ body: (Row) -> Void) {
    guard failure == nil else { return }
    byteCount += message.count
    var reader = Reader(message)
    if !hasHeader {
      reader.skip(Self.headerLength - 4)
      reader.skip(Int(reader.integer(Int32.self) ?? -1))
      hasHeader = true
    }
    while !reader.isAtEnd {
      guard let fieldCount = reader.integer(Int16.self) else { break }
      // The trailer.
      if fieldCount == -1 { break }
      guard fieldCount == PointColumns.count + (hasLeadingID ? 1 : 0), readRow(&reader, body) else {
        failure = "row \(count + 1) of a copy of places can't be decoded"
        return
      }
      count += 1
    }
    if reader.hasFailed { failure = "a copy of places ends early" }
  }

  private func readRow(_ reader: inout Reader, _ body: (Row) -> Void) -> Bool {
    let leadingID = hasLeadingID ? reader.id() : nil
    let id = reader.id()
    let latitude = reader.field().flatMap(Reader.double)
    let longitude = reader.field().flatMap(Reader.double)
    let (name, category, tags) = (reader.text(), reader.text(), reader.text())
    let version = reader.field().flatMap(Reader.integer)
    let createdAt = reader.field().flatMap(Reader.integer)
    let updatedAt = reader.field().flatMap(Reader.integer)
    let (source, sourceID) = (reader.text(), reader.text())
    guard !reader.hasFailed else { return false }
    if let leadingID, id == nil {
      body(.deleted(leadingID))
      return true
    }
    guard let id, let latitude, let longitude, let name, let tags, let version, let createdAt, let updatedAt,
      let coordinate = try? Coordinate(latitude: latitude, longitude: longitude)
    else { return false }
    Tags.withJSON(stored: tags) { tags in
      body(
        .point(
          BorrowedPoint(
            id: id, coordinate: coordinate, version: version, createdAt: Self.timestamp(createdAt),
            updatedAt: Self.timestamp(updatedAt), name: name, category: category, tags: tags,
            source: sourceID == nil ? nil : source, sourceID: source == nil ? nil : sourceID)))
    }
    return true
  }

  private static func timestamp(_ microseconds: Int64) -> Timestamp {
    Timestamp(microsecondsSinceEpoch: microseconds &+ BinaryFormat.microsecondsToPostgresEpoch)
  }

  /// A reader of big-endian numbers and of fields with their lengths before them.
  private struct Reader {
    private var rest: UnsafeRawBufferPointer.SubSequence
    private(set) var hasFailed = false

    init(_ bytes: UnsafeRawBufferPointer) {
      rest = bytes[...]
    }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ count: Int) {
      if count < 0 || count > rest.count { hasFailed = true }
      rest = rest.dropFirst(max(0, count))
    }

    mutating func integer<Number: FixedWidthInteger>(_: Number.Type) -> Number? {
      guard rest.count >= MemoryLayout<Number>.size else {
        hasFailed = true
        return nil
      }
      let number = Number(bigEndian: UnsafeRawBufferPointer(rebasing: rest).loadUnaligned(as: Number.self))
      rest = rest.dropFirst(MemoryLayout<Number>.size)
      return number
    }

    /// Returns the bytes of the next field; `nil` for null.
    mutating func field() -> UnsafeRawBufferPointer? {
      guard let length = integer(Int32.self), length >= 0 else { return nil }
      let bytes = UnsafeRawBufferPointer(rebasing: rest.prefix(Int(length)))
      skip(Int(length))
      return bytes
    }

    mutating func text() -> UnsafeBufferPointer<UInt8>? {
      field().map { UnsafeBufferPointer(start: $0.baseAddress?.assumingMemoryBound(to: UInt8.self), count: $0.count) }
    }

    mutating func id() -> PointID? {
      guard let bytes = field(), bytes.count == 16 else { return nil }
      return PointID(
        high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
        low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    }

    static func integer(_ bytes: UnsafeRawBufferPointer) -> Int64? {
      bytes.count == 8 ? Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)) : nil
    }

    static func double(_ bytes: UnsafeRawBufferPointer) -> Double? {
      integer(bytes).map { Double(bitPattern: UInt64(bitPattern: $0)) }
    }
  }
}
