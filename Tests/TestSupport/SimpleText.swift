package import Points

/// Texts of values, made as simply as possible, which the fast writers are compared with.
package enum SimpleText {
  /// Returns the shortest digits that the standard library finds, without an exponent.
  package static func decimal(_ value: Double) -> String {
    guard value.isFinite else { return "null" }
    let sign = value < 0 ? "-" : ""
    let description = value.magnitude.description
    guard let mark = description.firstIndex(of: "e"), let exponent = Int(description[description.index(after: mark)...])
    else { return sign + (description.hasSuffix(".0") ? String(description.dropLast(2)) : description) }
    let digits = String(description[..<mark]).filter { $0 != "." }
    if exponent < 0 { return sign + "0." + String(repeating: "0", count: -exponent - 1) + digits }
    return sign + digits + String(repeating: "0", count: exponent + 1 - digits.count)
  }

  /// Returns the tenth nearest to the exact value, of two as near the one farther from zero.
  package static func tenths(_ value: Double) -> String {
    guard value.isFinite else { return "null" }
    guard value.magnitude < 0x1p53 else { return decimal(value) + ".0" }
    // The number is its significand divided by 2^shift.
    let significand = value.significandBitPattern | (value.isNormal ? 1 << 52 : 0)
    let shift = 1075 - max(value.exponentBitPattern, 1)
    let product = 10 * significand
    var tenths = product
    if shift > 0 { tenths = shift > 60 ? 0 : (product + 1 << (shift - 1)) >> shift }
    let sign = value < 0 && tenths > 0 ? "-" : ""
    return "\(sign)\(tenths / 10).\(tenths % 10)"
  }

  /// Returns text as a JSON string, in UTF-8.
  package static func jsonString(_ utf8: [UInt8]) -> [UInt8] {
    var json = Array("\"".utf8)
    for byte in utf8 {
      switch byte {
      case 0x0A: json += "\\n".utf8
      case 0x0D: json += "\\r".utf8
      case 0x09: json += "\\t".utf8
      case 0x22: json += "\\\"".utf8
      case 0x5C: json += "\\\\".utf8
      case ..<0x20:
        json += (byte < 0x10 ? "\\u000" : "\\u001").utf8
        json += String(byte & 15, radix: 16).utf8
      default: json.append(byte)
      }
    }
    return json + "\"".utf8
  }

  /// Returns the UUID in lower case.
  package static func uuid(_ id: PointID) -> String {
    var text = ""
    for digit in 0..<32 {
      if [8, 12, 16, 20].contains(digit) { text += "-" }
      let half = digit < 16 ? id.high : id.low
      text += String(half >> UInt64(60 - digit % 16 * 4) & 15, radix: 16)
    }
    return text
  }
}
