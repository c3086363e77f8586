/// Base 16 (RFC 4648, section 8).
public enum Hexadecimal {
  /// Returns the number that a digit stands for, in either case; `nil` for any other byte.
  @inlinable
  public static func value(ofDigit byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte &- UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte &- UInt8(ascii: "a") &+ 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte &- UInt8(ascii: "A") &+ 10
    default: nil
    }
  }

  /// Returns the digit of a number below 16, in lower case.
  @inlinable
  public static func digit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") &+ number : UInt8(ascii: "a") &+ number &- 10
  }

  /// Returns the digit of a number below 16, in upper case.
  @inlinable
  public static func uppercaseDigit(_ number: UInt8) -> UInt8 {
    number < 10 ? UInt8(ascii: "0") &+ number : UInt8(ascii: "A") &+ number &- 10
  }

  /// Returns all digits of a number in lower case, leading zeros included.
  public static func text(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: number.bitWidth / 4 - digits.utf8.count) + digits
  }

  /// Returns bytes as digits in lower case, two for each.
  public static func encode(_ bytes: [UInt8]) -> String {
    String(atMost: 2 * bytes.count) { text in
      for byte in bytes {
        text.write(digit(byte >> 4))
        text.write(digit(byte & 15))
      }
    }
  }

  /// Returns the bytes that digits in either case stand for; `nil` for a text that is not the digits of so many bytes.
  public static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    guard text.utf8.count == 2 * count else { return nil }
    let digits = text.utf8.compactMap(value)
    guard digits.count == 2 * count else { return nil }
    return (0..<count).map { digits[2 * $0] << 4 | digits[2 * $0 + 1] }
  }
}

/// Percent-encoding (RFC 3986, section 2.1) of UTF-8 text.
public enum PercentEncoding {
  /// Returns the text with every `%XX` decoded.
  ///
  /// - Parameter plusIsSpace: a Boolean value that indicates whether `+` is a space, as in queries
  ///   (application/x-www-form-urlencoded).
  /// - Returns: `nil` if a `%` is not followed by two hexadecimal digits or the result is not UTF-8.
  public static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
    text.utf8.withContiguousBytes { decode($0, plusIsSpace: plusIsSpace) }
  }

  /// Returns the text of bytes in UTF-8 with every `%XX` decoded; see ``decode(_:plusIsSpace:)``.
  package static func decode(_ utf8: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool = false) -> String? {
    guard utf8.contains(where: { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }) else {
      return String(decoding: utf8, as: UTF8.self)
    }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count)
    var rest = utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace:
        bytes.append(UInt8(ascii: " "))
      default:
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns the text with all but RFC 3986's unreserved characters percent-encoded: for one path segment, or one name
  /// or value of a query.
  public static func encode(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(Hexadecimal.uppercaseDigit(byte >> 4))
        bytes.append(Hexadecimal.uppercaseDigit(byte & 15))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

/// The URL-safe base 64 alphabet without padding (RFC 4648, section 5).
package enum Base64URL {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  /// Returns the length of the text of so many bytes.
  package static func length(ofByteCount count: Int) -> Int { (count * 8 + 5) / 6 }

  package static func encode(_ bytes: [UInt8]) -> String {
    String(atMost: length(ofByteCount: bytes.count)) { text in
      bytes.withUnsafeBufferPointer { write($0, to: &text) }
    }
  }

  /// Writes the text of bytes.
  package static func write(_ bytes: UnsafeBufferPointer<UInt8>, to text: inout UncheckedBytes) {
    func write(_ group: UInt32, count: Int) {
      for index in 0..<count { text.write(alphabet.utf8Start[Int(group >> UInt32(18 - 6 * index) & 63)]) }
    }
    let (whole, rest) = bytes.count.quotientAndRemainder(dividingBy: 3)
    for first in stride(from: 0, to: 3 * whole, by: 3) {
      write(UInt32(bytes[first]) << 16 | UInt32(bytes[first + 1]) << 8 | UInt32(bytes[first + 2]), count: 4)
    }
    // Missing bytes are zero; their characters are left out.
    if rest > 0 {
      let second = rest == 2 ? UInt32(bytes[3 * whole + 1]) << 8 : 0
      write(UInt32(bytes[3 * whole]) << 16 | second, count: rest + 1)
    }
  }

  /// Returns the bytes of a text; `nil` where there are not exactly so many, or stray bits behind them.
  package static func decode(_ text: some StringProtocol, count: Int) -> [UInt8]? {
    guard text.utf8.count == (count * 8 + 5) / 6 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    var (pending, pendingBits) = (UInt32(0), 0)
    for character in text.utf8 {
      guard let value = value(of: character) else { return nil }
      pending = pending << 6 | value
      pendingBits += 6
      if pendingBits >= 8 {
        pendingBits -= 8
        bytes.append(UInt8(truncatingIfNeeded: pending >> UInt32(pendingBits)))
        pending &= 1 << UInt32(pendingBits) - 1
      }
    }
    return pending == 0 ? bytes : nil
  }

  private static func value(of character: UInt8) -> UInt32? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(character - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(character - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(character - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

extension FixedWidthInteger {
  /// Creates the number whose bytes are these, the most significant first.
  @inlinable
  package init(bigEndianBytes bytes: some Sequence<UInt8>) {
    self = bytes.reduce(0) { $0 << 8 | Self($1) }
  }
}

extension [String] {
  /// Returns the strings as a list of a sentence: `a, b or c`.
  package func listed(_ conjunction: String) -> String {
    count < 2 ? first ?? "" : dropLast().joined(separator: ", ") + " \(conjunction) " + self[count - 1]
  }
}
