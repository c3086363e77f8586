import Testing

/// A text argument of tests that is abbreviated in their output.
package struct LongText: CustomTestStringConvertible, ExpressibleByStringLiteral, Sendable {
  /// The text.
  package let text: String

  package init(_ text: String) { self.text = text }

  /// Creates the text from a literal.
  package init(stringLiteral text: String) { self.init(text) }

  /// Returns a text of `count` copies of another.
  package static func repeated(_ text: String, count: Int) -> LongText {
    LongText(String(repeating: text, count: count))
  }

  /// Returns the concatenation of two texts.
  package static func + (text: LongText, other: LongText) -> LongText { LongText(text.text + other.text) }

  /// The text, or its beginning and length.
  package var testDescription: String {
    text.utf8.count <= 100 ? text.debugDescription : "\(text.prefix(40).debugDescription)… of \(text.utf8.count) bytes"
  }
}
