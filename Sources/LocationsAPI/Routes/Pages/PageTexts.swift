import Basics
import CPages
import HTTPServer
import JSONText
import Points

/// The texts of all pages in a language, by names such as `map.title`.
///
/// A text may have parts to fill in, each a name in braces. Scripts, which read the same file, choose among several
/// forms of a text by its number.
struct PageTexts: Sendable {
  let language: String

  /// The texts as JSON.
  let file: [UInt8]

  /// The texts that have one form.
  private let texts: [ExactText: String]

  /// The languages of the pages. Readers of none of them get the first one.
  static let all: [PageTexts] = {
    var all: [PageTexts] = []
    while let language = waymark_texts(all.count).language {
      let texts = waymark_texts(all.count)
      all.append(
        PageTexts(
          language: String(cString: language),
          file: Array(UnsafeBufferPointer(start: texts.bytes, count: texts.count))))
    }
    return all
  }()

  private init(language: String, file: [UInt8]) {
    self.language = language
    self.file = file
    guard case .object(let members)? = try? JSONReader.value(of: file) else {
      preconditionFailure("the texts of the pages in '\(language)' are not valid JSON")
    }
    texts = members.reduce(into: [:]) { texts, member in
      if case .string(let text) = member.value { texts[ExactText(member.name)] = text }
    }
  }

  /// Returns the index of the language that a request prefers (RFC 4647, section 3.4).
  static func index(preferredBy headers: RequestFields) -> Int {
    for range in LanguagePriorityList(acceptLanguage: headers)?.ranges ?? [] {
      let primary = String(range.text.prefix { $0 != "-" })
      if let index = all.firstIndex(where: { $0.language.hasSameBytes(as: primary) }) { return index }
    }
    return 0
  }

  static func preferred(by headers: RequestFields) -> PageTexts { all[index(preferredBy: headers)] }

  /// Returns a text with values in place of their names in braces; the name of a text that there is not.
  func text(_ name: String, _ values: KeyValuePairs<String, String> = [:]) -> String {
    values.reduce(texts[ExactText(name)] ?? name) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  /// Returns a page in HTML with texts in place of their names in double braces.
  func filling(_ page: [UInt8]) -> [UInt8] {
    var filled: [UInt8] = []
    filled.reserveCapacity(page.count * 2)
    // The end of the last name.
    var end = 0
    while let start = Self.index(ofPair: UInt8(ascii: "{"), in: page, from: end),
      let close = Self.index(ofPair: UInt8(ascii: "}"), in: page, from: start + 2)
    {
      filled += page[end..<start]
      filled += HTML.escape(text(String(decoding: page[start + 2..<close], as: UTF8.self))).utf8
      end = close + 2
    }
    return filled + page[end...]
  }

  private static func index(ofPair byte: UInt8, in page: [UInt8], from start: Int) -> Int? {
    var index = start
    while index + 1 < page.count {
      if page[index] == byte, page[index + 1] == byte { return index }
      index += 1
    }
    return nil
  }
}
