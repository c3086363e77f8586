import Testing

/// Text that tests take as an argument and of which their output names the beginning only.
public struct LongText: CustomTestStringConvertible, ExpressibleByStringLiteral, Sendable {
  /// The text.
  public let text: String

  /// Creates the text.
  public init(_ text: String) { self.text = text }

  /// Creates the text from a literal.
  public init(stringLiteral text: String) { self.init(text) }

  /// Returns a text of so many copies of another.
  public static func repeated(_ text: String, count: Int) -> LongText {
    LongText(String(repeating: text, count: count))
  }

  /// Returns both texts, one behind the other.
  public static func + (text: LongText, other: LongText) -> LongText { LongText(text.text + other.text) }

  /// The text, or how it begins and how long it is.
  public var testDescription: String {
    text.utf8.count <= 100 ? text.debugDescription : "\(text.prefix(40).debugDescription)… of \(text.utf8.count) bytes"
  }
}
