package import Basics

/// A reading of a text as things near a named one: `cafe near stephansplatz`, `渋谷駅の近く カフェ`.
package struct NearReading: Hashable, Sendable {
  /// The words of the things that are searched for.
  package let text: ExactText

  /// The names that the other one may have: as it is written, and without an article before it.
  package let names: [ExactText]

  /// A Boolean value that indicates whether ``text`` is the end of the whole text, so that its last word may be being
  /// typed; otherwise the name is.
  package let isTextAtEnd: Bool
}

/// The words for near, in the languages in which most people search.
package enum NearWords {
  /// The words in front of a name: English, German, Spanish, French, Italian, Dutch, Polish, Portuguese, Russian, Finnish
  /// and Swedish.
  private static let leading = [
    "near", "near to", "nearby", "close to", "next to", "by", "around", "in the vicinity of",
    "bei", "beim", "bei der", "nahe", "nahe bei", "nähe", "nähe von", "in der nähe von", "in der nähe vom",
    "in der nähe der", "in der nähe des", "in der nähe", "unweit von", "neben",
    "cerca", "cerca de", "cerca del", "junto a", "junto al", "al lado de", "al lado del", "próximo a", "próximo al",
    "près", "près de", "près du", "près des", "proche", "proche de", "proche du", "proche des", "à côté de",
    "à côté du", "à côté des", "autour de", "autour du", "aux alentours de",
    "vicino", "vicino a", "vicino al", "vicino alla", "vicino allo", "vicino ai", "vicino agli", "vicino alle",
    "nei pressi di", "nei pressi del", "nei pressi della", "presso", "accanto a", "accanto al", "accanto alla",
    "bij", "vlakbij", "vlak bij", "dichtbij", "dicht bij", "nabij", "in de buurt van", "naast", "rondom",
    "blisko", "koło", "obok", "przy", "niedaleko", "niedaleko od", "w pobliżu",
    "perto", "perto de", "perto do", "perto da", "perto dos", "perto das", "próximo ao", "próximo à", "próximo de",
    "próximo do", "próximo da", "ao lado de", "ao lado do", "ao lado da",
    "рядом с", "рядом со", "около", "возле", "недалеко от", "неподалёку от", "поблизости от", "вблизи", "близ", "у",
    "lähellä", "nära", "i närheten av", "bredvid",
  ]

  /// The words behind a name: Japanese, Korean and Chinese.
  private static let trailing = [
    "近く", "付近", "周辺", "近辺", "のそば", "근처", "부근", "주변", "인근", "附近", "旁边", "旁邊", "周边", "周邊", "周围", "周圍",
  ]

  /// The particles between a word of ``trailing`` and what is near, directly behind the word.
  private static let particles = ["にある", "の", "的"]

  /// The same in Korean, where a space follows.
  private static let koreanParticles: Set<String> = ["에", "에서", "의", "에있는", "있는"]

  /// The articles that names are also looked for without.
  private static let articles: Set<ExactText> = [
    "the", "der", "die", "das", "dem", "den", "la", "las", "los", "el", "le", "les", "il", "lo", "gli", "de", "het",
  ]

  /// The articles and prepositions that an apostrophe joins to a name.
  private static let elisions: Set<String> = ["l", "d", "all", "dell"]

  /// The words that are no name but the position of the person who types: `cafe near me`.
  private static let speakers: Set<ExactText> = [
    "me", "mir", "mi", "moi", "mij", "mnie", "mim", "мной", "меня", "here", "hier", "aqui", "ici", "qui", "tutaj",
  ]

  /// The maximum number of readings of a text.
  private static let maximumReadings = 3

  /// The phrases of ``leading`` by their first word as it is normalized, the longest first.
  private static let phrases: [ExactText: [[ExactText]]] = {
    let phrases = leading.map { words(of: NormalizedText($0)) }
    return Dictionary(grouping: phrases) { $0[0] }.mapValues { $0.sorted { $0.count > $1.count } }
  }()

  /// Returns the readings of a text, those with the longest names first; empty for most.
  package static func readings(of text: String) -> [NearReading] {
    guard mayHaveReadings(text) else { return [] }
    var readings = trailingReadings(of: text)
    let normalized = NormalizedText(text)
    let words = words(of: normalized)
    let scalars = text.unicodeScalars
    var index = 1
    while index < words.count - 1, readings.count < maximumReadings {
      guard let phrase = phrases[words[index]]?.first(where: { words[index...].starts(with: $0) }) else {
        index += 1
        continue
      }
      let end = index + phrase.count
      guard end < words.count else { break }
      let what = String(Substring(scalars.prefix(Int(normalized.words[index - 1].sourceEnd))))
      let name = String(Substring(scalars.dropFirst(Int(normalized.words[end].sourceStart))))
      if !(end == words.count - 1 && speakers.contains(words[end])) {
        readings.append(NearReading(text: ExactText(what), names: names(name), isTextAtEnd: false))
      }
      index = end
    }
    return readings
  }

  /// Returns `false` for most texts that have no readings: those of one or two words in scripts with spaces.
  private static func mayHaveReadings(_ text: String) -> Bool {
    var separators = 0
    for byte in text.utf8 {
      // The first byte of Korean, Japanese and Chinese characters.
      if byte >= 0xE1 { return true }
      if byte < UInt8(ascii: "0") { separators += 1 }
    }
    return separators >= 2
  }

  private static func words(of text: NormalizedText) -> [ExactText] {
    text.words.map { ExactText(text.text(of: $0)) }
  }

  /// Returns a name, and the same without an article.
  private static func names(_ name: String) -> [ExactText] {
    var rest: String?
    if let end = name.firstIndex(where: { $0 == "'" || $0 == "’" }), elisions.contains(name[..<end].lowercased()) {
      rest = String(name[name.index(after: end)...])
    } else {
      let normalized = NormalizedText(name)
      if normalized.words.count > 1, articles.contains(ExactText(normalized.text(of: normalized.words[0]))) {
        rest = String(Substring(name.unicodeScalars.dropFirst(Int(normalized.words[1].sourceStart))))
      }
    }
    guard let rest, !NormalizedText(rest).isEmpty else { return [ExactText(name)] }
    return [ExactText(name), ExactText(rest)]
  }

  // MARK: Words behind the name

  /// Returns the readings by the words behind a name. What is near follows them, or else is in front of the name, with
  /// a space between: `カフェ 渋谷駅の近く`.
  private static func trailingReadings(of text: String) -> [NearReading] {
    guard text.utf8.contains(where: { $0 >= 0xE1 }) else { return [] }
    let ranges = trailing.compactMap { text.firstRange(of: $0) }.sorted { $0.upperBound > $1.upperBound }
    return ranges.prefix(maximumReadings).compactMap { range in
      var name = trimmed(text[..<range.lowerBound])
      for particle in particles where name.hasSuffix(particle) { name = name.dropLast(particle.count) }
      var rest = withoutParticles(text[range.upperBound...])
      let isTextAtEnd = !NormalizedText(String(rest)).isEmpty
      if !isTextAtEnd {
        guard let space = name.lastIndex(where: \.isWhitespace) else { return nil }
        (rest, name) = (trimmed(name[..<space]), name[name.index(after: space)...])
        if NormalizedText(String(rest)).isEmpty { return nil }
      }
      guard !NormalizedText(String(name)).isEmpty else { return nil }
      return NearReading(
        text: ExactText(String(rest)), names: [ExactText(String(name))], isTextAtEnd: isTextAtEnd)
    }
  }

  private static func withoutParticles(_ text: Substring) -> Substring {
    var text = text
    if let particle = particles.first(where: { text.hasPrefix($0) }) { text = text.dropFirst(particle.count) }
    while true {
      let end = text.firstIndex(where: \.isWhitespace) ?? text.endIndex
      guard end == text.startIndex || koreanParticles.contains(String(text[..<end])) else { return text }
      if end == text.endIndex { return text[end...] }
      text = text[text.index(after: end)...]
    }
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text.drop(while: \.isWhitespace)
    while text.last?.isWhitespace == true { text.removeLast() }
    return text
  }
}
