import Basics
import Points

/// The reading of a text as a category near a place: `pub near the old station`, `駅の近くの薬局`.
struct NearReading {
  /// The names in data of the categories.
  let categories: Set<ExactText>

  /// The text that names them.
  let category: String

  /// The text that names the place.
  let landmark: String

  /// The words for "near" before a place, by their last words, as they are normalized. Articles and prepositions may follow.
  private static let connectors: [[String]] = [
    ["near"], ["close", "to"], ["next", "to"], ["around"], ["by"], ["bei"], ["nahe"], ["in", "der", "nahe", "von"],
    ["in", "der", "nahe"], ["neben"], ["pres"], ["proche"], ["a", "cote"], ["autour"], ["vicino"], ["accanto"],
    ["cerca"], ["junto"], ["perto"], ["ao", "lado"], ["bij"], ["dicht", "bij"], ["in", "de", "buurt", "van"],
    ["lahella"], ["nara"], ["рядом"], ["около"], ["возле"], ["недалеко", "от"], ["blisko"], ["koło"], ["kolo"],
    ["obok"],
  ]

  /// The first words of these, in UTF-8.
  private static let firstWords = Set(connectors.map { ContiguousArray($0[0].utf8) })

  /// The same behind a place.
  private static let suffixes = [
    "の近くの", "の近くにある", "の近く", "付近の", "付近", "周辺の", "周辺", "근처에 있는", "근처의", "근처", "附近的", "附近", "旁边的",
  ]

  private static let maximumArticles = 2

  /// Creates the reading of a text; `nil` if it is none.
  init?(_ text: String, _ tree: CategoryTree) {
    guard !tree.isEmpty else { return nil }
    guard let parts = Self.partsByWords(of: text) ?? Self.partsBySuffix(of: text),
      let reading = tree.readings(of: parts.category).first(where: \.isWhole)
    else { return nil }
    categories = reading.categories
    (category, landmark) = parts
  }

  private static func partsByWords(of text: String) -> (category: String, landmark: String)? {
    let normalized = NormalizedText(text)
    guard normalized.words.count > 2,
      normalized.words.contains(where: { word in
        firstWords.contains(ContiguousArray(normalized.bytes[Int(word.start)..<Int(word.end)]))
      })
    else { return nil }
    let words = normalized.words.map { normalized.text(of: $0) }
    for start in 1..<words.count - 1 {
      let connector = connectors.filter { words[start...].starts(with: $0) }.max { $0.count < $1.count }
      guard let connector, start + connector.count < words.count else { continue }
      var rest = start + connector.count
      let terms = QueryTerm.terms(of: text, completesLastWord: false)
      for _ in 0..<maximumArticles where rest + 1 < words.count && terms[rest].isSmall { rest += 1 }
      let scalars = text.unicodeScalars
      var landmark = scalars.dropFirst(Int(normalized.words[rest].sourceStart))
      // "près d'Ussé": the elided preposition is no part of the name.
      let elided = landmark.prefix(3)
      if let apostrophe = elided.firstIndex(where: { $0 == "'" || $0 == "\u{2019}" }) {
        landmark = landmark[scalars.index(after: apostrophe)...]
      }
      return (
        String(Substring(scalars.prefix(Int(normalized.words[start - 1].sourceEnd)))), String(Substring(landmark))
      )
    }
    return nil
  }

  private static func partsBySuffix(of text: String) -> (category: String, landmark: String)? {
    // The first bytes of kana, Han characters and Hangul.
    guard text.utf8.contains(where: { $0 >= 0xE3 }) else { return nil }
    for suffix in suffixes {
      guard let range = text.firstRange(of: suffix) else { continue }
      let (landmark, category) = (String(text[..<range.lowerBound]), String(text[range.upperBound...]))
      if !NormalizedText(landmark).isEmpty, !NormalizedText(category).isEmpty { return (category, landmark) }
    }
    return nil
  }
}
