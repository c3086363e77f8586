/// A percent-encoded query parameter (RFC 3986, section 2.1).
struct QueryParameter {
  /// The encoded name and value.
  let text: String

  /// Creates a parameter with one value.
  init(_ name: String, _ value: String) {
    self.init(name, [value])
  }

  /// Creates a parameter with several values, separated by commas; a comma in a value is encoded.
  init(_ name: String, _ values: [String]) {
    text = name + "=" + values.map(PercentEncoding.encode).joined(separator: ",")
  }

  /// Creates the radius of a search.
  init(radiusMetres: Double) throws(RequestError) {
    guard radiusMetres.isFinite, radiusMetres >= 0 else { throw .invalidRadius }
    self.init("radius", "\(radiusMetres)")
  }

  /// Creates the maximum number of places.
  init(limit: Int) throws(RequestError) {
    guard (1...1000).contains(limit) else { throw .invalidLimit }
    self.init("limit", "\(limit)")
  }
}

/// Percent-encoding (RFC 3986, section 2.1).
enum PercentEncoding {
  /// Returns the text with all but the unreserved characters encoded. `URLComponents` does not encode `+`, which
  /// servers decode as a space in a query.
  static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default:
        encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }
}
