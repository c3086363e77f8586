public import Basics

/// Numbers as decimal text without an exponent, as in JSON and CSV.
public enum DecimalText {
  /// The maximum number of bytes of a number: a sign, "0." and 324 decimals.
  public static let maximumLength = 327

  /// Appends the shortest decimal that reads as this number; see ``write(_:to:)``.
  @inlinable
  public static func append(_ value: Double, to sink: inout some ByteSink) {
    sink.write(atMost: maximumLength) { write(value, to: $0) }
  }

  /// Appends the number with one decimal; see ``writeTenths(_:to:)``.
  @inlinable
  public static func appendTenths(_ value: Double, to sink: inout some ByteSink) {
    sink.write(atMost: maximumLength) { writeTenths(value, to: $0) }
  }

  /// Writes the shortest decimal that reads as this number and returns the number of bytes; there must be room for
  /// ``maximumLength`` bytes.
  ///
  /// There is no exponent, no point without a digit on both sides, no trailing zero after the point, and zero has no
  /// sign. A number that is not finite is written as `null`, which is all that JSON has for it.
  ///
  /// Numbers below 10^8 with at most seven decimals, which most coordinates are, are written by integer arithmetic:
  /// where n is an integer below 10^15 and n / 10^7, both exact and their quotient correctly rounded, is the number,
  /// n's digits read as it; and as no two decimals of at most 15 digits read as the same number, no other decimal as
  /// short does.
  @inlinable
  public static func write(_ value: Double, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let magnitude = value.magnitude
    guard magnitude < 1e8 else { return writeExpanded(value, to: bytes) }
    // Between 2^52 and 2^53 numbers are integers, and their bits count up from those of 2^52.
    let shifted = magnitude * 1e7 + 0x1p52
    guard (shifted - 0x1p52) / 1e7 == magnitude else { return writeExpanded(value, to: bytes) }
    let units = shifted.bitPattern &- (0x1p52).bitPattern
    let (whole, fraction) = units.quotientAndRemainder(dividingBy: 10_000_000)
    var end = bytes
    if value < 0 {
      end.pointee = UInt8(ascii: "-")
      end += 1
    }
    end += write(whole, to: end)
    guard fraction != 0 else { return end - bytes }
    end.pointee = UInt8(ascii: ".")
    let digits = eightDigits(of: fraction &* 10)
    UnsafeMutableRawPointer(end + 1).storeBytes(of: digits | zeros, as: UInt64.self)
    return end - bytes &+ 9 &- digits.leadingZeroBitCount &>> 3
  }

  /// Writes the number with one decimal and returns the number of bytes; there must be room for
  /// ``maximumLength`` bytes.
  ///
  /// It is the nearest tenth to the number's exact value, of two as near the one farther from zero; zero has no sign.
  /// A number that is not finite is written as `null`.
  @inlinable
  public static func writeTenths(_ value: Double, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let magnitude = value.magnitude
    // From 2^52 on every number is whole.
    guard magnitude < 0x1p52 else {
      let written = writeExpanded(value, to: bytes)
      guard value.isFinite else { return written }
      bytes[written] = UInt8(ascii: ".")
      bytes[written &+ 1] = UInt8(ascii: "0")
      return written &+ 2
    }
    // Between 2^52 and 2^53 numbers are integers, and their bits count up from those of 2^52.
    let shifted = magnitude + 0x1p52
    let rest = magnitude - (shifted - 0x1p52)
    let product = rest * 10
    var nearest = product + 0x1.8p52
    // A product halfway between two integers may have been rounded to it.
    if (product - (nearest - 0x1.8p52)).magnitude == 0.5 {
      let isBelow = (-product).addingProduct(rest, 10) < 0
      nearest = product + (isBelow ? -0.5 : 0.5) + 0x1.8p52
    }
    let tenths =
      (shifted.bitPattern &- (0x1p52).bitPattern) &* 10 &+ nearest.bitPattern &- (0x1.8p52).bitPattern
    let (whole, tenth) = tenths.quotientAndRemainder(dividingBy: 10)
    var end = bytes
    if value < 0, tenths != 0 {
      end.pointee = UInt8(ascii: "-")
      end += 1
    }
    end += write(whole, to: end)
    end[0] = UInt8(ascii: ".")
    end[1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: tenth)
    return end - bytes &+ 2
  }

  /// Writes an integer and returns the number of bytes; there must be room for 20, which the longest has.
  @inlinable
  public static func write(_ value: UInt64, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    switch value {
    case ..<100: return write(digits(ofPairs: value), count: 2, to: bytes)
    case ..<10_000:
      let (upper, lower) = value.quotientAndRemainder(dividingBy: 100)
      return write(digits(ofPairs: upper | lower &<< 16), count: 4, to: bytes)
    case ..<100_000_000: return write(eightDigits(of: value), count: 8, to: bytes)
    default: return writeLong(value, to: bytes)
    }
  }

  /// Writes an integer of at least nine digits.
  @usableFromInline
  static func writeLong(_ value: UInt64, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let (upper, lower) = value.quotientAndRemainder(dividingBy: 100_000_000)
    let written = write(upper, to: bytes)
    UnsafeMutableRawPointer(bytes + written).storeBytes(of: eightDigits(of: lower) | zeros, as: UInt64.self)
    return written + 8
  }

  /// Writes digits without leading zeros, but the last one always, and returns their number.
  @inlinable
  static func write(_ digits: UInt64, count: Int, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let leadingZeros = (digits | 1 &<< (8 &* count &- 8)).trailingZeroBitCount &>> 3
    UnsafeMutableRawPointer(bytes).storeBytes(of: (digits | zeros) &>> (8 &* leadingZeros), as: UInt64.self)
    return count &- leadingZeros
  }

  /// Eight digits 0 as ASCII.
  @inlinable static var zeros: UInt64 { 0x3030_3030_3030_3030 }

  /// Returns the eight decimal digits of a number below 10^8, the first in the lowest byte.
  ///
  /// The parts of a number are divided at once, by a multiplication whose error is too small to matter. Each quotient
  /// stays in its place and the remainder goes behind it: x * 2^k - q * (n * 2^k - 1) is q + (x - n * q) * 2^k
  /// (P. Khuong, "How to print integers really fast", 2017).
  @inlinable
  static func eightDigits(of value: UInt64) -> UInt64 {
    let (upper, lower) = value.quotientAndRemainder(dividingBy: 10_000)
    let halves = upper | lower &<< 32
    let hundreds = (halves &* 10_486) &>> 20 & 0x0000_007F_0000_007F
    return digits(ofPairs: halves &<< 16 &- hundreds &* (100 &<< 16 - 1))
  }

  /// Returns the digits of up to four numbers below 100 in 16 bits each, the first in the lowest byte.
  @inlinable
  static func digits(ofPairs pairs: UInt64) -> UInt64 {
    let tens = (pairs &* 103) &>> 10 & 0x000F_000F_000F_000F
    return pairs &<< 8 &- tens &* (10 &<< 8 - 1)
  }

  /// Writes the shortest digits that the standard library finds, without an exponent.
  @usableFromInline
  static func writeExpanded(_ value: Double, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    guard value.isFinite else {
      for (index, byte) in "null".utf8.enumerated() { bytes[index] = byte }
      return 4
    }
    var text = value.magnitude.description
    var written = 0
    if value < 0 {
      bytes[0] = UInt8(ascii: "-")
      written = 1
    }
    return text.withUTF8 { digits in
      guard !digits.contains(UInt8(ascii: "e")), let start = digits.baseAddress else {
        return written + ShortestDigits(of: digits).write(to: bytes + written)
      }
      let isWhole = digits.count > 2 && digits.suffix(2).elementsEqual([UInt8(ascii: "."), UInt8(ascii: "0")])
      let count = isWhole ? digits.count - 2 : digits.count
      (bytes + written).update(from: start, count: count)
      return written + count
    }
  }
}

extension DecimalText {
  /// Returns the number nearest to a decimal text; `nil` for any other bytes.
  ///
  /// Decimal text is an optional sign, digits with an optional point before, among or after them, and an optional
  /// exponent. JSON's numbers are decimal text; `nan`, `inf`, `0x1p3`, white space and digit groups are not. A number
  /// beyond every `Double` is infinite.
  public static func value(of bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    var position = 0
    var isNegative = false
    if let first = bytes.first, first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
      isNegative = first == UInt8(ascii: "-")
      position = 1
    }
    var significand: UInt64 = 0
    var exponent = 0
    var digits = 0
    var hasPoint = false
    var isExact = true
    while position < bytes.count {
      let byte = bytes[position]
      let digit = byte &- UInt8(ascii: "0")
      if digit < 10 {
        digits += 1
        // Below 2^53 / 10 another digit keeps the significand exact in a Double.
        if significand < 900_719_925_474_099 {
          significand = significand &* 10 &+ UInt64(digit)
        } else {
          isExact = false
        }
        if hasPoint { exponent -= 1 }
      } else if byte == UInt8(ascii: "."), !hasPoint {
        hasPoint = true
      } else {
        break
      }
      position += 1
    }
    guard digits > 0 else { return nil }
    if position < bytes.count {
      guard isExponent(bytes[position...]) else { return nil }
      isExact = false
    }
    // Both operands are exact, so the quotient is the nearest number there is (W. D. Clinger, "How to read floating
    // point numbers accurately", PLDI 1990).
    if isExact, exponent >= -22 {
      let value = Double(significand) / powersOfTen[-exponent]
      return isNegative ? -value : value
    }
    return Double(String(decoding: bytes, as: UTF8.self))
  }

  private static func isExponent(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Bool {
    guard let letter = bytes.first, letter | 0x20 == UInt8(ascii: "e") else { return false }
    var digits = bytes.dropFirst()
    if let sign = digits.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") { digits = digits.dropFirst() }
    return !digits.isEmpty && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
  }

  private static let powersOfTen: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]
}

/// The shortest decimal digits of a number, and the position of their point.
private struct ShortestDigits {
  /// From the first digit that is not zero to the last; empty for zero.
  private var digits: [UInt8] = []

  /// The number of digits before the point; negative for zeros between the point and the first digit.
  private var pointPosition = 0

  /// Creates the digits of a `Double.description`, of a number that is finite and not negative.
  init(of description: UnsafeBufferPointer<UInt8>) {
    var exponent = 0
    var hasPoint = false
    for (index, byte) in description.enumerated() {
      switch byte {
      case UInt8(ascii: "."):
        hasPoint = true
      case UInt8(ascii: "e"):
        exponent = Int(String(decoding: description[(index + 1)...], as: UTF8.self)) ?? 0
      default:
        if exponent != 0 { continue }
        if byte == UInt8(ascii: "0"), digits.isEmpty {
          if hasPoint { pointPosition -= 1 }
        } else {
          digits.append(byte)
          if !hasPoint { pointPosition += 1 }
        }
      }
    }
    while digits.last == UInt8(ascii: "0") { digits.removeLast() }
    pointPosition += exponent
  }

  /// Writes the number without an exponent and returns the number of bytes.
  func write(to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var written = 0
    func put(_ byte: UInt8) {
      bytes[written] = byte
      written += 1
    }
    let zero = UInt8(ascii: "0")
    guard !digits.isEmpty else {
      put(zero)
      return written
    }
    if pointPosition <= 0 { put(zero) }
    for index in 0..<max(pointPosition, 0) { put(index < digits.count ? digits[index] : zero) }
    guard digits.count > pointPosition else { return written }
    put(UInt8(ascii: "."))
    for _ in 0..<max(-pointPosition, 0) { put(zero) }
    for digit in digits[max(pointPosition, 0)...] { put(digit) }
    return written
  }
}
