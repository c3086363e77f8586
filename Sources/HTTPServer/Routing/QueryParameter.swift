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

  /// Calls a closure with each parameter of the part of a target after the `?`, in their order. Linear in its length.
  ///
  /// - Throws: 400 `invalid-parameter` where a name or value is not percent-encoded UTF-8, or there are more than
  ///   ``maximumCount``, after the calls with the parameters before it; the error of the closure.
  public static func forEach(
    in query: Substring?, _ body: (QueryParameter) throws(Problem) -> Void
  ) throws(Problem) {
    guard let query, !query.isEmpty else { return }
    try query.utf8.withContiguousBytes { bytes throws(Problem) in
      var (start, count) = (0, 0)
      while start < bytes.count {
        let end = bytes.firstIndex(of: UInt8(ascii: "&"), from: start) ?? bytes.count
        if start < end {
          count += 1
          guard count <= maximumCount else {
            throw .invalidParameter("query", "has more than \(maximumCount) parameters")
          }
          try body(QueryParameter(UnsafeBufferPointer(rebasing: bytes[start..<end])))
        }
        start = end + 1
      }
    }
  }

  private init(_ pair: UnsafeBufferPointer<UInt8>) throws(Problem) {
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
    self.name = name
    self.value = value
    hasEscapes = rawValue.contains(UInt8(ascii: "%"))
  }
}
