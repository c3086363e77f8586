import Basics

/// A name of a query and its value.
public struct QueryParameter: Sendable {
  /// The name, decoded.
  public let name: String

  /// The value, decoded: `%XX` is decoded and `+` is a space; empty where there is no `=`.
  public let value: String

  /// A Boolean value that indicates whether the value was sent with `%XX`.
  public let hasEscapes: Bool

  /// The maximum number of parameters in a query.
  public static let maximumCount = 100

  /// A name and its value as they were sent, in the memory of the query.
  package struct Encoded {
    package let name: UnsafeBufferPointer<UInt8>
    package let value: UnsafeBufferPointer<UInt8>

    /// A Boolean value that indicates whether the value has `%XX`.
    package var hasEscapes: Bool { value.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil }

    fileprivate init(_ pair: UnsafeBufferPointer<UInt8>) {
      let separator = pair.firstIndex(of: UInt8(ascii: "="), from: 0) ?? pair.count
      name = UnsafeBufferPointer(rebasing: pair[..<separator])
      value = UnsafeBufferPointer(rebasing: pair[min(separator + 1, pair.count)...])
    }

    /// Returns the value, decoded.
    ///
    /// - Throws: 400 `invalid-parameter` where it is not percent-encoded UTF-8.
    package func decodedValue() throws(Problem) -> String {
      if let value = PercentEncoding.decode(value, plusIsSpace: true) { return value }
      throw .invalidParameter(try decodedName(), "must be percent-encoded UTF-8")
    }

    /// Returns the parameter, decoded.
    ///
    /// - Throws: 400 `invalid-parameter` where the name or the value is not percent-encoded UTF-8.
    package func decoded() throws(Problem) -> QueryParameter {
      QueryParameter(name: try decodedName(), value: try decodedValue(), hasEscapes: hasEscapes)
    }

    private func decodedName() throws(Problem) -> String {
      if let name = PercentEncoding.decode(name, plusIsSpace: true) { return name }
      throw .invalidParameter(String(decoding: name, as: UTF8.self), "must have a name in percent-encoded UTF-8")
    }
  }

  /// Calls a closure with each parameter of the part of a target after the `?`, in their order. Linear in its length.
  ///
  /// - Throws: 400 `invalid-parameter` where a name or value is not percent-encoded UTF-8, or there are more than
  ///   ``maximumCount``, after the calls with the parameters before it; the error of the closure.
  public static func forEach(
    in query: Substring?, _ body: (QueryParameter) throws(Problem) -> Void
  ) throws(Problem) {
    guard let query else { return }
    try forEach(encodedIn: query) { pair throws(Problem) in try body(try pair.decoded()) }
  }

  /// Calls a closure with each parameter of a query as it was sent, in their order. They do not leave the closure.
  ///
  /// - Throws: 400 `invalid-parameter` where there are more than ``maximumCount``, after the calls with the parameters
  ///   before it; the error of the closure.
  package static func forEach(
    encodedIn query: Substring, _ body: (Encoded) throws(Problem) -> Void
  ) throws(Problem) {
    try query.utf8.span.withUnsafeBufferPointer { bytes throws(Problem) in
      var (start, count) = (0, 0)
      while start < bytes.count {
        let end = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) ?? bytes.count
        if start < end {
          count += 1
          guard count <= maximumCount else {
            throw .invalidParameter("query", "has more than \(maximumCount) parameters")
          }
          try body(Encoded(UnsafeBufferPointer(rebasing: bytes[start..<end])))
        }
        start = end + 1
      }
    }
  }
}
