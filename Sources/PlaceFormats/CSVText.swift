/// The cells of a CSV record (RFC 4180).
public enum CSVText {
  /// Appends a text as a cell: behind an apostrophe where a spreadsheet would take it for a formula (see
  /// ``PlaceWriter``), and between quotation marks where it needs them.
  public static func append(_ text: String, to bytes: inout [UInt8]) {
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
  public static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
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
