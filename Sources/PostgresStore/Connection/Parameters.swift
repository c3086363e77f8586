import Points

/// The values of a statement's placeholders in PostgreSQL's binary format.
///
/// A statement declares each type with a cast (`$1::uuid`), so that only the bytes are sent.
struct Parameters: Sendable {
  private(set) var bytes: [UInt8] = []
  /// The range of each value's bytes; `nil` is SQL's null.
  private(set) var ranges: [Range<Int>?] = []

  /// Creates an empty list of values.
  init() {}

  /// Creates a list of values with the methods below.
  init(_ fill: (inout Parameters) -> Void) {
    fill(&self)
  }

  /// Adds a `uuid`.
  mutating func add(_ id: PointID) {
    let start = bytes.count
    BinaryFormat.append(id, to: &bytes)
    ranges.append(start..<bytes.count)
  }

  /// Adds a `float8`.
  mutating func add(_ number: Double) {
    let start = bytes.count
    BinaryFormat.append(number.bitPattern, to: &bytes)
    ranges.append(start..<bytes.count)
  }

  /// Adds an `int8`.
  mutating func add(_ number: Int64) {
    let start = bytes.count
    BinaryFormat.append(number, to: &bytes)
    ranges.append(start..<bytes.count)
  }

  /// Adds an `int8`, or null.
  mutating func add(optional number: Int64?) {
    if let number { add(number) } else { ranges.append(nil) }
  }

  /// Adds a `text`, or null.
  mutating func add(_ text: String?) {
    let start = bytes.count
    if let text { bytes.append(contentsOf: text.utf8) }
    ranges.append(text == nil ? nil : start..<bytes.count)
  }

  /// Adds a value of another type, in that type's binary format.
  mutating func add(bytes value: [UInt8]) {
    let start = bytes.count
    bytes.append(contentsOf: value)
    ranges.append(start..<bytes.count)
  }

  /// Adds a `text[]`.
  mutating func add(_ texts: [String]) {
    addArray(count: texts.count, elementType: ObjectID.text) { bytes in
      for text in texts {
        var text = text
        text.withUTF8 { utf8 in
          BinaryFormat.append(Int32(utf8.count), to: &bytes)
          bytes.append(contentsOf: utf8)
        }
      }
    }
  }

  /// Adds a `float8[]`.
  mutating func add(_ numbers: [Double]) {
    addArray(count: numbers.count, elementType: ObjectID.float8) { bytes in
      for number in numbers {
        BinaryFormat.append(Int32(8), to: &bytes)
        BinaryFormat.append(number.bitPattern, to: &bytes)
      }
    }
  }

  /// Adds a `uuid[]`.
  mutating func add(_ ids: [PointID]) {
    addArray(count: ids.count, elementType: ObjectID.uuid) { bytes in
      for id in ids {
        BinaryFormat.append(Int32(16), to: &bytes)
        BinaryFormat.append(id, to: &bytes)
      }
    }
  }

  /// The layout is that of `array_send`: number of dimensions, a flag for nulls, the element type; the length and lower
  /// bound of the one dimension; then each element, preceded by its length.
  private mutating func addArray(count: Int, elementType: UInt32, elements: (inout [UInt8]) -> Void) {
    let start = bytes.count
    BinaryFormat.append(Int32(count == 0 ? 0 : 1), to: &bytes)
    BinaryFormat.append(Int32(0), to: &bytes)
    BinaryFormat.append(elementType, to: &bytes)
    if count > 0 {
      BinaryFormat.append(Int32(count), to: &bytes)
      BinaryFormat.append(Int32(1), to: &bytes)
      elements(&bytes)
    }
    ranges.append(start..<bytes.count)
  }

  /// The object identifiers of PostgreSQL's built-in types (`src/include/catalog/pg_type.dat`).
  private enum ObjectID {
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let uuid: UInt32 = 2950
  }
}

/// PostgreSQL's binary format, which is big-endian.
enum BinaryFormat {
  /// The microseconds from the Unix epoch to PostgreSQL's epoch, 2000-01-01T00:00:00Z.
  static let microsecondsToPostgresEpoch: Int64 = 946_684_800_000_000

  /// Appends a number's bytes in big-endian order.
  @inline(__always)
  static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  /// Appends an id's 16 bytes.
  static func append(_ id: PointID, to bytes: inout [UInt8]) {
    append(id.high, to: &bytes)
    append(id.low, to: &bytes)
  }
}
