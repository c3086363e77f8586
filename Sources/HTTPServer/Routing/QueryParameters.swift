import Basics

/// The names and values of a query, in their order.
public struct QueryParameters: Sendable {
  /// One name and its value.
  public struct Parameter: Sendable {
    /// The name, decoded.
    public let name: String

    /// The value, decoded: `%XX` is decoded and `+` is a space; empty where there is no `=`.
    public let value: String

    /// A Boolean value that indicates whether the value was sent with `%XX`.
    public let hasEscapes: Bool
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
    all = try query.utf8.withContiguousBytes { bytes throws(Problem) in try Self.parameters(in: bytes) }
  }

  private static func parameters(in query: UnsafeBufferPointer<UInt8>) throws(Problem) -> [Parameter] {
    var parameters: [Parameter] = []
    parameters.reserveCapacity(4)
    var start = 0
    while start < query.count {
      let end = query.firstIndex(of: UInt8(ascii: "&"), from: start) ?? query.count
      if start < end {
        guard parameters.count < maximumCount else {
          throw .invalidParameter("query", "has more than \(maximumCount) parameters")
        }
        parameters.append(try parameter(UnsafeBufferPointer(rebasing: query[start..<end])))
      }
      start = end + 1
    }
    return parameters
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

  private static func parameter(_ pair: UnsafeBufferPointer<UInt8>) throws(Problem) -> Parameter {
    let separator = pair.firstIndex(of: UInt8(ascii: "="), from: 0) ?? pair.count
    let rawName = UnsafeBufferPointer(rebasing: pair[..<separator])
    let rawValue = UnsafeBufferPointer(rebasing: pair[separator...].dropFirst())
    guard let name = PercentEncoding.decode(rawName, plusIsSpace: true) else {
      let name = String(decoding: rawName, as: UTF8.self)
      throw .invalidParameter(name, "must have a name in percent-encoded UTF-8")
    }
    guard let value = PercentEncoding.decode(rawValue, plusIsSpace: true) else {
      throw .invalidParameter(name, "must be percent-encoded UTF-8")
    }
    return Parameter(name: name, value: value, hasEscapes: rawValue.contains(UInt8(ascii: "%")))
  }
}
