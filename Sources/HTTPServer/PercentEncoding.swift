/// Percent-encoding (RFC 3986, section 2.1) of UTF-8 text.
public enum PercentEncoding {
  /// The text with every `%XX` undone.
  ///
  /// - Parameter plusIsSpace: whether `+` stands for a space, as it does in queries (application/x-www-form-urlencoded).
  /// - Returns: `nil` where a `%` is not followed by two hexadecimal digits or the result is not UTF-8.
  public static func decode(_ text: Substring, plusIsSpace: Bool = false) -> String? {
    let utf8 = text.utf8
    func isEncoded(_ bytes: some Collection<UInt8>) -> Bool {
      bytes.contains { $0 == UInt8(ascii: "%") || (plusIsSpace && $0 == UInt8(ascii: "+")) }
    }
    guard utf8.withContiguousStorageIfAvailable({ isEncoded($0) }) ?? isEncoded(utf8) else { return String(text) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count)
    var rest = utf8.makeIterator()
    while let byte = rest.next() {
      switch byte {
      case UInt8(ascii: "%"):
        guard let high = rest.next().flatMap(digit), let low = rest.next().flatMap(digit) else { return nil }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace:
        bytes.append(UInt8(ascii: " "))
      default:
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// The text with everything but RFC 3986's unreserved characters percent-encoded: good for one path segment, or one
  /// name or value of a query.
  public static func encode(_ text: String) -> String {
    let digits: StaticString = "0123456789ABCDEF"
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if isUnreserved(byte) {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(digits.utf8Start[Int(byte >> 4)])
        bytes.append(digits.utf8Start[Int(byte & 15)])
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func isUnreserved(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
      UInt8(ascii: "~"):
      true
    default: false
    }
  }

  private static func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}
