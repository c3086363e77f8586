public import Basics

/// The languages in which names are preferred, the most preferred first: a language priority list of basic language
/// ranges (RFC 4647, section 2.1).
public struct LanguagePriorityList: Hashable, Sendable {
  /// The maximum number of ranges.
  public static let maximumCount = 20

  /// The ranges, in lower case, each once.
  public let ranges: [ExactText]

  /// Creates a list of ranges; `nil` if one of them is not well-formed, or there are none or too many.
  ///
  /// The range `*`, which any language matches, adds nothing: what has no name in one of the other languages keeps its
  /// own name anyway.
  public init?(_ ranges: some Collection<Substring>) {
    guard (1...Self.maximumCount).contains(ranges.count) else { return nil }
    var list: [ExactText] = []
    for range in ranges {
      guard Self.isWellFormed(range) else { return nil }
      let range = ExactText(range.lowercased())
      if range.text != "*", !list.contains(range) { list.append(range) }
    }
    self.ranges = list
  }

  /// Returns a Boolean value that indicates whether a text is a basic language range: subtags of one to eight letters
  /// or digits with hyphens between, the first of letters alone; or `*`.
  public static func isWellFormed(_ text: Substring) -> Bool {
    if text == "*" { return true }
    let subtags = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
    guard (1...8).contains(subtags.count) else { return false }
    for (index, subtag) in subtags.enumerated() {
      guard (1...8).contains(subtag.count), subtag.allSatisfy(\.isASCIIAlphanumeric) else { return false }
      if index == 0, subtag.contains(where: { (48...57).contains($0) }) { return false }
    }
    return true
  }

  /// A Boolean value that indicates whether the list prefers no language.
  public var isEmpty: Bool { ranges.isEmpty }

  /// Returns the first result of a look-up of the languages (RFC 4647, section 3.4), each in lower case; `nil` if there
  /// is none.
  @inlinable
  public func first<Result>(_ lookUp: (Substring) -> Result?) -> Result? {
    for range in ranges {
      var language = range.text[...]
      while !language.isEmpty {
        if let found = lookUp(language) { return found }
        language = Self.withoutLastSubtag(language)
      }
    }
    return nil
  }

  /// Returns a range without its last subtag, and without a single letter or digit that is then the last.
  @usableFromInline static func withoutLastSubtag(_ range: Substring) -> Substring {
    var rest = range
    repeat {
      guard let hyphen = rest.utf8.lastIndex(of: UInt8(ascii: "-")) else { return "" }
      rest = rest[..<hyphen]
    } while rest.utf8.count > 1 && rest.utf8.suffix(2).first == UInt8(ascii: "-")
    return rest
  }
}
