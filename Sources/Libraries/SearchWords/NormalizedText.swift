/// The words of a text in the form in which they are compared.
///
/// - The text is decomposed by compatibility (Unicode Standard Annex 15, NFKD), in lower case, without diacritics.
/// - Letters such as `ß`, `ø`, `ł` and `æ` become their usual transcription, katakana becomes hiragana.
/// - Apostrophes and invisible characters are dropped, all other punctuation and symbols separate words.
/// - Text of scripts without spaces becomes its pairs of characters and the last character.
///
/// A value can be filled again and again without allocating memory.
public struct NormalizedText: Sendable {
  /// A word, or a pair of characters of a script without spaces.
  public struct Word: Sendable, BitwiseCopyable {
    /// The start of the word in ``NormalizedText/bytes``.
    public let start: UInt32

    /// The end of the word in ``NormalizedText/bytes``.
    public let end: UInt32

    /// The start of the word in the text, in Unicode scalars.
    public let sourceStart: UInt32

    /// The end of the word in the text, in Unicode scalars.
    public let sourceEnd: UInt32

    /// The length of the word in letters; 1 for a pair of characters, whose second one is the next pair's first.
    public let letters: UInt16

    /// A Boolean value that indicates whether the word is of a script without spaces.
    public let isUnspaced: Bool
  }

  /// The words in UTF-8, one after another.
  public private(set) var bytes: ContiguousArray<UInt8> = []

  /// The words in the order of the text.
  public private(set) var words: ContiguousArray<Word> = []

  private let table = FoldingTable.shared

  // The current run of letters.
  private var scalars: ContiguousArray<UInt32> = []
  private var positions: ContiguousArray<UInt32> = []
  private var isRunUnspaced = false

  /// Creates a value without words.
  public init() {}

  /// Creates the words of a text.
  public init(_ text: String) {
    var text = text
    text.withUTF8 { fill(with: $0) }
  }

  /// A Boolean value that indicates whether the text has no words.
  public var isEmpty: Bool { words.isEmpty }

  /// The words separated by spaces; pairs of characters are joined again.
  public var text: String {
    var text = ""
    var next: UInt32 = 0
    for word in words {
      let isContinued = word.isUnspaced && word.sourceStart < next
      if isContinued {
        // The first character is the last one of the pair before.
        text += String(self.text(of: word).unicodeScalars.dropFirst())
      } else {
        if !text.isEmpty { text += " " }
        text += self.text(of: word)
      }
      next = word.sourceEnd
    }
    return text
  }

  /// Returns the text of a word.
  public func text(of word: Word) -> String {
    String(decoding: bytes[Int(word.start)..<Int(word.end)], as: UTF8.self)
  }

  /// Replaces the words with those of another text. O(n).
  ///
  /// - Parameter text: UTF-8; invalid bytes separate words.
  public mutating func fill(with text: UnsafeBufferPointer<UInt8>) {
    bytes.removeAll(keepingCapacity: true)
    words.removeAll(keepingCapacity: true)
    var index = 0
    var position: UInt32 = 0
    while index < text.count {
      let length = scalars.isEmpty ? appendPlainWord(in: text, at: index, position) : 0
      if length > 0 {
        index += length
        position += UInt32(length)
        continue
      }
      let byte = text[index]
      if byte < 0x80 {
        index += 1
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
          append(UInt32(byte), isUnspaced: false, at: position)
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): append(UInt32(byte | 0x20), isUnspaced: false, at: position)
        case UInt8(ascii: " "): endRun()
        default: append(scalar: UInt32(byte), at: position)
        }
      } else {
        append(scalar: Self.scalar(in: text, at: &index), at: position)
      }
      position += 1
    }
    endRun()
  }

  /// Appends the word of ASCII letters and digits at an index, if it is one that ends there or before an ASCII separator.
  ///
  /// - Returns: its length; 0 if there is no such word.
  @inline(__always)
  private mutating func appendPlainWord(
    in text: UnsafeBufferPointer<UInt8>, at index: Int, _ position: UInt32
  ) -> Int {
    var end = index
    while end < text.count, Self.isPlain(text[end]) { end += 1 }
    guard end > index, end == text.count || (text[end] < 0x80 && table.isSeparator(text[end])) else { return 0 }
    let start = UInt32(bytes.count)
    // The digits have this bit already.
    for byte in text[index..<end] { bytes.append(byte | 0x20) }
    let length = end - index
    words.append(
      Word(
        start: start, end: start + UInt32(length), sourceStart: position, sourceEnd: position + UInt32(length),
        letters: UInt16(clamping: length), isUnspaced: false))
    return length
  }

  @inline(__always)
  private static func isPlain(_ byte: UInt8) -> Bool {
    (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte &- UInt8(ascii: "0") < 10
  }

  private mutating func append(scalar: UInt32, at position: UInt32) {
    table.forEachForm(of: scalar) { form in
      switch form.kind {
      case .letter: append(form.value, isUnspaced: false, at: position)
      case .unspaced: append(form.value, isUnspaced: true, at: position)
      case .separator: endRun()
      case .voicingMark: voiceLast(form.value)
      case .dropped, .sequence: break
      }
    }
  }

  @inline(__always)
  private mutating func append(_ scalar: UInt32, isUnspaced: Bool, at position: UInt32) {
    if isUnspaced != isRunUnspaced {
      endRun()
      isRunUnspaced = isUnspaced
    }
    scalars.append(scalar)
    positions.append(position)
  }

  /// Replaces the last kana with its voiced or semi-voiced form, which follows it in Unicode.
  private mutating func voiceLast(_ step: UInt32) {
    guard let last = scalars.last, 0x3041...0x309D ~= last else { return }
    switch last {
    case 0x3046: scalars[scalars.count - 1] = 0x3094
    case 0x304B...0x3062 where last & 1 == 1, 0x3064...0x3069 where last & 1 == 0, 0x306F...0x307D, 0x309D:
      scalars[scalars.count - 1] = last + step
    default: break
    }
  }

  private mutating func endRun() {
    guard !scalars.isEmpty else { return }
    if isRunUnspaced {
      for index in scalars.indices { appendWord(index..<min(index + 2, scalars.count), letters: 1) }
    } else {
      appendWord(scalars.indices, letters: UInt16(clamping: scalars.count))
    }
    scalars.removeAll(keepingCapacity: true)
    positions.removeAll(keepingCapacity: true)
  }

  private mutating func appendWord(_ range: Range<Int>, letters: UInt16) {
    let start = UInt32(bytes.count)
    for scalar in scalars[range] { appendUTF8(scalar) }
    words.append(
      Word(
        start: start, end: UInt32(bytes.count), sourceStart: positions[range.lowerBound],
        sourceEnd: positions[range.upperBound - 1] + 1, letters: letters, isUnspaced: isRunUnspaced))
  }

  @inline(__always)
  private mutating func appendUTF8(_ scalar: UInt32) {
    switch scalar {
    case ..<0x80: bytes.append(UInt8(truncatingIfNeeded: scalar))
    case ..<0x800:
      bytes.append(UInt8(truncatingIfNeeded: 0xC0 | scalar >> 6))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
    case ..<0x10000:
      bytes.append(UInt8(truncatingIfNeeded: 0xE0 | scalar >> 12))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
    default:
      bytes.append(UInt8(truncatingIfNeeded: 0xF0 | scalar >> 18))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 12 & 0x3F))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar >> 6 & 0x3F))
      bytes.append(UInt8(truncatingIfNeeded: 0x80 | scalar & 0x3F))
    }
  }

  /// Returns the scalar at an index that is not ASCII, and moves the index past it; U+FFFD for an invalid byte.
  private static func scalar(in text: UnsafeBufferPointer<UInt8>, at index: inout Int) -> UInt32 {
    let first = UInt32(text[index])
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first < 0xF5, index + length <= text.count else {
      index += 1
      return 0xFFFD
    }
    var value = first & (0xFF >> UInt32(length + 1))
    for offset in 1..<length {
      let byte = UInt32(text[index + offset])
      guard byte & 0xC0 == 0x80 else {
        index += 1
        return 0xFFFD
      }
      value = value << 6 | byte & 0x3F
    }
    index += length
    return value
  }
}

extension String {
  /// Returns the text with the letters of Korean joined into syllables (Unicode Standard, section 3.12.3); the normal
  /// form for searches has them one by one.
  package func composingHangul() -> String {
    var composed = UnicodeScalarView()
    for scalar in unicodeScalars {
      let value = scalar.value
      if let last = composed.last?.value {
        var syllable: UInt32?
        if (0x1100..<0x1113).contains(last), (0x1161..<0x1176).contains(value) {
          syllable = 0xAC00 + ((last - 0x1100) * 21 + value - 0x1161) * 28
        } else if (0xAC00..<0xD7A4).contains(last), (last - 0xAC00).isMultiple(of: 28),
          (0x11A8..<0x11C3).contains(value)
        {
          syllable = last + value - 0x11A7
        }
        if let syllable = syllable.flatMap(Unicode.Scalar.init) {
          composed.removeLast()
          composed.append(syllable)
          continue
        }
      }
      composed.append(scalar)
    }
    return String(composed)
  }
}
