/// The cells of a CSV record (RFC 4180).
enum CSVText {
  /// Appends a text as a cell: behind an apostrophe where a spreadsheet would take it for a formula (see
  /// ``FormulaGuard``), and between quotation marks where it needs them.
  static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { utf8 in
      if FormulaGuard.isNeeded(for: utf8) {
        appendWhole([FormulaGuard.apostrophe] + utf8, to: &bytes)
      } else {
        appendWhole(utf8, to: &bytes)
      }
    }
  }

  private static func appendWhole(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    let needsQuotes = text.contains { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
    }
    if needsQuotes { appendQuoted(text, to: &bytes) } else { bytes.append(contentsOf: text) }
  }

  /// Appends a text as a cell between quotation marks, those within doubled.
  static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { utf8 in appendQuoted(utf8, to: &bytes) }
  }

  private static func appendQuoted(_ text: some Collection<UInt8>, to bytes: inout [UInt8]) {
    let mark = UInt8(ascii: "\"")
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 2 * text.count + 2) { cell in
      var length = 0
      func put(_ byte: UInt8) {
        cell[length] = byte
        length += 1
      }
      put(mark)
      for byte in text {
        if byte == mark { put(mark) }
        put(byte)
      }
      put(mark)
      bytes.append(contentsOf: UnsafeBufferPointer(rebasing: cell[..<length]))
    }
  }
}

/// The guard that keeps a spreadsheet from taking a text for a formula.
///
/// Spreadsheets calculate a cell of a CSV file that begins with `=`, `+`, `-` or `@`, quoted or not, and a formula can
/// send the contents of other cells elsewhere (CWE-1236). A user who may write a place must not attack the users who
/// open an export, so such a text is written behind an apostrophe, which spreadsheets know as the mark of a text. So is
/// a text that already begins with apostrophes before such a character: removing one restores every text.
enum FormulaGuard {
  /// Returns a Boolean value that indicates whether the text must be guarded, or is.
  static func isNeeded(for text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard let first = text.first(where: { $0 != apostrophe }) else { return false }
    return first == UInt8(ascii: "=") || first == UInt8(ascii: "+") || first == UInt8(ascii: "-")
      || first == UInt8(ascii: "@")
  }

  /// Returns the text without its guard.
  static func removed(from text: UnsafeBufferPointer<UInt8>) -> UnsafeBufferPointer<UInt8> {
    guard text.first == apostrophe, isNeeded(for: text) else { return text }
    return UnsafeBufferPointer(rebasing: text.dropFirst())
  }

  static let apostrophe = UInt8(ascii: "'")
}
