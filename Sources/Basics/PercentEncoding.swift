/// Percent-encoding (RFC 3986, section 2.1) of UTF-8 text.
public enum PercentEncoding {
  /// Returns the text with every `%XX` decoded.
  ///
  /// - Parameter plusIsSpace: a Boolean value that indicates whether `+` is a space, as in queries
  ///   (application/x-www-form-urlencoded).
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
        guard let high = rest.next().flatMap(Hexadecimal.value), let low = rest.next().flatMap(Hexadecimal.value) else {
          return nil
        }
        bytes.append(high << 4 | low)
      case UInt8(ascii: "+") where plusIsSpace:
        bytes.append(UInt8(ascii: " "))
      default:
        bytes.append(byte)
      }
    }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Returns the text with all but RFC 3986's unreserved characters percent-encoded: for one path segment, or one name
  /// or value of a query.
  public static func encode(_ text: String) -> String {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count)
    for byte in text.utf8 {
      if byte.isASCIIAlphanumeric || "-._~".utf8.contains(byte) {
        bytes.append(byte)
      } else {
        bytes.append(UInt8(ascii: "%"))
        bytes.append(Hexadecimal.uppercaseDigit(byte >> 4))
        bytes.append(Hexadecimal.uppercaseDigit(byte & 15))
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
