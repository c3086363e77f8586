/// The value of a request's `Host` field or `:authority` (RFC 9110, section 7.2; RFC 3986, section 3.2).
enum HostField {
  /// Returns whether the value is a host with or without a port: a name, an IPv4 address, or an IP literal in brackets.
  /// Without a host, as a client sends that has none to name, it is empty.
  static func isValid(_ value: String) -> Bool {
    var value = value
    return value.withUTF8 { isValid($0) }
  }

  private static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    if bytes.first == UInt8(ascii: "[") {
      index = 1
      while index < bytes.count, isLiteralByte(bytes[index]) { index += 1 }
      guard index > 1, index < bytes.count, bytes[index] == UInt8(ascii: "]") else { return false }
      index += 1
    } else {
      while index < bytes.count, isNameByte(bytes[index]) { index += 1 }
    }
    guard index < bytes.count else { return true }
    guard bytes[index] == UInt8(ascii: ":") else { return false }
    var port = 0
    for byte in bytes[(index + 1)...] {
      guard byte &- UInt8(ascii: "0") < 10 else { return false }
      port = port * 10 + Int(byte &- UInt8(ascii: "0"))
      guard port <= 65_535 else { return false }
    }
    return true
  }

  static func isAlphanumeric(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
  }

  /// Unreserved characters, percent-encoded ones and sub-delimiters, without `@`, `/`, `?` and `#`.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    if isAlphanumeric(byte) { return true }
    switch byte {
    case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: "%"),
      UInt8(ascii: "!"), UInt8(ascii: "$"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "("),
      UInt8(ascii: ")"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: ","), UInt8(ascii: ";"),
      UInt8(ascii: "="):
      return true
    default: return false
    }
  }

  private static func isLiteralByte(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ":") || isNameByte(byte) }
}
