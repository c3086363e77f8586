import Basics
import Geo
import JSONText
import Points

/// A reference implementation of searches by name without typos, and of places of a category that a text names, which
/// compares the words of every place.
struct NaiveTextSearch {
  struct Match {
    let id: PointID
    let tier: TextMatch.Tier
    let score: Double
  }

  let points: [PointOfInterest]
  private let texts: [Texts]

  private struct Name {
    let words: [Word]
    let isListed: Bool

    /// The number of letters.
    var letters: Int { words.reduce(0) { $0 + $1.letters } }
  }

  /// The words of a place.
  private struct Texts {
    let names: [Name]
    let context: [Word]
    let categoryNames: [[String]]
    let importance: Double
  }

  init(points: [PointOfInterest]) {
    self.points = points
    texts = points.map { point in
      let tags = point.draft.tags.pairs
      let category = point.draft.category ?? ""
      let others = tags.filter { $0.key.hasPrefix("name:") || $0.key == "alt_name" }
      return Texts(
        names: [Name(words: Self.words(point.draft.name), isListed: false)] + others.flatMap { Self.names($0.value) },
        context: Self.words(point.draft.category ?? "")
          + tags.filter { $0.key.hasPrefix("addr:") }.flatMap { Self.words($0.value) },
        categoryNames: [category, String(category.split(separator: ":").last ?? "")].map { Self.words($0).map(\.text) },
        importance: Self.importance(tags))
    }
  }

  /// Returns all matches of a text, in order.
  func matches(of query: TextQuery) -> [Match] {
    let terms = Self.words(query.text)
    return zip(points, texts).compactMap { match($0, $1, terms, query) }
      .sorted { $0.score != $1.score ? $0.score > $1.score : $0.id < $1.id }
  }

  private typealias Word = (text: String, letters: Int)

  private static func words(_ text: String) -> [Word] {
    let text = NormalizedText(text)
    return text.words.map { (text.text(of: $0), Int($0.letters)) }
  }

  /// Returns the names of a tag, which has none with a comma or an abbreviation.
  private static func names(_ value: String) -> [Name] {
    let names = value.split(separator: ";")
    return names.map { Name(words: words(String($0)), isListed: names.count > 1) }
  }

  private func match(_ point: PointOfInterest, _ texts: Texts, _ terms: [Word], _ query: TextQuery) -> Match? {
    let draft = point.draft
    if let box = query.filters.box, !box.contains(draft.coordinate) { return nil }
    let categories = query.filters.categories
    if !categories.isEmpty, !categories.contains(where: { $0.text == draft.category }) { return nil }
    if let proximity = query.filters.proximity, let radius = proximity.radiusMetres,
      Geodesic.distanceMetres(from: proximity.center, to: draft.coordinate) > radius
    {
      return nil
    }
    if let source = query.filters.source, source.name.text != draft.origin?.source { return nil }
    let (names, context) = (texts.names, texts.context)
    let total = terms.reduce(0) { $0 + $1.letters }
    var (tier, coverage) = (TextMatch.Tier.category, 0.0)
    var hasWordInName = false
    for name in names where !name.words.isEmpty {
      let covered = name.words.reduce(0) { $0 + Self.lettersCovered(of: $1, by: terms) }
      hasWordInName = hasWordInName || covered > 0
      guard covered > 0, var own = Self.tier(of: terms, among: name.words + context) else { continue }
      if own == .allWords, name.words.map(\.text) == terms.map(\.text) { own = .exact }
      var factor = name.isListed ? (query.completesLastWord ? 0.4 : 0.95) : 1
      if query.completesLastWord {
        own = .prefix
        if Self.lettersCovered(of: name.words[0], by: terms) == 0 { factor *= 0.7 }
      }
      let part = factor * Double(min(covered, total)) / Double(name.letters)
      if (own, part) > (tier, coverage) { (tier, coverage) = (own, part) }
    }
    if tier == .category {
      let isNamed = texts.categoryNames.contains { !$0.isEmpty && $0 == terms.suffix($0.count).map(\.text) }
      guard isNamed, !hasWordInName, Self.tier(of: terms, among: context) != nil else { return nil }
    }
    let shift = query.completesLastWord ? 0.35 * max(0, Double(9 - total) / 8) : 0
    let isBiased = (query.bias?.weight ?? 0) > 0
    var score = Double(tier.rawValue) + (0.5 - shift) * coverage
    score += (isBiased ? 0.2 : 0.2 + shift) * texts.importance
    if let bias = query.bias, isBiased {
      let chord = EarthCentred(bias.center).chordSquared(to: EarthCentred(draft.coordinate)).squareRoot()
      score += (0.29 + shift) * bias.weight / (1 + chord / bias.scaleMetres)
    }
    return Match(id: point.id, tier: tier, score: score)
  }

  /// Returns the number of letters of a word that the terms have.
  private static func lettersCovered(of word: Word, by terms: [Word]) -> Int {
    let covered = terms.map { term in
      term.text == word.text ? word.letters : word.text.utf8.starts(with: term.text.utf8) ? term.letters : 0
    }
    return covered.max() ?? 0
  }

  /// Returns the tier of a text among the words of one name and of the context; `nil` where a word is missing.
  private static func tier(of terms: [Word], among words: [Word]) -> TextMatch.Tier? {
    var tier = TextMatch.Tier.allWords
    for term in terms where !words.contains(where: { $0.text == term.text }) {
      guard words.contains(where: { $0.text.utf8.starts(with: term.text.utf8) }) else { return nil }
      tier = .prefix
    }
    return tier
  }

  private static func importance(_ tags: [(key: String, value: String)]) -> Double {
    var sum = tags.contains { $0.key == "wikidata" } ? 0.35 : 0
    if let population = tags.first(where: { $0.key == "population" }).flatMap({ Double($0.value) }), population > 1 {
      // The logarithm, linear between powers of 10.
      let digits = String(Int(population)).count - 1
      let power = (0..<digits).reduce(1.0) { product, _ in product * 10 }
      sum += min(0.7, (Double(digits) + (population / power - 1) / 9) / 10)
    }
    return (sum * 255).rounded() / 255
  }

  /// Returns the distance of two texts by optimal string alignment (L. Boytsov, "Indexing methods for approximate
  /// dictionary searching", Journal of Experimental Algorithmics 16, 2011), of the whole matrix.
  static func distance(_ left: [UInt32], _ right: [UInt32]) -> Int {
    var rows = [Array(0...right.count)]
    for i in left.indices {
      var row = [i + 1]
      for j in right.indices {
        var cell = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (left[i] == right[j] ? 0 : 1))
        if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] { cell = min(cell, rows[i - 1][j - 1] + 1) }
        row.append(cell)
      }
      rows.append(row)
    }
    return rows[left.count][right.count]
  }
}
