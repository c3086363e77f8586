/// The parser of `Forwarded` fields (RFC 7239, section 4).
enum ForwardedField {
  /// Returns the values of `for` in the order of the proxies, one for each element, without quotes; empty for an
  /// element without one, and for a malformed element.
  static func clients(_ values: [String]) -> [Substring] {
    values.flatMap { value in
      split(value[...], at: ",").map { element in
        for pair in split(element, at: ";") {
          let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
          guard parts.count == 2, parts[0].drop(while: { $0 == " " || $0 == "\t" }).lowercased() == "for" else {
            continue
          }
          return unquoted(parts[1])
        }
        return ""
      }
    }
  }

  /// Splits the text where the separator is not between quotes.
  private static func split(_ text: Substring, at separator: Character) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == separator && !isQuoted
    }
  }

  /// Returns the text without its quotes. An address needs no escapes between them; text with escapes is not one.
  private static func unquoted(_ text: Substring) -> Substring {
    var text = text
    while text.last == " " || text.last == "\t" { text.removeLast() }
    guard text.first == "\"", text.last == "\"", text.utf8.count >= 2 else { return text }
    return text.dropFirst().dropLast()
  }
}
