import Foundation

/// A parameter of a request, in the query of its address or as a member of its body.
struct QueryParameter {
  /// The value of a parameter.
  enum Value {
    case text(String)
    /// Texts with commas between.
    case texts([String])
    /// Texts of which each is a parameter of its own in a query.
    case repeated([String])
    case number(Double)
    case integer(Int)
    /// Numbers with commas between.
    case numbers([Double])
    case flag(Bool)
    case area(SearchArea)
    case route(SearchRoute)
  }

  /// The name, not encoded.
  let name: String

  /// The value.
  let value: Value

  /// Creates a parameter.
  init(_ name: String, _ value: Value) {
    self.name = name
    self.value = value
  }

  /// Creates the parameter of a box.
  init(_ box: BoundingBox) {
    self.init("bbox", .numbers([box.west, box.south, box.east, box.north]))
  }

  /// Creates the radius of a search.
  init(radiusMetres: Double) throws(RequestError) {
    guard radiusMetres.isFinite, radiusMetres >= 0 else { throw .invalidRadius }
    self.init("radius", .number(radiusMetres))
  }

  /// Creates the text that the names of places match.
  init(searchText: String) throws(RequestError) {
    guard (1...200).contains(searchText.unicodeScalars.count) else { throw .invalidText }
    self.init("q", .text(searchText))
  }

  /// Creates the maximum number of places.
  init(limit: Int) throws(RequestError) {
    guard (1...1000).contains(limit) else { throw .invalidLimit }
    self.init("limit", .integer(limit))
  }

  /// The percent-encoded name and value (RFC 3986, section 2.1). A comma in an element of a list is encoded.
  var text: String {
    switch value {
    case .text(let text): pair(PercentEncoding.encode(text))
    case .texts(let texts): pair(texts.map(PercentEncoding.encode).joined(separator: ","))
    case .repeated(let texts): texts.map { pair(PercentEncoding.encode($0)) }.joined(separator: "&")
    case .number(let number): pair(PercentEncoding.encode("\(number)"))
    case .integer(let number): pair(String(number))
    case .numbers(let numbers): pair(numbers.map { PercentEncoding.encode("\($0)") }.joined(separator: ","))
    case .flag(let isSet): pair(isSet ? "true" : "false")
    case .area(let area): pair(PercentEncoding.encode(area.wkt))
    case .route(let route): pair(PercentEncoding.encode(route.text))
    }
  }

  private func pair(_ value: String) -> String { PercentEncoding.encode(name) + "=" + value }
}

extension QueryParameter.Value: Encodable {
  /// Encodes the value as a member of a body.
  func encode(to encoder: any Encoder) throws {
    switch self {
    case .text(let text): try text.encode(to: encoder)
    case .texts(let texts), .repeated(let texts): try texts.encode(to: encoder)
    case .number(let number): try number.encode(to: encoder)
    case .integer(let number): try number.encode(to: encoder)
    case .numbers(let numbers): try numbers.encode(to: encoder)
    case .flag(let isSet): try isSet.encode(to: encoder)
    case .area(let area): try area.geoJSON.encode(to: encoder)
    case .route(let route): try route.geoJSON.encode(to: encoder)
    }
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
