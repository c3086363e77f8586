/// What the first bytes of a text tell of it.
enum FileSignature {
  /// How many bytes are looked at.
  static let maximumLength = 4

  /// How many bytes the byte-order mark of UTF-8 takes at the start, 0 without one.
  ///
  /// - Throws: ``FormatError`` when the bytes are of another encoding, or compressed: every row of them would be
  ///   rejected, and no one told why.
  static func lengthOfByteOrderMark(in bytes: [UInt8]) throws(FormatError) -> Int {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return 3 }
    if bytes.starts(with: [0xFF, 0xFE]) || bytes.starts(with: [0xFE, 0xFF]) {
      throw FormatError(reason: "the text is in UTF-16; it must be in UTF-8")
    }
    if bytes.starts(with: [0x1F, 0x8B]) {
      throw FormatError(reason: "the file is compressed with gzip; unpack it first")
    }
    if bytes.starts(with: [0x50, 0x4B, 0x03, 0x04]) {
      throw FormatError(reason: "the file is a ZIP archive or a spreadsheet; save it as CSV or GeoJSON first")
    }
    return 0
  }
}
