import Basics

/// The encoding of a text, as its first bytes or its sender determine it.
package struct TextEncoding: Sendable {
  /// The number of bytes that determine it, unless the text is shorter.
  package static let decidingBytes = 4

  /// The number of bytes of the byte-order mark, which is no part of the text.
  package let markBytes: Int

  /// The decoder of the text behind the byte-order mark; `nil` if it is in UTF-8, or in an encoding of bytes, which
  /// ``ByteTextDecoder`` detects.
  package let decoder: (any TextDecoder)?

  /// Creates the encoding of a text.
  ///
  /// - Parameters:
  ///   - start: the first bytes of the text.
  ///   - charset: the encoding that the sender names, before which a byte-order mark counts; `nil` if the text determines
  ///     it.
  /// - Throws: ``TextEncodingError`` if the text can't be decoded.
  package init(ofTextBeginningWith start: [UInt8], charset: TextCharset? = nil) throws(TextEncodingError) {
    if start.starts(with: [0xFF, 0xFE, 0, 0]) || start.starts(with: [0, 0, 0xFE, 0xFF]) { throw .utf32 }
    if start.starts(with: [0xEF, 0xBB, 0xBF]) {
      (markBytes, decoder) = (3, nil)
    } else if let utf16 = UTF16Decoder(byteOrderMark: start) {
      (markBytes, decoder) = (2, utf16)
    } else if let charset {
      (markBytes, decoder) = (0, try charset.decoder())
    } else {
      (markBytes, decoder) = (0, UTF16Decoder(asciiStart: start))
    }
  }
}

/// The reason why a text can't be decoded.
package enum TextEncodingError: Error, Hashable, Sendable {
  /// The text is in UTF-32.
  case utf32
  /// The system does not have the conversion of the encoding.
  case unavailable(TextCharset)
  /// The text is neither in UTF-8 nor in Windows-1252. By its letters it is likely in another encoding; `nil` if none is
  /// likely.
  case undetected(likely: TextCharset?)
}

/// An incremental decoder of a text to UTF-8.
package protocol TextDecoder: Sendable {
  /// The name of the encoding that was detected, for a user; `nil` for UTF-8 and for what a byte-order mark says.
  var detectedEncoding: String? { get }

  /// Appends the text of the next bytes.
  ///
  /// - Throws: ``TextEncodingError/undetected(likely:)``.
  mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) throws(TextEncodingError)

  /// Appends the text that is left at the end.
  ///
  /// - Throws: ``TextEncodingError/undetected(likely:)``.
  mutating func finish(into text: inout [UInt8]) throws(TextEncodingError)
}

/// An incremental decoder of UTF-16. An unpaired surrogate becomes U+FFFD.
struct UTF16Decoder: TextDecoder {
  let detectedEncoding: String?
  private let isBigEndian: Bool
  private var firstByte: UInt8?
  private var highSurrogate: UInt16?

  /// Creates a decoder of the text behind a byte-order mark; `nil` if there is none of UTF-16.
  init?(byteOrderMark bytes: [UInt8]) {
    if bytes.starts(with: [0xFF, 0xFE]) {
      isBigEndian = false
    } else if bytes.starts(with: [0xFE, 0xFF]) {
      isBigEndian = true
    } else {
      return nil
    }
    detectedEncoding = nil
  }

  /// Creates a decoder of a text that begins with two ASCII characters; `nil` if it does not.
  init?(asciiStart bytes: [UInt8]) {
    guard bytes.count >= 4, (bytes[0] == 0) == (bytes[2] == 0), (bytes[1] == 0) == (bytes[3] == 0),
      (bytes[0] == 0) != (bytes[1] == 0)
    else { return nil }
    isBigEndian = bytes[0] == 0
    detectedEncoding = "UTF-16"
  }

  mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) {
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
    if firstByte.take() != nil { text.append(scalar: "\u{FFFD}") }
    if highSurrogate.take() != nil { text.append(scalar: "\u{FFFD}") }
  }

  private mutating func append(_ unit: UInt16, to text: inout [UInt8]) {
    if let high = highSurrogate.take() {
      if UTF16.isTrailSurrogate(unit) {
        let value = 0x10000 + (UInt32(high) - 0xD800) << 10 + (UInt32(unit) - 0xDC00)
        if let scalar = Unicode.Scalar(value) { text.append(scalar: scalar) }
        return
      }
      text.append(scalar: "\u{FFFD}")
    }
    if UTF16.isLeadSurrogate(unit) {
      highSurrogate = unit
    } else {
      text.append(scalar: Unicode.Scalar(unit) ?? "\u{FFFD}")
    }
  }
}

/// An incremental decoder of a text that is in UTF-8 or in Windows-1252, of which ISO 8859-1 is a part.
///
/// The first bytes that are not ASCII decide: they and the ``decidingBytes`` behind them are well-formed UTF-8 or not.
/// A text that has both is UTF-8 with errors, which are left to the reader of the text.
package struct ByteTextDecoder: TextDecoder {
  private enum State {
    /// All bytes so far were ASCII.
    case ascii
    /// The bytes of ``pending`` are not enough.
    case deciding
    case utf8
    case western
  }

  /// The number of bytes that decide.
  static let decidingBytes = 4096

  private var state = State.ascii

  /// The bytes from the first on that is not ASCII.
  private var pending: [UInt8] = []

  package var detectedEncoding: String? { state == .western ? "Windows-1252" : nil }

  package init() {}

  package mutating func decode(
    _ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]
  ) throws(TextEncodingError) {
    switch state {
    case .utf8: text.append(contentsOf: bytes)
    case .western: for byte in bytes { Self.append(western: byte, to: &text) }
    case .deciding:
      pending.append(contentsOf: bytes)
      if pending.count >= Self.decidingBytes { try decide(isLast: false, into: &text) }
    case .ascii:
      let start = text.count
      text.append(contentsOf: bytes)
      guard let first = text[start...].firstIndex(where: { $0 >= 0x80 }) else { return }
      pending = Array(text[first...])
      text.removeLast(pending.count)
      state = .deciding
      if pending.count >= Self.decidingBytes { try decide(isLast: false, into: &text) }
    }
  }

  package mutating func finish(into text: inout [UInt8]) throws(TextEncodingError) {
    if state == .deciding { try decide(isLast: true, into: &text) }
  }

  private mutating func decide(isLast: Bool, into text: inout [UInt8]) throws(TextEncodingError) {
    let sample = pending.prefix(Self.decidingBytes)
    let counts = ByteCounts(of: sample, isWhole: isLast && sample.count == pending.count)
    if counts.malformed == 0 || counts.sequences >= counts.malformed {
      state = .utf8
      text += pending
    } else if counts.areWestern {
      state = .western
      for byte in pending { Self.append(western: byte, to: &text) }
    } else {
      throw .undetected(likely: TextCharset.guess(of: Array(sample.prefix(4 * sample.count / 5 + 64))))
    }
    pending = []
  }

  /// Counts of the bytes of a text that are not ASCII.
  private struct ByteCounts {
    /// The number of well-formed sequences of UTF-8.
    private(set) var sequences = 0

    /// The number of bytes that belong to no such sequence.
    private(set) var malformed = 0

    private var bytes = 0
    private var inRuns = 0
    private var controls = 0
    private var undefined = 0

    /// - Parameter isWhole: a Boolean value that indicates whether a sequence that the end cuts is malformed.
    init(of text: ArraySlice<UInt8>, isWhole: Bool) {
      text.withUnsafeBufferPointer { text in
        var position = 0
        while position < text.count {
          guard text[position] >= 0x80 else {
            position += 1
            continue
          }
          let length = UTF8Bytes.lengthOfScalar(in: text, at: position)
          if length > 0 {
            sequences += 1
            position += length
          } else {
            if !isWhole, text.count - position < 4 { break }
            malformed += 1
            position += 1
          }
        }
        var run = 0
        for byte in text {
          guard byte >= 0x80 else {
            run = 0
            continue
          }
          bytes += 1
          run += 1
          if run >= 3 { inRuns += run == 3 ? 3 : 1 }
          if byte < 0xA0 { controls += 1 }
          if ByteTextDecoder.scalars[Int(byte)] == 0 { undefined += 1 }
        }
      }
    }

    /// A Boolean value that indicates whether the bytes are likely letters of Western Europe, which stand among ASCII
    /// letters, rather than those of an alphabet or script of its own.
    var areWestern: Bool {
      undefined == 0 && inRuns * 2 < max(bytes, 1) && (bytes < 4 || controls * 2 < bytes)
    }
  }

  // MARK: Windows-1252

  /// The scalars of the bytes from 0x80 to 0x9F; 0 for none (https://encoding.spec.whatwg.org/index-windows-1252.txt
  /// has control characters for those).
  private static let controlScalars: [UInt32] = [
    0x20AC, 0, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0, 0x017D, 0,
    0, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0, 0x017E,
    0x0178,
  ]

  private static let scalars: [UInt32] = (0..<256).map { byte in
    (0x80..<0xA0).contains(byte) ? controlScalars[byte - 0x80] : UInt32(byte)
  }

  /// Appends the character of a byte; a byte without one stays as it is, so that a reader finds it.
  private static func append(western byte: UInt8, to text: inout [UInt8]) {
    let value = scalars[Int(byte)]
    if byte < 0x80 || value == 0 {
      text.append(byte)
    } else if let scalar = Unicode.Scalar(value) {
      text.append(scalar: scalar)
    }
  }
}

extension [UInt8] {
  fileprivate mutating func append(scalar: Unicode.Scalar) {
    append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
  }
}
