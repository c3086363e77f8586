import Basics
import Geo
import JSONText
import Points
import SearchWords

@testable import PointIndex

/// A reference implementation of searches by name without typos, and of places of a category that a text names, which
/// compares the words of every place. The table of equivalents and the Latin forms of letters are those of the index.
struct NaiveTextSearch {
  struct Match {
    let id: PointID
    let tier: TextMatch.Tier
    let score: Double
  }

  let points: [PointOfInterest]
  private let texts: [Texts]

  /// The words of all places, and the number of places that have each.
  private let dictionary: [String: Int]

  private struct Name {
    let words: [Word]
    let isListed: Bool

    /// The other forms of the words; those of a name of a list have none.
    var variants: [NameVariants.Variant] = []

    /// The number of letters.
    var letters: Int { words.reduce(0) { $0 + $1.letters } }
  }

  /// The words of a place.
  private struct Texts {
    let names: [Name]
    let context: [Word]
    let street: [Word]
    let houseNumber: [Word]
    let categoryNames: [[String]]
    let importance: Double
  }

  init(points: [PointOfInterest]) {
    self.points = points
    let texts = points.map { point in
      let tags = point.draft.tags.pairs
      let category = point.draft.category ?? ""
      let others = tags.filter { $0.key.hasPrefix("name:") || $0.key == "alt_name" }
      return Texts(
        names: [Self.name(point.draft.name, isListed: false)] + others.flatMap { Self.names($0.value) },
        context: Self.words(point.draft.category ?? "")
          + tags.filter { $0.key.hasPrefix("addr:") }.flatMap { Self.words($0.value) },
        street: tags.filter { $0.key == "addr:street" }.flatMap { Self.distinctWords($0.value) },
        houseNumber: tags.filter { $0.key == "addr:housenumber" }.flatMap { Self.words($0.value) },
        categoryNames: [category, String(category.split(separator: ":").last ?? "")].map { Self.words($0).map(\.text) },
        importance: Self.importance(tags))
    }
    self.texts = texts
    var dictionary: [String: Int] = [:]
    for place in texts {
      let words = place.context.map(\.text) + place.names.flatMap { $0.words.map(\.text) + $0.variants.map(\.text) }
      for word in Set(words) { dictionary[word, default: 0] += 1 }
    }
    self.dictionary = dictionary
  }

  /// Returns all matches of a text, in order.
  func matches(of query: TextQuery) -> [Match] {
    let terms = Self.terms(of: query)
    let variants = joinedVariants(of: terms)
    let found = zip(points, texts).compactMap { point, texts -> Match? in
      let own = match(point, texts, terms, of: terms, query)
      let leastTier: TextMatch.Tier = query.completesLastWord ? .prefix : .allWords
      if let own, own.tier >= leastTier { return own }
      for variant in variants {
        if let found = match(point, texts, variant, of: terms, query, isVariant: true) { return found }
      }
      return own
    }
    return (found.isEmpty ? matches(bySeparationOf: terms, query) : found)
      .sorted { $0.score != $1.score ? $0.score > $1.score : $0.id < $1.id }
  }

  /// Returns the matches of the terms with one separated, of the first such terms that have any.
  private func matches(bySeparationOf terms: [Term], _ query: TextQuery) -> [Match] {
    for variant in separatedVariants(of: terms) {
      let found = zip(points, texts).compactMap { match($0, $1, variant, of: terms, query, isVariant: true) }
      if !found.isEmpty { return found }
    }
    return []
  }

  /// A word of a query.
  private struct Term {
    let text: String
    let letters: Int
    let isSmall: Bool
    let isUnspaced: Bool
    let isIncomplete: Bool

    /// Returns a Boolean value that indicates whether a word stands for the term: by the table, or in other letters.
    func hasEquivalent(_ other: String) -> Bool {
      Equivalents.shared.words(for: ContiguousArray(text.utf8)).contains(ContiguousArray(other.utf8))
        || isLatin(of: other)
    }

    /// Returns a Boolean value that indicates whether a word is written in other letters than the term; where that is
    /// being typed, whether a beginning of the word is.
    func isLatin(of other: String) -> Bool {
      let scalars = Array(other.unicodeScalars)
      return ((isIncomplete ? 1 : scalars.count)...scalars.count).contains { count in
        var beginning = String(String.UnicodeScalarView(scalars[..<count]))
        return beginning.withUTF8 { LatinLetters.shared.isForm(ContiguousArray(text.utf8), of: $0) }
      }
    }
  }

  private static func terms(of query: TextQuery) -> [Term] {
    terms(QueryTerm.terms(of: query.text, completesLastWord: query.completesLastWord))
  }

  private static func terms(_ terms: ContiguousArray<QueryTerm>) -> [Term] {
    terms.map {
      Term(
        text: String(decoding: $0.bytes, as: UTF8.self), letters: $0.letters, isSmall: $0.isSmall,
        isUnspaced: $0.isUnspaced, isIncomplete: $0.isIncomplete)
    }
  }

  /// Returns the terms with two of them joined to a word of a place.
  private func joinedVariants(of terms: [Term]) -> [[Term]] {
    let joined = terms.indices.dropFirst().filter { index in
      let (left, right) = (terms[index - 1], terms[index])
      if left.isUnspaced || right.isUnspaced { return false }
      let text = left.text + right.text
      return dictionary[text] != nil
        || (right.isIncomplete && dictionary.keys.contains { $0.utf8.starts(with: text.utf8) })
    }
    return joined.prefix(4).map { index in
      let (left, right) = (terms[index - 1], terms[index])
      let both = Term(
        text: left.text + right.text, letters: left.letters + right.letters, isSmall: false, isUnspaced: false,
        isIncomplete: right.isIncomplete)
      return Self.notingSmallWords(in: terms[..<(index - 1)] + [both] + terms[(index + 1)...])
    }
  }

  /// Returns the terms with one that no place has separated into two words of places, the most frequent first.
  private func separatedVariants(of terms: [Term]) -> [[Term]] {
    var found: [(terms: [Term], places: Int)] = []
    for (index, term) in terms.enumerated()
    where !term.isUnspaced && !term.isIncomplete && dictionary[term.text] == nil {
      let scalars = Array(term.text.unicodeScalars)
      guard scalars.count >= 6 else { continue }
      for middle in 3...scalars.count - 3 {
        let parts = [scalars[..<middle], scalars[middle...]].map { scalars in
          Term(
            text: String(String.UnicodeScalarView(scalars)), letters: scalars.count, isSmall: false, isUnspaced: false,
            isIncomplete: false)
        }
        guard let left = dictionary[parts[0].text], let right = dictionary[parts[1].text] else { continue }
        found.append(
          (Self.notingSmallWords(in: terms[..<index] + parts + terms[(index + 1)...]), min(left, right)))
      }
    }
    return found.sorted { $0.places > $1.places }.prefix(4).map(\.terms)
  }

  private static func notingSmallWords(in terms: some Sequence<Term>) -> [Term] {
    var noted = ContiguousArray(
      terms.map {
        QueryTerm(
          bytes: ContiguousArray($0.text.utf8), letters: $0.letters, isUnspaced: $0.isUnspaced,
          isIncomplete: $0.isIncomplete)
      })
    QueryTerm.noteSmallWords(in: &noted)
    return Self.terms(noted)
  }

  private typealias Word = (text: String, letters: Int)

  private static func words(_ text: String) -> [Word] {
    let text = NormalizedText(text)
    return text.words.map { (text.text(of: $0), Int($0.letters)) }
  }

  private static func distinctWords(_ text: String) -> [Word] {
    var known: Set<String> = []
    return words(text).filter { known.insert($0.text).inserted }
  }

  private static func name(_ text: String, isListed: Bool) -> Name {
    var name = Name(words: words(text), isListed: isListed)
    var (source, variants) = (text, NameVariants())
    if !isListed { name.variants = source.withUTF8 { variants.variants(of: $0, NormalizedText(text).words) } }
    return name
  }

  /// Returns the names of a tag, which has none with a comma or an abbreviation.
  private static func names(_ value: String) -> [Name] {
    let names = value.split(separator: ";")
    return names.map { name(String($0), isListed: names.count > 1) }
  }

  private func match(
    _ point: PointOfInterest, _ texts: Texts, _ terms: [Term], of ownTerms: [Term], _ query: TextQuery,
    isVariant: Bool = false
  ) -> Match? {
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
    let isBiased = (query.bias?.weight ?? 0) > 0
    let long = ownTerms.count > 1 ? 9 : 14
    let shortness = max(0, min(1, isBiased ? Double(9 - total) / 8 : Double(long - total) / Double(long - 6)))
    let typed = (isBiased ? 0.35 : 0.42) * shortness
    let shift = query.completesLastWord ? typed : 0
    let importanceWeight = isBiased ? 0.2 : 0.2 + shift
    var (tier, best) = (TextMatch.Tier.category, importanceWeight * texts.importance)
    var hasWordInName = false
    for name in names where !name.words.isEmpty {
      let covered = Self.lettersCovered(of: name, by: terms)
      hasWordInName = hasWordInName || covered.reduce(0, +) > 0
      let words = name.words + name.variants.map { Word($0.text, Int($0.letters)) } + context
      guard covered.reduce(0, +) > 0, let (found, missingSmallWords) = Self.tier(of: terms, among: words) else {
        continue
      }
      var own = found
      if isVariant, own == .prefix, !query.completesLastWord { continue }
      if own == .allWords, !isVariant, name.words.map(\.text) == terms.map(\.text) { own = .exact }
      let factor = name.isListed ? (query.completesLastWord ? 0.4 : 0.95) : 1
      if query.completesLastWord {
        own = .prefix
      }
      // Only typos lack a small word of a text that is being typed.
      if missingSmallWords > 0, query.completesLastWord { continue }
      if missingSmallWords > 0, own > .prefix { own = .prefix }
      let edits = (isVariant ? 1 : 0) + missingSmallWords
      let raw = Double(min(covered.reduce(0, +), total)) / Double(name.letters)
      let part = factor * raw * (1 - 0.1 * Double(edits))
      let typed =
        query.completesLastWord ? (name.isListed ? 0.1 + 0.85 * raw : 1) * (covered[0] == 0 ? 0.7 : 1) : 1
      let fraction = typed * ((0.5 - shift) * part + importanceWeight * texts.importance)
      if (own, fraction) > (tier, best) { (tier, best) = (own, fraction) }
    }
    if let (own, coverage, edits) = address(texts, terms, total, completesLastWord: query.completesLastWord) {
      hasWordInName = true
      let fraction = (0.5 - shift) * coverage * (1 - 0.1 * Double(edits + (isVariant ? 1 : 0)))
      // Only typos lack a small word of a text that is being typed.
      let isTypo = query.completesLastWord ? edits > 0 : isVariant && own == .prefix
      if !isTypo, (own, fraction + importanceWeight * texts.importance) > (tier, best) {
        (tier, best) = (own, fraction + importanceWeight * texts.importance)
      }
    }
    let isWhole = texts.categoryNames.contains { !$0.isEmpty && $0 == terms.map(\.text) }
    if isWhole, isBiased, query.order == .relevance, !isVariant {
      tier = query.completesLastWord ? .prefix : .exact
      best = 0.5 - shift + importanceWeight * texts.importance
    }
    if isVariant, tier == .category { return nil }
    if tier == .category {
      let isNamed = texts.categoryNames.contains { !$0.isEmpty && $0 == terms.suffix($0.count).map(\.text) }
      guard isNamed, !hasWordInName, Self.tier(of: terms, among: context) != nil else { return nil }
    }
    var score = Double(tier.rawValue) + best
    if let bias = query.bias, isBiased {
      let chord = EarthCentred(bias.center).chordSquared(to: EarthCentred(draft.coordinate)).squareRoot()
      score += (0.29 + shift) * bias.weight / (1 + chord / bias.scaleMetres)
    }
    return Match(id: point.id, tier: tier, score: score)
  }

  /// Returns the tier, the coverage of a street by a text whose words the category and the address have, and the number
  /// of small words that are missing.
  private func address(
    _ texts: Texts, _ terms: [Term], _ total: Int, completesLastWord: Bool
  ) -> (tier: TextMatch.Tier, coverage: Double, missingSmallWords: Int)? {
    let covered = texts.street.map { Self.lettersCovered(of: $0, by: terms) }
    let sum = covered.reduce(0, +)
    guard sum > 0, let (found, missing) = Self.tier(of: terms, among: texts.context) else { return nil }
    let tier = completesLastWord || missing > 0 ? .prefix : found
    var coverage = Double(min(sum, total)) / Double(texts.street.reduce(0) { $0 + $1.letters })
    let (leading, matched) = (covered.prefix { $0 > 0 }.count, covered.filter { $0 > 0 }.count)
    // A number of several words has none that is the whole of it.
    let hasNumber = texts.houseNumber.contains { Self.lettersCovered(of: $0, by: terms) == $0.letters }
    guard matched == covered.count || matched > 1 || hasNumber || (completesLastWord && leading > 0) else { return nil }
    if completesLastWord, Set(terms.map(\.text)).count > 1, leading >= Set(terms.map(\.text)).count {
      return (tier, max(coverage, 0.95), missing)
    }
    let isAddress = hasNumber || (leading == covered.count && Set(terms.map(\.text)).count > 1)
    coverage *= isAddress ? (completesLastWord ? 0.7 : 0.8) : 0.5
    if isAddress, !hasNumber || texts.houseNumber.count > 1 { coverage *= 0.95 }
    if completesLastWord, leading == 0 { coverage *= 0.7 }
    return (tier, coverage, missing)
  }

  /// Returns the number of letters that the terms have of each word of a name, or of a variant of it.
  private static func lettersCovered(of name: Name, by terms: [Term]) -> [Int] {
    var covered = name.words.map { lettersCovered(of: $0, by: terms) }
    for variant in name.variants {
      var rest = lettersCovered(of: (variant.text, Int(variant.letters)), by: terms)
      guard rest > 0 else { continue }
      if !variant.isJoined {
        let letters = name.words[variant.word].letters
        let part = rest >= Int(variant.letters) ? letters : min(letters, rest)
        covered[variant.word] = max(covered[variant.word], part)
        continue
      }
      var (word, letters) = (variant.word, Int(variant.letters))
      while letters > 0, rest > 0, word < name.words.count {
        let part = min(name.words[word].letters, rest)
        covered[word] = max(covered[word], part)
        letters -= name.words[word].letters
        rest -= part
        word += 1
      }
    }
    return covered
  }

  /// Returns the number of letters of a word that the terms have.
  private static func lettersCovered(of word: Word, by terms: [Term]) -> Int {
    let covered = terms.map { term in
      if term.text == word.text { return word.letters }
      if term.hasEquivalent(word.text) {
        return max(1, term.isLatin(of: word.text) ? word.letters * 3 / 5 : word.letters - 1)
      }
      return word.text.utf8.starts(with: term.text.utf8) ? term.letters : 0
    }
    return covered.max() ?? 0
  }

  /// Returns the tier of a text among the words of one name and of the context, and the number of small words that are
  /// missing; `nil` if another word is.
  private static func tier(
    of terms: [Term], among words: [Word]
  ) -> (tier: TextMatch.Tier, missingSmallWords: Int)? {
    var (tier, missingSmallWords) = (TextMatch.Tier.allWords, 0)
    for term in terms where !words.contains(where: { $0.text == term.text || term.hasEquivalent($0.text) }) {
      if words.contains(where: { $0.text.utf8.starts(with: term.text.utf8) }) {
        tier = .prefix
      } else if term.isSmall {
        missingSmallWords += 1
      } else {
        return nil
      }
    }
    return (tier, missingSmallWords)
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

extension NameVariants.Variant {
  fileprivate var text: String { String(decoding: bytes, as: UTF8.self) }
}
