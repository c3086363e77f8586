import Points
import SearchWords

/// The other forms of words of a name by which people look for it.
///
/// - The part of a word behind an elision or before a possessive: `europe` of `l'Europe`, `joe` of `Joe's`.
/// - Letters that are written as two where a keyboard does not have them: `koeln` of `Köln`.
/// - Words that are written as one: initials (`us` of `U.S. Bank`), letters around an ampersand (`hm` of `H&M`) and the
///   first two parts of a word with hyphens (`tmobile` of `T-Mobile`), or of a Hebrew one with gershayim.
struct NameVariants {
  /// A form of a word, or of the words that follow.
  struct Variant: Hashable {
    /// The position of the first word that it stands for.
    let word: Int

    /// The form in UTF-8, normalized.
    let bytes: ContiguousArray<UInt8>
    let letters: UInt16

    /// A Boolean value that indicates whether it is several words, joined.
    let isJoined: Bool
  }

  private static let maximumElision = 4
  private static let minimumRest = 3
  private static let maximumJoinedLetters = 40

  private var scalars: ContiguousArray<Unicode.Scalar> = []
  private var text = NormalizedText()

  /// Returns a Boolean value that indicates whether a name may have variants, by its bytes.
  @inline(__always)
  static func mayBe(in name: UnsafeBufferPointer<UInt8>) -> Bool {
    name.contains { byte in
      // Quotation marks, apostrophes, hyphens, full stops, ampersands, and the first bytes of Latin letters with
      // diacritics, of Hebrew letters and of typographic apostrophes and hyphens.
      switch byte {
      case 0x22, 0x27, 0x2D, 0x2E, 0x26, 0xC3, 0xCA, 0xD7, 0xE2: true
      default: false
      }
    }
  }

  /// Returns the variants of the words of a name, in their order.
  mutating func variants(of name: UnsafeBufferPointer<UInt8>, _ words: ContiguousArray<NormalizedText.Word>)
    -> [Variant]
  {
    scalars.removeAll(keepingCapacity: true)
    scalars.append(contentsOf: String(decoding: name, as: UTF8.self).unicodeScalars)
    var variants: [Variant] = []
    var joined = 0
    for index in words.indices where !words[index].isUnspaced {
      let range = source(of: words[index])
      if index >= joined, let end = endOfInitials(from: index, words) {
        append(scalars[range.lowerBound..<Int(words[end - 1].sourceEnd)], at: index, isJoined: true, to: &variants)
        joined = end
      } else if index + 1 < words.count, isHyphenated(words[index], words[index + 1]),
        index == 0 || !isHyphenated(words[index - 1], words[index])
      {
        append(
          scalars[range.lowerBound..<Int(words[index + 1].sourceEnd)], at: index, isJoined: true, to: &variants)
      }
      appendForms(of: index, range, to: &variants)
    }
    return variants
  }

  private func source(of word: NormalizedText.Word) -> Range<Int> { Int(word.sourceStart)..<Int(word.sourceEnd) }

  private mutating func appendForms(of word: Int, _ range: Range<Int>, to variants: inout [Variant]) {
    if let apostrophe = scalars[range].firstIndex(where: Self.isApostrophe) {
      let (before, behind) = (range.lowerBound..<apostrophe, apostrophe + 1..<range.upperBound)
      if behind.count >= Self.minimumRest, before.count <= Self.maximumElision, !before.isEmpty {
        append(scalars[behind], at: word, isJoined: false, to: &variants)
      } else if behind.count == 1, before.count >= Self.minimumRest, scalars[behind.lowerBound] == "s" {
        append(scalars[before], at: word, isJoined: false, to: &variants)
      }
    }
    guard scalars[range].contains(where: { Self.digraph(of: $0) != nil }) else { return }
    var letters = ContiguousArray<Unicode.Scalar>()
    for scalar in scalars[range] {
      if let digraph = Self.digraph(of: scalar) {
        letters.append(contentsOf: digraph.unicodeScalars)
      } else {
        letters.append(scalar)
      }
    }
    append(letters[...], at: word, isJoined: false, to: &variants)
  }

  /// Returns the end of the words from an index on that are single letters with a full stop or an ampersand between;
  /// `nil` if they are less than two.
  private func endOfInitials(from index: Int, _ words: ContiguousArray<NormalizedText.Word>) -> Int? {
    guard words[index].letters == 1 else { return nil }
    var end = index + 1
    while end < words.count, words[end].letters == 1, !words[end].isUnspaced,
      let mark = mark(between: words[end - 1], words[end]), mark == "." || mark == "&"
    {
      end += 1
    }
    return end > index + 1 ? end : nil
  }

  private func isHyphenated(_ left: NormalizedText.Word, _ right: NormalizedText.Word) -> Bool {
    guard !right.isUnspaced, let mark = mark(between: left, right) else { return false }
    if mark == "\"" || mark == "\u{5F4}" {
      return Self.isHebrew(scalars[Int(left.sourceEnd) - 1]) && Self.isHebrew(scalars[Int(right.sourceStart)])
    }
    return mark == "-" || mark == "\u{2010}" || mark == "\u{2011}"
  }

  private static func isHebrew(_ scalar: Unicode.Scalar) -> Bool { 0x5D0...0x5EA ~= scalar.value }

  /// Returns the only character between two words; `nil` if there are others.
  private func mark(between left: NormalizedText.Word, _ right: NormalizedText.Word) -> Unicode.Scalar? {
    right.sourceStart == left.sourceEnd + 1 ? scalars[Int(left.sourceEnd)] : nil
  }

  /// Appends the words of a text as one.
  private mutating func append(
    _ source: ContiguousArray<Unicode.Scalar>.SubSequence, at word: Int, isJoined: Bool, to variants: inout [Variant]
  ) {
    var string = String(String.UnicodeScalarView(source))
    string.withUTF8 { text.fill(with: $0) }
    let letters = text.words.reduce(0) { $0 + Int($1.letters) }
    guard letters > 1, letters <= Self.maximumJoinedLetters, !text.words.contains(where: \.isUnspaced) else { return }
    variants.append(
      Variant(word: word, bytes: text.bytes, letters: UInt16(letters), isJoined: isJoined))
  }

  private static func isApostrophe(_ scalar: Unicode.Scalar) -> Bool {
    scalar == "'" || scalar == "\u{2019}" || scalar == "\u{2BC}"
  }

  private static func digraph(of scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "ä", "Ä": "ae"
    case "ö", "Ö", "ø", "Ø": "oe"
    case "ü", "Ü": "ue"
    case "å", "Å": "aa"
    default: nil
    }
  }
}
