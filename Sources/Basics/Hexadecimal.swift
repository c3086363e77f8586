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
    String(unsafeUninitializedCapacity: 2 * bytes.count) { text in
      for (index, byte) in bytes.enumerated() {
        text[2 * index] = digit(byte >> 4)
        text[2 * index + 1] = digit(byte & 15)
      }
      return 2 * bytes.count
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
