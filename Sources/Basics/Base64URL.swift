/// The URL-safe base 64 alphabet without padding (RFC 4648, section 5).
package enum Base64URL {
  private static let alphabet: StaticString = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

  package static func encode(_ bytes: [UInt8]) -> String {
    let length = (bytes.count * 8 + 5) / 6
    return String(unsafeUninitializedCapacity: length) { text in
      var (pending, pendingBits, written) = (UInt32(0), 0, 0)
      for byte in bytes {
        pending = pending << 8 | UInt32(byte)
        pendingBits += 8
        while pendingBits >= 6 {
          pendingBits -= 6
          text[written] = alphabet.utf8Start[Int(pending >> UInt32(pendingBits) & 63)]
          written += 1
        }
      }
      if pendingBits > 0 {
        text[written] = alphabet.utf8Start[Int(pending << UInt32(6 - pendingBits) & 63)]
        written += 1
      }
      return written
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
