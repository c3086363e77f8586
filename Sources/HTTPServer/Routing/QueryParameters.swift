import Basics

/// The names and values of a query, in their order.
public struct QueryParameters: Sendable {
  /// One name and its value.
  public struct Parameter: Sendable {
    /// The name, decoded.
    public let name: String

    /// The value, decoded: `%XX` is decoded and `+` is a space; empty where there is no `=`.
    public let value: String

    /// The value as it was sent, for what must be split before it is decoded; see
    /// ``PercentEncoding/decode(_:plusIsSpace:)``.
    public let rawValue: Substring
  }

  /// The maximum number of parameters in a query.
  public static let maximumCount = 100

  /// The parameters in the order of the query.
  public let all: [Parameter]

  /// Creates the parameters from the part of a target after the `?`. Linear in its length.
  ///
  /// - Throws: 400 `invalid-parameter` where a name or value is not percent-encoded UTF-8, or there are more than
  ///   ``maximumCount``.
  public init(_ query: Substring?) throws(Problem) {
    guard let query, !query.isEmpty else {
      all = []
      return
    }
    var parameters: [Parameter] = []
    parameters.reserveCapacity(4)
    let utf8 = query.utf8
    var start = utf8.startIndex
    while start < utf8.endIndex {
      let end = utf8[start...].firstIndex(of: UInt8(ascii: "&")) ?? utf8.endIndex
      if start < end {
        guard parameters.count < Self.maximumCount else {
          throw .invalidParameter("query", "has more than \(Self.maximumCount) parameters")
        }
        parameters.append(try Self.parameter(query[start..<end]))
      }
      start = end < utf8.endIndex ? utf8.index(after: end) : end
    }
    all = parameters
  }

  /// Returns the parameters of that name.
  public subscript(name: String) -> [Parameter] { all.filter { $0.name.hasSameBytes(as: name) } }

  /// Returns the value of a parameter that may occur once at most; `nil` where it is absent.
  ///
  /// - Throws: 400 `invalid-parameter` where it is repeated.
  public func value(of name: String) throws(Problem) -> String? {
    var found: String?
    for parameter in all where parameter.name.hasSameBytes(as: name) {
      guard found == nil else { throw .invalidParameter(name, "must not be repeated") }
      found = parameter.value
    }
    return found
  }

  private static func parameter(_ pair: Substring) throws(Problem) -> Parameter {
    let separator = pair.utf8.firstIndex(of: UInt8(ascii: "="))
    let rawName = pair[..<(separator ?? pair.endIndex)]
    let rawValue = separator.map { pair[pair.utf8.index(after: $0)...] } ?? pair[pair.endIndex...]
    guard let name = PercentEncoding.decode(rawName, plusIsSpace: true) else {
      throw .invalidParameter(String(rawName), "must have a name in percent-encoded UTF-8")
    }
    guard let value = PercentEncoding.decode(rawValue, plusIsSpace: true) else {
      throw .invalidParameter(name, "must be percent-encoded UTF-8")
    }
    return Parameter(name: name, value: value, rawValue: rawValue)
  }
}
