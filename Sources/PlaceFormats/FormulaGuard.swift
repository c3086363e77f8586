/// What keeps a spreadsheet from taking a text for a formula.
///
/// Spreadsheets calculate a cell of a CSV file that begins with `=`, `+`, `-` or `@`, quoted or not, and a formula can
/// send what stands in other cells elsewhere (CWE-1236). Whoever may write a place must not get at whoever opens an
/// export; so such a text is written behind an apostrophe, which spreadsheets know as the mark of a text. So is one that
/// already begins with apostrophes before such a character: taking one away again gives every text back as it was.
enum FormulaGuard {
  /// Whether the text, as it stands, must be guarded, or is.
  static func isNeeded(for text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = text.first(where: { $0 != apostrophe }) else { return false }
    return first == UInt8(ascii: "=") || first == UInt8(ascii: "+") || first == UInt8(ascii: "-")
      || first == UInt8(ascii: "@")
  }

  /// The text without its guard.
  static func removed(from text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard text.first == apostrophe, isNeeded(for: text) else { return text }
    return UnsafeBufferPointer(rebasing: text.dropFirst())
  }

  /// The guard.
  static let apostrophe = UInt8(ascii: "'")
}
