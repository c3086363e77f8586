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
