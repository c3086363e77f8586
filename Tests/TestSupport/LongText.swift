import Testing

/// A text argument of tests that is abbreviated in their output.
public struct LongText: CustomTestStringConvertible, ExpressibleByStringLiteral, Sendable {
  /// The text.
  public let text: String

  /// Creates the text.
  public init(_ text: String) { self.text = text }

  /// Creates the text from a literal.
  public init(stringLiteral text: String) { self.init(text) }

  /// Returns a text of `count` copies of another.
  public static func repeated(_ text: String, count: Int) -> LongText {
    LongText(String(repeating: text, count: count))
  }

  /// Returns the concatenation of two texts.
  public static func + (text: LongText, other: LongText) -> LongText { LongText(text.text + other.text) }

  /// The text, or its beginning and length.
  public var testDescription: String {
    text.utf8.count <= 100 ? text.debugDescription : "\(text.prefix(40).debugDescription)… of \(text.utf8.count) bytes"
  }
}
