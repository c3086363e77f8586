import Foundation

/// The folded forms of Unicode scalars, for ``NormalizedText``.
///
/// The forms of the basic multilingual plane are computed once, in some 50 ms; those of other scalars when they occur.
struct FoldingTable: @unchecked Sendable {
  // Sendable: the memory behind the pointers is never written after the initialization.

  /// The folded form of a scalar: a kind in the highest 8 bits, and a scalar or a range of others.
  struct Form: BitwiseCopyable {
    enum Kind: UInt32 {
      /// Ends a word.
      case separator
      /// Stands for nothing.
      case dropped
      /// A scalar of a word.
      case letter
      /// A scalar of a text that is written without spaces.
      case unspaced
      /// The mark of a voiced syllable, which changes the kana before it; `2` for the semi-voiced one.
      case voicingMark
      /// Several forms, at an index of ``FoldingTable/sequences``.
      case sequence
    }

    private let bits: UInt32

    init(_ kind: Kind, _ value: UInt32 = 0) { bits = kind.rawValue << 24 | value }

    @inline(__always)
    var kind: Kind { Kind(rawValue: bits >> 24).unsafelyUnwrapped }

    @inline(__always)
    var value: UInt32 { bits & 0xFF_FFFF }
  }

  static let shared = FoldingTable()

  // In memory that is never freed, like the one table, so that no references to it are counted.

  /// The forms of the basic multilingual plane.
  private let forms: UnsafePointer<Form>

  /// The sequences of forms, each after its length.
  private let sequences: UnsafePointer<Form>

  private init() {
    var (forms, sequences) = (ContiguousArray<Form>(), ContiguousArray<Form>())
    forms.reserveCapacity(0x10000)
    for value in UInt32(0)..<0x10000 {
      let folded = Unicode.Scalar(value).map(Self.folded) ?? []
      switch folded.count {
      case 0: forms.append(Form(.dropped))
      case 1: forms.append(folded[0])
      default:
        forms.append(Form(.sequence, UInt32(sequences.count)))
        sequences.append(Form(.letter, UInt32(folded.count)))
        sequences.append(contentsOf: folded)
      }
    }
    func kept(_ forms: ContiguousArray<Form>) -> UnsafePointer<Form> {
      let memory = UnsafeMutablePointer<Form>.allocate(capacity: forms.count)
      _ = UnsafeMutableBufferPointer(start: memory, count: forms.count).initialize(from: forms)
      return UnsafePointer(memory)
    }
    (self.forms, self.sequences) = (kept(forms), kept(sequences))
  }

  /// Returns a Boolean value that indicates whether an ASCII character ends a word.
  @inline(__always)
  func isSeparator(_ character: UInt8) -> Bool { forms[Int(character)].kind == .separator }

  /// Calls the closure with each form of a scalar; none is a sequence.
  @inline(__always)
  func forEachForm(of scalar: UInt32, _ body: (Form) -> Void) {
    guard scalar < 0x10000 else {
      if let scalar = Unicode.Scalar(scalar) { Self.folded(scalar).forEach(body) }
      return
    }
    let form = forms[Int(scalar)]
    guard form.kind == .sequence else { return body(form) }
    let start = Int(form.value)
    for index in 1...Int(sequences[start].value) { body(sequences[start + index]) }
  }

  // MARK: Folding one scalar

  // The large blocks of scalars that are all folded alike, without Unicode's tables.
  private static let unifiedIdeographs = UInt32(0x4E00)...0x9FFF
  private static let unifiedIdeographsA = UInt32(0x3400)...0x4DBF
  private static let hangulSyllables = UInt32(0xAC00)...0xD7A3
  private static let privateUse = UInt32(0xE000)...0xF8FF

  /// Returns the letters of a syllable of Hangul (The Unicode Standard, 3.12, "Conjoining Jamo Behavior").
  private static func jamo(ofSyllable syllable: UInt32) -> [Form] {
    let index = syllable - hangulSyllables.lowerBound
    let (leading, vowel, trailing) = (0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28)
    return (trailing == 0x11A7 ? [leading, vowel] : [leading, vowel, trailing]).map { Form(.letter, $0) }
  }

  private static func folded(_ scalar: Unicode.Scalar) -> [Form] {
    switch scalar.value {
    // These have no decomposition.
    case 0..<0x80, unifiedIdeographs, unifiedIdeographsA, privateUse: return [foldedBase(scalar)]
    case hangulSyllables: return jamo(ofSyllable: scalar.value)
    default: break
    }
    if isApostrophe(scalar) { return [] }
    return String(Character(scalar)).decomposedStringWithCompatibilityMapping.unicodeScalars.flatMap { part in
      part.properties.lowercaseMapping.decomposedStringWithCompatibilityMapping.unicodeScalars.flatMap(foldedPart)
    }
  }

  /// Returns the forms of a scalar in lower case that has no decomposition.
  private static func foldedPart(_ scalar: Unicode.Scalar) -> [Form] {
    if isApostrophe(scalar) { return [] }
    if let expansion = expansions[scalar] { return expansion.unicodeScalars.map { Form(.letter, $0.value) } }
    let form = foldedBase(scalar)
    return form.kind == .dropped ? [] : [form]
  }

  private static func foldedBase(_ scalar: Unicode.Scalar) -> Form {
    if isApostrophe(scalar) { return Form(.dropped) }
    switch scalar.value {
    case 0x41...0x5A: return Form(.letter, scalar.value + 0x20)
    case 0x3099: return Form(.voicingMark, 1)
    case 0x309A: return Form(.voicingMark, 2)
    // Katakana of which there is a hiragana; the iteration marks too.
    case 0x30A1...0x30F6, 0x30FD, 0x30FE: return Form(.unspaced, scalar.value - 0x60)
    case 0x30FC: return Form(.unspaced, 0x30FC)
    case unifiedIdeographs, unifiedIdeographsA: return Form(.unspaced, scalar.value)
    case privateUse: return Form(.dropped)
    default: break
    }
    let properties = scalar.properties
    switch properties.generalCategory {
    case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
      .letterNumber, .otherNumber:
      return properties.isDefaultIgnorableCodePoint
        ? Form(.dropped) : Form(isUnspaced(scalar.value) ? .unspaced : .letter, scalar.value)
    case .nonspacingMark, .spacingMark:
      // Vowels and viramas of the scripts of South Asia are letters in all but their encoding.
      let combiningClass = properties.canonicalCombiningClass.rawValue
      if properties.isDefaultIgnorableCodePoint || (combiningClass != 0 && combiningClass != 9) {
        return Form(.dropped)
      }
      return Form(isUnspaced(scalar.value) ? .unspaced : .letter, scalar.value)
    case .enclosingMark, .format, .surrogate, .privateUse, .unassigned: return Form(.dropped)
    case .control: return Form(properties.isWhitespace ? .separator : .dropped)
    default: return Form(.separator)
    }
  }

  /// Returns a Boolean value that indicates whether words of the scalar's script are written without spaces: of Han,
  /// kana and bopomofo, Thai, Lao, Myanmar and Khmer.
  private static func isUnspaced(_ value: UInt32) -> Bool {
    switch value {
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3005...0x3007, 0x3040...0x30FF, 0x3100...0x312F,
      0x3400...0x4DBF, 0x4E00...0x9FFF, 0xF900...0xFAFF, 0x1B000...0x1B16F, 0x20000...0x3FFFF:
      true
    default: false
    }
  }

  /// Returns a Boolean value that indicates whether the scalar is an apostrophe or is written for one.
  private static func isApostrophe(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x27, 0x60, 0xB4, 0x2B9, 0x2BB, 0x2BC, 0x2BD, 0x2BE, 0x2BF, 0x2C8, 0x2018, 0x2019, 0x201B, 0x2032, 0x5F3,
      0xFF07:
      true
    default: false
    }
  }

  /// The letters that have no decomposition although they are variants of others, or stand for several.
  private static let expansions: [Unicode.Scalar: String] = [
    "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ħ": "h", "ı": "i", "ĸ": "k",
    "ŋ": "n", "ŧ": "t", "ƀ": "b", "ɓ": "b", "ɖ": "d", "ɗ": "d", "ǝ": "e", "ə": "e", "ɛ": "e", "ɣ": "g", "ɨ": "i",
    "ɔ": "o", "ʉ": "u", "ƴ": "y", "ƶ": "z", "ɲ": "n", "ς": "σ",
    // Arabic: forms of alef, yeh, heh and kaf that are written for each other; the elongation has no meaning.
    "ٱ": "ا", "ى": "ي", "ی": "ي", "ې": "ي", "ة": "ه", "ہ": "ه", "ە": "ه", "ک": "ك", "ـ": "",
    // Hebrew: ligatures of Yiddish.
    "װ": "וו", "ױ": "וי", "ײ": "יי",
    // Cyrillic: letters of Ukrainian and Serbian that are written for others.
    "ґ": "г", "ђ": "д", "ћ": "т",
  ]
}
