/// A statement that is sent repeatedly.
package struct Statement: Hashable, Sendable {
  /// The time at which PostgreSQL plans a statement.
  package enum Planning: Hashable, Sendable {
    /// Once for each connection that prepares statements: the best plan doesn't depend on the values.
    case once

    /// On each execution: the best plan depends on the values.
    case eachTime
  }

  /// The short, unique name of the prepared statement.
  package let name: String

  /// The SQL text with placeholders `$1`, `$2` and so on, each with a cast.
  package let sql: String

  package let planning: Planning

  package init(_ name: String, planning: Planning = .once, _ sql: String) {
    self.name = name
    self.sql = sql
    self.planning = planning
  }

  package static func == (left: Statement, right: Statement) -> Bool { left.name == right.name }

  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// The values of a statement's placeholders in PostgreSQL's binary format.
///
/// A statement declares each type with a cast (`$1::uuid`), so that only the bytes are sent.
package struct Parameters: Hashable, Sendable {
  package private(set) var bytes: [UInt8] = []
  /// The range of each value's bytes; `nil` is SQL's null.
  package private(set) var ranges: [Range<Int>?] = []

  package init() {}

  /// Creates a list of values with the methods below.
  package init(_ fill: (inout Parameters) -> Void) {
    fill(&self)
  }

  /// Adds a `uuid`.
  package mutating func add(_ id: (high: UInt64, low: UInt64)) {
    addValue { bytes in
      BinaryFormat.append(id.high, to: &bytes)
      BinaryFormat.append(id.low, to: &bytes)
    }
  }

  /// Adds a `float8`.
  package mutating func add(_ number: Double) {
    addValue { BinaryFormat.append(number.bitPattern, to: &$0) }
  }

  /// Adds an `int8`.
  package mutating func add(_ number: Int64) {
    addValue { BinaryFormat.append(number, to: &$0) }
  }

  /// Adds an `int8`, or null.
  package mutating func add(optional number: Int64?) {
    if let number { add(number) } else { ranges.append(nil) }
  }

  package mutating func add(_ flag: Bool) {
    addValue { $0.append(flag ? 1 : 0) }
  }

  /// Adds a `text`, or null.
  package mutating func add(_ text: String?) {
    if let text { addValue { $0.append(contentsOf: text.utf8) } } else { ranges.append(nil) }
  }

  /// Adds a value of another type, in that type's binary format.
  package mutating func add(bytes value: [UInt8]) {
    addValue { $0.append(contentsOf: value) }
  }

  private mutating func addValue(_ append: (inout [UInt8]) -> Void) {
    let start = bytes.count
    append(&bytes)
    ranges.append(start..<bytes.count)
  }

  package mutating func add(_ texts: [String]) {
    addArray(texts, elementType: ObjectID.text) { text, bytes in
      var text = text
      text.withUTF8 { utf8 in
        BinaryFormat.append(Int32(utf8.count), to: &bytes)
        bytes.append(contentsOf: utf8)
      }
    }
  }

  /// Adds a `float8[]`.
  package mutating func add(_ numbers: [Double]) {
    addArray(numbers, elementType: ObjectID.float8) { number, bytes in
      BinaryFormat.append(Int32(8), to: &bytes)
      BinaryFormat.append(number.bitPattern, to: &bytes)
    }
  }

  /// Adds an `int8[]`.
  package mutating func add(_ numbers: [Int64]) {
    addArray(numbers, elementType: ObjectID.int8) { number, bytes in
      BinaryFormat.append(Int32(8), to: &bytes)
      BinaryFormat.append(number, to: &bytes)
    }
  }

  /// Adds a `uuid[]`.
  package mutating func add(_ ids: [(high: UInt64, low: UInt64)]) {
    addArray(ids, elementType: ObjectID.uuid) { id, bytes in
      BinaryFormat.append(Int32(16), to: &bytes)
      BinaryFormat.append(id.high, to: &bytes)
      BinaryFormat.append(id.low, to: &bytes)
    }
  }

  /// The layout is that of `array_send`: number of dimensions, a flag for nulls, the element type; the length and lower
  /// bound of the one dimension; then each element, preceded by its length.
  private mutating func addArray<Element>(
    _ elements: [Element], elementType: UInt32, append: (Element, inout [UInt8]) -> Void
  ) {
    addValue { bytes in
      BinaryFormat.append(Int32(elements.isEmpty ? 0 : 1), to: &bytes)
      BinaryFormat.append(Int32(0), to: &bytes)
      BinaryFormat.append(elementType, to: &bytes)
      guard !elements.isEmpty else { return }
      BinaryFormat.append(Int32(elements.count), to: &bytes)
      BinaryFormat.append(Int32(1), to: &bytes)
      for element in elements { append(element, &bytes) }
    }
  }

  /// The object identifiers of PostgreSQL's built-in types (`src/include/catalog/pg_type.dat`).
  private enum ObjectID {
    static let int8: UInt32 = 20
    static let text: UInt32 = 25
    static let float8: UInt32 = 701
    static let uuid: UInt32 = 2950
  }
}

/// PostgreSQL's binary format, which is big-endian.
package enum BinaryFormat {
  /// The microseconds from the Unix epoch to PostgreSQL's epoch, 2000-01-01T00:00:00Z.
  package static let microsecondsToPostgresEpoch: Int64 = 946_684_800_000_000

  /// Appends a number's bytes in big-endian order.
  @inlinable @inline(__always)
  package static func append(_ number: some FixedWidthInteger, to bytes: inout [UInt8]) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }
}
