/// A reader of the wire format of protocol buffers, which copies nothing.
///
/// The caller keeps the bytes alive. A field is known by its tag, the number and the wire type together, so that a
/// known number with another wire type is skipped like an unknown field.
struct WireReader {
  private(set) var next: UnsafePointer<UInt8>
  let end: UnsafePointer<UInt8>

  /// The position of the blob in the file, for errors.
  let offset: Int

  init(_ bytes: UnsafeBufferPointer<UInt8>, offset: Int) {
    // An empty buffer may have no address.
    next = bytes.baseAddress ?? UnsafePointer(bitPattern: 1).unsafelyUnwrapped
    end = next + bytes.count
    self.offset = offset
  }

  private init(from start: UnsafePointer<UInt8>, to end: UnsafePointer<UInt8>, offset: Int) {
    next = start
    self.end = end
    self.offset = offset
  }

  /// A reader of no bytes.
  var empty: WireReader { WireReader(from: end, to: end, offset: offset) }

  var isAtEnd: Bool { next == end }

  var bytes: UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(start: next, count: end - next) }

  /// Returns the tag of the next field, or nil at the end.
  @inline(__always)
  mutating func tag() throws(OSMError) -> UInt64? { isAtEnd ? nil : try varint() }

  @inline(__always)
  mutating func varint() throws(OSMError) -> UInt64 {
    guard next < end else { throw malformed("a number is missing") }
    let byte = next.pointee
    guard byte >= 0x80 else {
      next += 1
      return UInt64(byte)
    }
    return try longVarint()
  }

  private mutating func longVarint() throws(OSMError) -> UInt64 {
    var value: UInt64 = 0
    var shift: UInt64 = 0
    while next < end {
      let byte = next.pointee
      next += 1
      // The tenth byte has room for one bit.
      guard shift < 63 || byte <= 1 else { throw malformed("a number has more than 64 bits") }
      value |= UInt64(byte & 0x7F) &<< shift
      if byte < 0x80 { return value }
      shift += 7
    }
    throw malformed("a number is incomplete")
  }

  /// Returns a number in zigzag encoding (`sint64`).
  @inline(__always)
  mutating func signed() throws(OSMError) -> Int64 {
    let value = try varint()
    return Int64(bitPattern: value >> 1) ^ -Int64(bitPattern: value & 1)
  }

  /// Returns a reader of a field with a length, and moves past it.
  @inline(__always)
  mutating func message() throws(OSMError) -> WireReader {
    let count = try varint()
    guard count <= UInt64(end - next) else { throw malformed("a field is longer than what contains it") }
    let start = next
    next += Int(count)
    return WireReader(from: start, to: next, offset: offset)
  }

  /// Moves past the value of a field.
  mutating func skip(_ tag: UInt64) throws(OSMError) {
    guard tag >> 3 > 0, tag >> 3 < 1 << 29 else { throw malformed("a field has an invalid number") }
    switch tag & 7 {
    case 0: _ = try varint()
    case 1: try advance(8)
    case 2: _ = try message()
    case 5: try advance(4)
    default: throw malformed("a field has an invalid wire type")
    }
  }

  private mutating func advance(_ count: Int) throws(OSMError) {
    guard count <= end - next else { throw malformed("a field is incomplete") }
    next += count
  }

  func malformed(_ detail: String) -> OSMError { .malformed(offset: offset, detail) }
}
