/// The cells of a CSV record (RFC 4180).
public enum CSVText {
  /// Appends a text as a cell: behind an apostrophe where a spreadsheet would take it for a formula (see
  /// ``PlaceWriter``), and between quotation marks where it needs them.
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    if text.withUTF8(FormulaGuard.isNeeded) { text = "'" + text }
    let needsQuotes = text.utf8.contains { byte in
      byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\n")
        || byte == UInt8(ascii: "\r")
    }
    if needsQuotes { appendQuoted(text, to: &bytes) } else { bytes.append(contentsOf: text.utf8) }
  }

  /// Appends a text as a cell between quotation marks, those within doubled.
  public static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    for byte in text.utf8 {
      if byte == UInt8(ascii: "\"") { bytes.append(byte) }
      bytes.append(byte)
    }
    bytes.append(UInt8(ascii: "\""))
  }
}
