import Basics
package import HTTPServer
import JSONText
import NIOHTTP1
import Points
import SearchWords

/// The texts of all pages in a language, by names such as `map.title`.
///
/// A text may have parts to fill in, each a name in braces. Scripts, which read the same file, choose among several
/// forms of a text by its number.
package struct PageTexts: Sendable {
  package let language: String

  /// The texts as JSON.
  package let file: [UInt8]

  /// The texts that have one form.
  private let texts: [ExactText: String]

  /// Creates the texts of a file, whose members are strings, and others for scripts.
  package init(language: String, file: [UInt8]) {
    self.language = language
    self.file = file
    guard case .object(let members)? = try? JSONReader.value(of: file) else {
      preconditionFailure("the texts of the pages in '\(language)' are not valid JSON")
    }
    texts = members.reduce(into: [:]) { texts, member in
      if case .string(let text) = member.value { texts[ExactText(member.name)] = text }
    }
  }

  /// Returns a text with values in place of their names in braces; the name itself if there is no such text.
  package func text(_ name: String, _ values: KeyValuePairs<String, String> = [:]) -> String {
    values.reduce(texts[ExactText(name)] ?? name) { $0.replacing("{\($1.key)}", with: $1.value) }
  }

  /// Returns a page in HTML with texts in place of their names in double braces.
  package func filling(_ page: [UInt8]) -> [UInt8] {
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

/// The texts of pages in HTML, and where they may load images from.
package struct PageStyle: Sendable {
  /// The texts in each language, of which there is one at least. A reader who prefers none of them gets the first one.
  package var texts: [PageTexts]

  /// The origin of the images of a base map; `nil` if these are on this server, or if there are none.
  package var imageOrigin: String?

  package init(texts: [PageTexts] = [PageTexts(language: "en", file: Array("{}".utf8))], imageOrigin: String? = nil) {
    self.texts = texts
    self.imageOrigin = imageOrigin
  }

  /// Returns the index of the language that a request prefers (RFC 4647, section 3.4).
  package func index(preferredBy headers: RequestFields) -> Int {
    for range in LanguagePriorityList(acceptLanguage: headers)?.ranges ?? [] {
      let primary = String(range.text.prefix { $0 != "-" })
      if let index = texts.firstIndex(where: { $0.language.hasSameBytes(as: primary) }) { return index }
    }
    return 0
  }
}

extension HTTPResponse {
  /// Adds the fields of a page: its language, and that it loads nothing from elsewhere but images of the base map.
  package mutating func addPageFields(_ texts: PageTexts?, imageOrigin: String?) {
    if let texts { headers.add(name: "content-language", value: texts.language) }
    // Scripts, styles and requests to this origin alone, none in the page itself, and no frame around it.
    headers.add(
      name: "content-security-policy",
      value: "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
        + (imageOrigin.map { " \($0)" } ?? "") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
    headers.add(name: "x-content-type-options", value: "nosniff")
    // Public tile servers reject requests that do not tell which site they are for.
    headers.add(name: "referrer-policy", value: imageOrigin == nil ? "no-referrer" : "strict-origin")
  }

  /// Adds `Accept-Language` to `Vary`.
  package mutating func addVaryingLanguage() {
    let fields = headers[canonicalForm: "vary"] + ["accept-language"]
    headers.replaceOrAdd(name: "vary", value: fields.joined(separator: ", "))
  }
}
