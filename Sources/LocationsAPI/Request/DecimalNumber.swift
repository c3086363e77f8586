/// Reads numbers as people and JSON write them: an optional sign, digits with at most one point, an optional exponent.
///
/// `nan`, `inf`, hexadecimal digits and white space, which `Double(_:)` takes, are no numbers here.
enum DecimalNumber {
  /// The number that the text is, rounded to the nearest double; `nil` when it is none or not finite.
  static func value(of text: some StringProtocol) -> Double? {
    var mantissa: UInt64 = 0
    var digits = 0
    var fractionDigits = 0
    var hasPoint = false
    var isNegative = false
    for (index, byte) in text.utf8.enumerated() {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        digits += 1
        if hasPoint { fractionDigits += 1 }
        if digits <= exactDigits { mantissa = mantissa * 10 + UInt64(byte - UInt8(ascii: "0")) }
      case UInt8(ascii: "."):
        guard !hasPoint else { return nil }
        hasPoint = true
      case UInt8(ascii: "-"), UInt8(ascii: "+"):
        guard index == 0 else { return rare(text) }
        isNegative = byte == UInt8(ascii: "-")
      case UInt8(ascii: "e"), UInt8(ascii: "E"):
        return rare(text)
      default:
        return nil
      }
    }
    guard digits > 0 else { return nil }
    guard digits <= exactDigits else { return rare(text) }
    // Both numbers are exact, so that the one division rounds right (Clinger, "How to read floating point numbers
    // accurately", PLDI 1990).
    let magnitude = Double(mantissa) / powersOfTen[fractionDigits]
    return isNegative ? -magnitude : magnitude
  }

  private static let exactDigits = 15

  private static let powersOfTen: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ]

  private static func rare(_ text: some StringProtocol) -> Double? {
    let isPlain = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "+"),
        UInt8(ascii: "e"), UInt8(ascii: "E"):
        true
      default: false
      }
    }
    guard isPlain, let value = Double(String(text)), value.isFinite else { return nil }
    return value
  }
}
