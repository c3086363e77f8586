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
    let scaled = (magnitude * 1e7).rounded(.toNearestOrEven)
    guard scaled / 1e7 == magnitude else { return writeExpanded(value, to: bytes) }
    let (whole, fraction) = UInt64(scaled).quotientAndRemainder(dividingBy: 10_000_000)
    var written = 0
    if value < 0 {
      bytes[0] = UInt8(ascii: "-")
      written = 1
    }
    written &+= write(whole, to: bytes + written)
    guard fraction != 0 else { return written }
    bytes[written] = UInt8(ascii: ".")
    written &+= 1
    var rest = fraction
    var digits = 7
    while rest % 10 == 0 {
      rest /= 10
      digits &-= 1
    }
    for index in stride(from: digits &- 1, through: 0, by: -1) {
      bytes[written &+ index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    return written &+ digits
  }

  /// Writes the number with one decimal and returns the number of bytes; there must be room for
  /// ``maximumLength`` bytes.
  ///
  /// It is the nearest tenth to the number's exact value, of two as near the one farther from zero; zero has no sign.
  /// A number that is not finite is written as `null`.
  @inlinable
  public static func writeTenths(_ value: Double, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    let magnitude = value.magnitude
    // From 2^53 on every number is whole.
    guard magnitude < 0x1p53 else {
      let written = writeExpanded(value, to: bytes)
      guard value.isFinite else { return written }
      bytes[written] = UInt8(ascii: ".")
      bytes[written &+ 1] = UInt8(ascii: "0")
      return written &+ 2
    }
    var whole = UInt64(magnitude)
    let fraction = magnitude - Double(whole)
    let product = fraction * 10
    var tenths = UInt64(product)
    let rest = product - Double(tenths)
    // A product of just a half may have been rounded up to it.
    if rest > 0.5 || (rest == 0.5 && (-product).addingProduct(fraction, 10) >= 0) { tenths &+= 1 }
    if tenths == 10 {
      whole &+= 1
      tenths = 0
    }
    var written = 0
    if value < 0, whole != 0 || tenths != 0 {
      bytes[0] = UInt8(ascii: "-")
      written = 1
    }
    written &+= write(whole, to: bytes + written)
    bytes[written] = UInt8(ascii: ".")
    bytes[written &+ 1] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: tenths)
    return written &+ 2
  }

  /// Writes an integer and returns the number of bytes, at most 20.
  @inlinable
  public static func write(_ value: UInt64, to bytes: UnsafeMutablePointer<UInt8>) -> Int {
    var length = 1
    var power: UInt64 = 10
    while value >= power {
      length &+= 1
      let (product, overflow) = power.multipliedReportingOverflow(by: 10)
      if overflow { break }
      power = product
    }
    var rest = value
    for index in stride(from: length &- 1, through: 0, by: -1) {
      bytes[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
    return length
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
