/// Reads `Forwarded` fields (RFC 7239, section 4).
enum ForwardedField {
  /// The values of `for` in the order of the proxies, one for each element; empty for an element without one, and quotes
  /// taken off. An element that can't be read is empty too.
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

  /// Splits where the separator is not between quotes.
  private static func split(_ text: Substring, at separator: Character) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == separator && !isQuoted
    }
  }

  /// An address needs no escapes between its quotes; what has some is not one.
  private static func unquoted(_ text: Substring) -> Substring {
    var text = text
    while text.last == " " || text.last == "\t" { text.removeLast() }
    guard text.first == "\"", text.last == "\"", text.utf8.count >= 2 else { return text }
    return text.dropFirst().dropLast()
  }
}
