import Foundation
import SearchWords
import Testing

@Suite struct NormalizedTextTests {
  private static func words(_ text: String) -> [String] {
    let normalized = NormalizedText(text)
    return normalized.words.map { normalized.text(of: $0) }
  }

  @Test(arguments: [
    ("Winchester Mystery House", "winchester mystery house"),
    ("St. Paul's Cathedral", "st pauls cathedral"), ("Rock’n’Roll", "rocknroll"), ("Dvořák", "dvorak"),
    ("Łódź", "lodz"), ("Đà Nẵng", "da nang"), ("Straße", "strasse"), ("STRASSE", "strasse"), ("ẞ", "ss"),
    ("Smørrebrød", "smorrebrod"), ("Ægir", "aegir"), ("Œuvre", "oeuvre"), ("Þingvellir", "thingvellir"),
    ("İstanbul", "istanbul"), ("ISPARTA ısı", "isparta isi"), ("Ｈｏｔｅｌ　１２", "hotel 12"), ("ﬁsh", "fish"),
    ("№ 5", "no 5"), ("x²", "x2"), ("Ⅳ", "iv"), ("Café-Bar/Grill", "cafe bar grill"), ("7-Eleven", "7 eleven"),
  ])
  func latinLettersAreFolded(text: String, expected: String) {
    #expect(Self.words(text).joined(separator: " ") == expected)
  }

  @Test(arguments: [
    ("Санкт-Петербург", ["санкт", "петербург"]), ("Ёлка Йод", ["елка", "иод"]), ("ΑΘΉΝΑΣ", ["αθηνασ"]),
    ("Αθήνας", ["αθηνασ"]), ("مُحَمَّد", ["محمد"]), ("القاهـــرة", ["القاهره"]), ("أحمد", ["احمد"]), ("إسلام", ["اسلام"]),
    ("مصطفى", ["مصطفي"]), ("שָׁלוֹם", ["שלום"]), ("יְרוּשָׁלַיִם", ["ירושלים"]),
    ("दिल्ली", ["दिल्ली"]), ("تهران", ["تهران"]), ("თბილისი", ["თბილისი"]), ("ԵՐԵՎԱՆ", ["երեվան"]), ("சென்னை", ["சென்னை"]),
  ])
  func marksOfOtherScriptsAreFolded(text: String, expected: [String]) {
    #expect(Self.words(text).map { Array($0.unicodeScalars) } == expected.map { Array($0.folded.unicodeScalars) })
  }

  @Test(arguments: [
    ("東京都", ["東京", "京都", "都"]), ("館", ["館"]), ("カフェ", ["かふ", "ふぇ", "ぇ"]), ("ｶﾞｰﾃﾞﾝ", ["がー", "ーで", "でん", "ん"]),
    ("パン", ["ぱん", "ん"]), ("ｳﾞｧ", ["ゔぁ", "ぁ"]), ("JR東日本", ["jr", "東日", "日本", "本"]), ("北京 大学", ["北京", "京", "大学", "学"]),
    ("㈱山", ["株", "山"]),
  ])
  func textWithoutSpacesBecomesPairs(text: String, expected: [String]) {
    #expect(Self.words(text) == expected)
  }

  @Test func koreanBecomesLettersOfWholeSyllables() {
    #expect(Self.words("서울 한빛") == ["서울", "한빛"].map { $0.unicodeScalars.map { String($0) }.joined().decomposed })
    #expect(Self.words("서울")[0].unicodeScalars.count > 2)
  }

  /// The forms of whole blocks are computed without Unicode's tables.
  @Test func everySyllableAndIdeographHasTheDecompositionOfUnicode() {
    var wrong: [String] = []
    for value in [0xAC00...0xD7A3, 0x3400...0x4DBF, 0x4E00...0x9FFF as ClosedRange<UInt32>].joined() {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let words = Self.words(String(scalar)).map { Array($0.unicodeScalars) }
      let expected = String(scalar).decomposedStringWithCompatibilityMapping.unicodeScalars
      if words != [Array(expected)] { wrong.append(String(value, radix: 16)) }
    }

    #expect(wrong == [])
  }

  @Test(arguments: ["", "  ", "!?…", "'", "\u{200B}\u{200D}\u{FEFF}", "\u{301}\u{302}", "\u{0}\u{7}", "☕️", "\u{E000}"])
  func textWithoutLettersHasNoWords(text: String) {
    #expect(NormalizedText(text).isEmpty)
  }

  @Test(arguments: [
    "Win\u{200B}ches\u{200D}ter", "\u{202B}Winchester\u{202C}", "Winch\u{0}ester", "W\u{AD}inchester",
    "Winch\u{FE0F}ester", "Winchester\u{378}", "Wínchéstér", "W\u{301}\u{302}\u{303}inchester", "𝐖𝐢𝐧𝐜𝐡𝐞𝐬𝐭𝐞𝐫",
  ])
  func invisibleScalarsAreDropped(text: String) {
    #expect(Self.words(text) == ["winchester"])
  }

  @Test func everyScalarIsAccepted() {
    for value in UInt32(0)...0x10FFFF {
      guard let scalar = Unicode.Scalar(value), value < 0x3000 || value % 37 == 0 else { continue }
      for word in NormalizedText("a\(Character(scalar))b").words { #expect(word.start < word.end) }
    }
  }

  @Test func invalidBytesSeparateWords() {
    var text = NormalizedText()

    [0x61, 0xFF, 0x62, 0xE6, 0x9D, 0x63, 0xC3].withUnsafeBufferPointer { text.fill(with: $0) }

    #expect(text.words.map { text.text(of: $0) } == ["a", "b", "c"])
  }

  @Test func normalizedTextIsNormalized() {
    for text in ["St. Paul's Straße", "東京都 JR 山", "مُحَمَّد", "한빛 café", "ｶﾞｰﾃﾞﾝ", "दिल्ली"] {
      #expect(NormalizedText(NormalizedText(text).text).text == NormalizedText(text).text)
    }
  }

  @Test func wordsKnowTheirPlaceInTheText() {
    let text = NormalizedText("Café ﬁn’s 東京都")

    #expect(text.words.map { Int($0.sourceStart)..<Int($0.sourceEnd) } == [0..<4, 5..<9, 10..<12, 11..<13, 12..<13])
  }

  @Test func filledAgainValueHasOnlyTheNewWords() {
    var text = NormalizedText("one two three")
    var other = "four"

    other.withUTF8 { text.fill(with: $0) }

    #expect(text.text == "four")
  }
}

extension String {
  /// The text with the scalars of its canonical decomposition, as the standard library has it for one character.
  fileprivate var decomposed: String {
    var text = String.UnicodeScalarView()
    for scalar in unicodeScalars {
      guard 0xAC00...0xD7A3 ~= scalar.value else {
        text.append(scalar)
        continue
      }
      // Unicode Standard, section 3.12: the arithmetic decomposition of Hangul syllables.
      let index = scalar.value - 0xAC00
      let parts = [0x1100 + index / 588, 0x1161 + index % 588 / 28, 0x11A7 + index % 28]
      for part in parts where part != 0x11A7 { if let scalar = Unicode.Scalar(part) { text.append(scalar) } }
    }
    return String(text)
  }

  /// The text without marks of classes that are diacritics.
  fileprivate var folded: String {
    String(
      String.UnicodeScalarView(
        unicodeScalars.filter { [0, 9].contains($0.properties.canonicalCombiningClass.rawValue) }))
  }
}
