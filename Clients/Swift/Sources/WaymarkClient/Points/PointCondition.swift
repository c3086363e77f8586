public import Foundation

/// A condition on the properties of a place, tags included, in the Common Query Language (CQL2, OGC 21-065).
///
/// A value that is interpolated becomes a literal: texts are quoted, so that one from a user can't change the
/// condition. An interpolated condition stands in parentheses.
///
/// ```swift
/// let name = "O'Brien"
/// let isPub: PointCondition = "category IN \(["pub", "bar"]) AND CASEI(name) = CASEI(\(name))"
/// let filter = PointFilter(box: box, condition: "\(isPub) AND \(tag: "wheelchair") IS NOT NULL")
/// ```
public struct PointCondition: Hashable, Sendable {
  /// The condition in the text encoding of CQL2.
  public let text: String

  /// A Boolean value that indicates whether all values could be written as literals.
  private let isComplete: Bool

  /// Creates a condition from text in CQL2, unchanged. Do not build the text from values; interpolate them in a
  /// literal.
  ///
  /// ```swift
  /// let condition = PointCondition(cql2: "website IS NOT NULL")
  /// ```
  public init(cql2 text: String) {
    self.text = text
    isComplete = true
  }

  /// Returns the query parameter.
  ///
  /// - Throws: ``RequestError/invalidCondition``.
  func parameter() throws(RequestError) -> QueryParameter {
    guard isComplete, !text.isEmpty else { throw .invalidCondition }
    return QueryParameter("filter", .text(text))
  }
}

extension PointCondition: ExpressibleByStringInterpolation {
  /// Creates a condition from a literal.
  public init(stringLiteral text: String) {
    self.init(cql2: text)
  }

  /// Creates a condition from a literal with values.
  public init(stringInterpolation: StringInterpolation) {
    text = stringInterpolation.text
    isComplete = stringInterpolation.isComplete
  }

  /// The parts of a condition, of which the values become literals of CQL2.
  ///
  /// ```swift
  /// let since = Date(timeIntervalSince1970: 0)
  /// let condition: PointCondition = "updatedAt > \(since) AND \(tag: "seats") > \(12) AND \(tag: "indoor") = \(true)"
  /// let both: PointCondition = "\(condition) AND lat > \(47.5) AND name <> \("A") AND category IN \(["cafe"])"
  /// ```
  public struct StringInterpolation: StringInterpolationProtocol {
    fileprivate var text = ""
    fileprivate var isComplete = true

    /// Creates an empty condition.
    public init(literalCapacity: Int, interpolationCount: Int) {
      text.reserveCapacity(literalCapacity + interpolationCount * 16)
    }

    /// Appends a part of the condition itself.
    public mutating func appendLiteral(_ literal: String) { text += literal }

    /// Appends a text as a literal.
    ///
    /// ```swift
    /// let isZentral: PointCondition = "name = \("Café 'Zentral'")"
    /// ```
    public mutating func appendInterpolation(_ value: String) {
      append(value, quote: "'")
      // At the end of a text, a backslash would escape the quotation mark that ends it; NUL cannot be written at all.
      isComplete = isComplete && value.unicodeScalars.last != "\\" && !value.unicodeScalars.contains("\0")
    }

    /// Appends texts as a list, for `IN` and the array functions.
    ///
    /// ```swift
    /// let isOpen: PointCondition = "category IN \(["cafe", "bar"])"
    /// ```
    public mutating func appendInterpolation(_ values: [String]) {
      isComplete = isComplete && !values.isEmpty
      text += "("
      for (index, value) in values.enumerated() {
        if index > 0 { text += ", " }
        appendInterpolation(value)
      }
      text += ")"
    }

    /// Appends an integer.
    ///
    /// ```swift
    /// let isLarge: PointCondition = "\(tag: "seats") >= \(50)"
    /// ```
    public mutating func appendInterpolation(_ value: Int) { text += String(value) }

    /// Appends a number, which must be finite.
    ///
    /// ```swift
    /// let isNorth: PointCondition = "lat > \(66.56)"
    /// ```
    public mutating func appendInterpolation(_ value: Double) {
      isComplete = isComplete && value.isFinite
      text += "\(value)"
    }

    /// Appends a Boolean value.
    ///
    /// ```swift
    /// let isIndoor: PointCondition = "\(tag: "indoor") = \(true)"
    /// ```
    public mutating func appendInterpolation(_ value: Bool) { text += value ? "TRUE" : "FALSE" }

    /// Appends a time.
    ///
    /// ```swift
    /// let isNew: PointCondition = "createdAt > \(Date(timeIntervalSinceNow: -86400))"
    /// ```
    public mutating func appendInterpolation(_ time: Date) { text += "TIMESTAMP('\(RFC3339.text(of: time))')" }

    /// Appends the name of a tag as a property, whatever its characters.
    ///
    /// ```swift
    /// let hasHours: PointCondition = "\(tag: "opening_hours") IS NOT NULL"
    /// ```
    public mutating func appendInterpolation(tag key: String) {
      append("tag." + key, quote: "\"")
      isComplete = isComplete && !key.isEmpty && !key.unicodeScalars.contains("\0")
    }

    /// Appends another condition in parentheses.
    ///
    /// ```swift
    /// let isCafe: PointCondition = "category = 'cafe'"
    /// let isOther: PointCondition = "NOT \(isCafe)"
    /// ```
    public mutating func appendInterpolation(_ condition: PointCondition) {
      text += "(" + condition.text + ")"
      isComplete = isComplete && condition.isComplete && !condition.text.isEmpty
    }

    /// Appends a quoted text, in which the quotation mark is doubled. Unicode scalars count: a quotation mark with a
    /// combining mark is another `Character`, but ends the text all the same.
    private mutating func append(_ value: String, quote: Unicode.Scalar) {
      text.unicodeScalars.append(quote)
      var previous: Unicode.Scalar?
      for scalar in value.unicodeScalars {
        // After a backslash, the first of two quotation marks would be read as escaped, and the second as the end.
        if scalar == quote { text.unicodeScalars.append(quote == "'" && previous == "\\" ? "\\" : quote) }
        text.unicodeScalars.append(scalar)
        previous = scalar
      }
      text.unicodeScalars.append(quote)
    }
  }
}
