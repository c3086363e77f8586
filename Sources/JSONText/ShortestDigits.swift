/// The shortest decimal digits of a number, and the position of their point.
struct ShortestDigits {
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
