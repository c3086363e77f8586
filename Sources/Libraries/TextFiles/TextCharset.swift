package import Basics

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// An encoding of texts that a sender names, by one of the labels of the Encoding Standard
/// (https://encoding.spec.whatwg.org/#names-and-labels) or a name that programs of databases use.
package struct TextCharset: Hashable, Sendable {
  /// The name, for a user.
  @ComparedByBytes package private(set) var name: String

  /// The name by which the system's converter knows the encoding, or a superset of it.
  @ComparedByBytes private var converterName: String

  package static let utf8 = TextCharset(name: "UTF-8", converterName: "UTF-8")

  private init(name: String, converterName: String) { (self.name, self.converterName) = (name, converterName) }

  /// Creates the encoding of a name, in any case; `nil` if it is unknown.
  package init?(named name: String) {
    let key = name.lowercased().filter { $0 != "-" && $0 != "_" }
    guard let found = Self.known.first(where: { $0.labels.contains(ExactText(key)) }) else { return nil }
    self = found.charset
  }

  /// The names of all encodings, for a user.
  package static let names = known.map(\.charset.name).joined(separator: ", ")

  /// The encodings with their labels, in lower case and without hyphens and underscores. As the Encoding Standard has it,
  /// ISO 8859-1 is read as Windows-1252, and Shift_JIS, EUC-KR and GB2312 as their supersets.
  private static let known: [Known] = {
    func known(_ name: String, _ converterName: String, _ labels: String...) -> Known {
      Known(charset: TextCharset(name: name, converterName: converterName), labels: Set(labels.map { ExactText($0) }))
    }
    var all = [
      known("UTF-8", "UTF-8", "utf8", "unicode11utf8", "usascii", "ascii"),
      known("UTF-16", "UTF-16LE", "utf16", "utf16le", "unicode", "ucs2"), known("UTF-16BE", "UTF-16BE", "utf16be"),
      known("ISO-8859-1", "CP1252", "iso88591", "latin1", "l1"),
    ]
    let latinNames = [2: "latin2", 3: "latin3", 4: "latin4", 10: "latin6", 15: "latin9"]
    for part in [2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16] {
      all.append(known("ISO-8859-\(part)", "ISO-8859-\(part)", "iso8859\(part)", latinNames[part] ?? "iso8859\(part)"))
    }
    for page in 1250...1258 {
      all.append(known("windows-\(page)", "CP\(page)", "windows\(page)", "cp\(page)", "xcp\(page)", "win\(page)"))
    }
    return all + [
      known("ISO-8859-9", "CP1254", "iso88599", "latin5", "l5"),
      known("windows-874", "CP874", "windows874", "cp874", "iso885911", "tis620"),
      known("KOI8-R", "KOI8-R", "koi8r", "koi8", "koi"), known("KOI8-U", "KOI8-U", "koi8u"),
      known("IBM866", "IBM866", "ibm866", "cp866", "866"), known("IBM850", "IBM850", "ibm850", "cp850", "850"),
      known("macintosh", "MACINTOSH", "macintosh", "macroman", "xmacroman"),
      known("Shift_JIS", "CP932", "shiftjis", "sjis", "xsjis", "mskanji", "windows31j", "cp932", "ms932"),
      known("EUC-JP", "EUC-JP", "eucjp", "xeucjp"),
      known("EUC-KR", "CP949", "euckr", "cp949", "windows949", "uhc", "ksc56011987", "ksc5601", "korean"),
      known("GBK", "GBK", "gbk", "gb2312", "xgbk", "cp936", "chinese"), known("GB18030", "GB18030", "gb18030"),
      known("Big5", "BIG5-HKSCS", "big5", "big5hkscs", "xxbig5", "cp950"),
    ]
  }()

  private struct Known {
    let charset: TextCharset
    let labels: Set<ExactText>
  }

  // MARK: Conversion

  /// Returns a decoder of a text in the encoding; `nil` for UTF-8.
  ///
  /// - Throws: ``TextEncodingError/unavailable(_:)`` if the system does not have the conversion.
  func decoder() throws(TextEncodingError) -> (any TextDecoder)? {
    if self == .utf8 { return nil }
    guard let converter = TextConverter(from: converterName) else { throw .unavailable(self) }
    return ConvertedTextDecoder(converter)
  }

  // MARK: Guesses

  /// Returns the encoding that bytes, which are neither UTF-8 nor Western European, are likely in, by the letters that
  /// they would be; `nil` if none is likely.
  static func guess(of bytes: [UInt8]) -> TextCharset? {
    var best: (charset: TextCharset, score: Double)?
    for name in ["EUC-KR", "Shift_JIS", "windows-1251", "GBK", "Big5", "EUC-JP", "windows-1253", "KOI8-R", "IBM866"] {
      guard let charset = TextCharset(named: name), let converter = TextConverter(from: charset.converterName) else {
        continue
      }
      var (text, pending): ([UInt8], [UInt8]) = ([], bytes)
      guard converter.convert(&pending, into: &text) else { continue }
      var score = score(of: String(decoding: text, as: UTF8.self), bytes, name)
      // Bytes that are letters of Cyrillic throughout are rarely pairs.
      if isDouble(0xC0, name), bytes.allSatisfy({ $0 < 0x80 || $0 >= 0xC0 }) { score *= 0.6 }
      if score > 0.5, score > best?.score ?? 0 { best = (charset, score) }
    }
    return best?.charset
  }

  /// Returns how usual the characters of a text are in the encoding, from 0 to 1: that of each counts by its bytes.
  private static func score(of text: String, _ bytes: [UInt8], _ name: String) -> Double {
    var (sum, count) = (0.0, 0.0)
    var isAfterLowercase = false
    var index = 0
    for scalar in text.unicodeScalars where index < bytes.count {
      let (lead, trail) = (bytes[index], index + 1 < bytes.count ? bytes[index + 1] : 0)
      let length = lead < 0x80 ? 1 : isDouble(lead, name) ? 2 : 1
      index += length
      guard lead >= 0x80 else {
        isAfterLowercase = false
        continue
      }
      let isUppercase = scalar.properties.isUppercase
      var weight =
        switch scalar.value {
        // Hangul; of the syllables, those of KS X 1001 are usual.
        case 0xAC00...0xD7A3: (0xB0...0xC8).contains(lead) && trail >= 0xA1 ? 1 : 0.3
        case 0x3041...0x30FF: name == "GBK" ? 0.4 : 1
        case 0x4E00...0x9FFF:
          switch name {
          case "GBK": (0xB0...0xD7).contains(lead) && trail >= 0xA1 ? 0.8 : 0.2
          case "Big5": (0xA4...0xC6).contains(lead) ? 0.79 : 0.2
          case "Shift_JIS": 0.78
          case "EUC-JP": 0.7
          default: 0.3
          }
        case 0x386...0x3CE, 0x401...0x45F: isUppercase ? (isAfterLowercase ? -2 : 0.6) : 1
        default: 0.1
        }
      // Rare today; its small letters are the capitals of windows-1251.
      if name == "KOI8-R" { weight *= 0.59 }
      if name == "windows-1253" { weight *= 0.85 }
      isAfterLowercase = scalar.properties.isLowercase
      sum += weight * Double(length)
      count += Double(length)
    }
    return count > 0 ? sum / count : 0
  }

  /// Returns a Boolean value that indicates whether a byte begins a character of two bytes.
  private static func isDouble(_ lead: UInt8, _ name: String) -> Bool {
    switch name {
    case "Shift_JIS": !(0xA0...0xDF).contains(lead)
    case "EUC-KR", "GBK", "Big5", "EUC-JP": true
    default: false
    }
  }
}

/// A conversion of the system's `iconv` to UTF-8.
///
/// Unchecked: it belongs to one decoder, which one task at a time uses.
private final class TextConverter: @unchecked Sendable {
  private let descriptor: iconv_t

  /// The number of bytes that are converted at a time, and the room for what they become.
  private static let pieceBytes = 1 << 14

  init?(from name: String) {
    // The error is the pointer of which all bits are set.
    guard let descriptor = iconv_open("UTF-8", name), Int(bitPattern: descriptor) != -1 else { return nil }
    self.descriptor = descriptor
  }

  deinit { iconv_close(descriptor) }

  /// Converts bytes and removes them, but those of an incomplete character at their end. A byte that is no character
  /// becomes one that UTF-8 does not have, so that a reader finds it.
  ///
  /// - Returns: `false` if there was such a byte.
  @discardableResult func convert(_ bytes: inout [UInt8], into text: inout [UInt8]) -> Bool {
    var start = 0
    var isValid = true
    let output = UnsafeMutableBufferPointer<CChar>.allocate(capacity: Self.pieceBytes)
    defer { output.deallocate() }
    bytes.withUnsafeMutableBytes { bytes in
      let input = bytes.bindMemory(to: CChar.self)
      while start < input.count {
        var from = input.baseAddress.map { $0 + start }
        var (rest, to, room) = (input.count - start, output.baseAddress, Self.pieceBytes)
        let result = iconv(descriptor, &from, &rest, &to, &room)
        let failure = errno
        start = input.count - rest
        text.append(contentsOf: UnsafeRawBufferPointer(output)[..<(Self.pieceBytes - room)])
        guard result == -1 else { break }
        if failure == EILSEQ {
          isValid = false
          text.append(0xFF)
          start += 1
        } else if failure != E2BIG {
          break
        }
      }
    }
    bytes.removeFirst(start)
    return isValid
  }
}

/// An incremental decoder of a text in the encoding that its sender names.
private struct ConvertedTextDecoder: TextDecoder {
  private let converter: TextConverter

  /// The bytes of a character of which others are to follow.
  private var pending: [UInt8] = []

  var detectedEncoding: String? { nil }

  init(_ converter: TextConverter) { self.converter = converter }

  mutating func decode(_ bytes: UnsafeBufferPointer<UInt8>, into text: inout [UInt8]) {
    pending.append(contentsOf: bytes)
    converter.convert(&pending, into: &text)
  }

  mutating func finish(into text: inout [UInt8]) {
    if !pending.isEmpty { text.append(0xFF) }
    pending = []
  }
}
