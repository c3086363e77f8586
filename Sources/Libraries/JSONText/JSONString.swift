public import Basics

/// JSON strings (RFC 8259, section 7), quotation marks included.
///
/// Only the characters that must be escaped are: the quotation mark, the reverse solidus and the controls below U+0020.
/// Linear in the text's length; text that needs no escape is copied whole.
public enum JSONString {
  /// Returns the maximum number of bytes that a text of so many bytes of UTF-8 takes as a string.
  @inlinable
  public static func maximumLength(utf8Count: Int) -> Int { 6 * utf8Count + 2 }

  /// Returns a text as a JSON string in UTF-8.
  public static func bytes(of text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    write(text, to: &bytes)
    return bytes
  }

  /// Appends a text as a string: at most ``maximumLength(utf8Count:)`` bytes.
  @inlinable
  public static func write(_ text: String, to sink: inout some ByteSink) {
    var text = text
    text.withUTF8 { write($0, to: &sink) }
  }

  /// Appends the text whose UTF-8 these bytes are as a string: at most ``maximumLength(utf8Count:)`` bytes.
  @inlinable
  public static func write(_ utf8: UnsafeBufferPointer<UInt8>, to sink: inout some ByteSink) {
    sink.write(UInt8(ascii: "\""))
    var rest = utf8
    // For all of a long text, the room that it takes at most would be wasted.
    while rest.count > 4096 {
      let piece = UnsafeBufferPointer(rebasing: rest[..<4096])
      sink.write(atMost: 6 * 4096) { writeContent(piece, to: $0) }
      rest = UnsafeBufferPointer(rebasing: rest[4096...])
    }
    sink.write(atMost: 6 &* rest.count) { writeContent(rest, to: $0) }
    sink.write(UInt8(ascii: "\""))
  }

  /// Writes text between the quotation marks of a string and returns the number of bytes, at most six for each of the
  /// text.
  @usableFromInline
  static func writeContent(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    copyPlainText(utf8, to: bytes) ? utf8.count : writeEscaping(utf8, to: bytes)
  }

  @inline(never)
  private static func writeEscaping(_ utf8: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var sink = UncheckedBytes(at: bytes)
    var position = 0
    while true {
      let end = endOfPlainText(in: utf8, from: position)
      sink.write(UnsafeBufferPointer(rebasing: utf8[position..<end]))
      guard end < utf8.count else { return sink.end - bytes }
      sink.write(atMost: 6) { writeEscape(of: utf8[end], to: $0) }
      position = end &+ 1
    }
  }

  /// Copies text and returns `true`; `false` if a character must be escaped.
  ///
  /// The last block of a text overlaps the one before it.
  @inline(__always)
  private static func copyPlainText(
    _ utf8: UnsafeBufferPointer<UInt8>, to bytes: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    guard let source = UnsafeRawPointer(utf8.baseAddress) else { return true }
    func copied<Block: BitwiseCopyable>(_ position: Int, _ type: Block.Type) -> Block {
      let block = source.loadUnaligned(fromByteOffset: position, as: type)
      UnsafeMutableRawPointer(bytes).storeBytes(of: block, toByteOffset: position, as: type)
      return block
    }
    let count = utf8.count
    switch count {
    case 16...:
      var position = 0
      while position < count &- 16 {
        if hasSpecialByte(copied(position, SIMD2<UInt64>.self)) { return false }
        position &+= 16
      }
      return !hasSpecialByte(copied(count &- 16, SIMD2<UInt64>.self))
    case 8...: return !hasSpecialByte(SIMD2(copied(0, UInt64.self), copied(count &- 8, UInt64.self)))
    case 4...:
      let (first, last) = (copied(0, UInt32.self), copied(count &- 4, UInt32.self))
      return specialBytes(of: UInt64(first) | UInt64(last) &<< 32) == 0
    default: return (0..<count).allSatisfy { !isSpecial(copied($0, UInt8.self)) }
    }
  }

  private static func writeEscape(of byte: UInt8, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    bytes[0] = UInt8(ascii: "\\")
    switch byte {
    case UInt8(ascii: "\n"): bytes[1] = UInt8(ascii: "n")
    case UInt8(ascii: "\r"): bytes[1] = UInt8(ascii: "r")
    case UInt8(ascii: "\t"): bytes[1] = UInt8(ascii: "t")
    case 0..<0x20:
      bytes[1] = UInt8(ascii: "u")
      bytes[2] = UInt8(ascii: "0")
      bytes[3] = UInt8(ascii: "0")
      bytes[4] = Hexadecimal.digit(byte >> 4)
      bytes[5] = Hexadecimal.digit(byte & 15)
      return 6
    default: bytes[1] = byte
    }
    return 2
  }
}

extension JSONString {
  /// Calls a closure with the indices of the name and the value of each member of an object of strings, quotation marks
  /// included, until it returns `false`.
  ///
  /// - Parameter object: valid JSON without insignificant space.
  @inlinable
  public static func forEachMember(
    ofStrings object: UnsafeBufferPointer<UInt8>, _ body: (_ name: Range<Int>, _ value: Range<Int>) -> Bool
  ) {
    var position = 1
    while position < object.count, object[position] == UInt8(ascii: "\"") {
      let name = position..<end(ofStringAt: position, in: object)
      let value = name.upperBound + 1..<end(ofStringAt: name.upperBound + 1, in: object)
      guard value.upperBound <= object.count, body(name, value) else { return }
      // The comma, or the end.
      position = value.upperBound + 1
    }
  }

  /// Returns the index after the closing quotation mark of the string that begins at an index.
  @inlinable
  static func end(ofStringAt start: Int, in bytes: UnsafeBufferPointer<UInt8>) -> Int {
    var position = start + 1
    while true {
      position = endOfPlainText(in: bytes, from: position)
      guard position < bytes.count, bytes[position] != UInt8(ascii: "\"") else { return min(position, bytes.count) + 1 }
      // A backslash, and what it escapes.
      position += 2
    }
  }
}

extension JSONString {
  /// Returns the index of the first byte from `start` on that must be escaped: a quotation mark, a reverse solidus or a
  /// control character below U+0020; the count when there is none. Linear; eight bytes at a time where possible.
  @inlinable
  public static func endOfPlainText(in bytes: UnsafeBufferPointer<UInt8>, from start: Int) -> Int {
    guard let base = UnsafeRawPointer(bytes.baseAddress) else { return start }
    var position = start
    while position &+ 8 <= bytes.count {
      let word = UInt64(littleEndian: base.loadUnaligned(fromByteOffset: position, as: UInt64.self))
      let special = specialBytes(of: word)
      if special != 0 { return position &+ special.trailingZeroBitCount &>> 3 }
      position &+= 8
    }
    while position < bytes.count {
      let byte = bytes[position]
      if isSpecial(byte) { return position }
      position &+= 1
    }
    return position
  }

  /// Returns a word whose lowest bit set is the top bit of the lowest byte that needs an escape; zero when there is
  /// none.
  ///
  /// A byte is below n just when the subtraction of n borrows from its top bit, which was clear. A borrow may run on
  /// and mark a byte above wrongly, never one below, so that the lowest mark is right.
  @inlinable
  static func specialBytes(of word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let tops: UInt64 = 0x8080_8080_8080_8080
    let quote = word ^ (ones &* 0x22)
    let solidus = word ^ (ones &* 0x5C)
    let control = (word &- ones &* 0x20) & ~word
    return (control | ((quote &- ones) & ~quote) | ((solidus &- ones) & ~solidus)) & tops
  }

  /// Returns a Boolean value that indicates whether one of 16 bytes needs an escape; see ``specialBytes(of:)``.
  @inline(__always)
  private static func hasSpecialByte(_ bytes: SIMD2<UInt64>) -> Bool {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = bytes ^ (ones &* 0x22)
    let solidus = bytes ^ (ones &* 0x5C)
    let special = ((bytes &- ones &* 0x20) | (quote &- ones) | (solidus &- ones)) & ~bytes
    return (special.x | special.y) & 0x8080_8080_8080_8080 != 0
  }

  /// Returns a Boolean value that indicates whether a byte needs an escape.
  @inlinable
  static func isSpecial(_ byte: UInt8) -> Bool {
    byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\")
  }
}
