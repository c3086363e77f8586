/// An incremental transcoder of UTF-16 to UTF-8. An unpaired surrogate becomes U+FFFD.
struct UTF16Transcoder {
  private let isBigEndian: Bool
  private var firstByte: UInt8?
  private var highSurrogate: UInt16?

  /// Creates a transcoder for a text that begins with a byte-order mark; `nil` where there is none of UTF-16.
  init?(byteOrderMark bytes: [UInt8]) {
    if bytes.starts(with: [0xFF, 0xFE]) {
      isBigEndian = false
    } else if bytes.starts(with: [0xFE, 0xFF]) {
      isBigEndian = true
    } else {
      return nil
    }
  }

  /// Appends the text of the next bytes.
  mutating func transcode(_ bytes: some Sequence<UInt8>, into text: inout [UInt8]) {
    for byte in bytes {
      guard let first = firstByte.take() else {
        firstByte = byte
        continue
      }
      let unit = isBigEndian ? UInt16(first) << 8 | UInt16(byte) : UInt16(byte) << 8 | UInt16(first)
      append(unit, to: &text)
    }
  }

  /// Appends what an incomplete character at the end becomes.
  mutating func finish(into text: inout [UInt8]) {
    if firstByte.take() != nil { Self.append("\u{FFFD}", to: &text) }
    if highSurrogate.take() != nil { Self.append("\u{FFFD}", to: &text) }
  }

  private mutating func append(_ unit: UInt16, to text: inout [UInt8]) {
    if let high = highSurrogate.take() {
      if UTF16.isTrailSurrogate(unit) {
        let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
        if let scalar = Unicode.Scalar(value) { Self.append(scalar, to: &text) }
        return
      }
      Self.append("\u{FFFD}", to: &text)
    }
    if UTF16.isLeadSurrogate(unit) {
      highSurrogate = unit
    } else {
      Self.append(Unicode.Scalar(unit) ?? "\u{FFFD}", to: &text)
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout [UInt8]) {
    text.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
  }
}
