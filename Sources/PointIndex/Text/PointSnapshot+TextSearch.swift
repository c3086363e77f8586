import Geo
import JSONText
public import Points

extension PointSnapshot {
  /// Returns one page of the places that match a text.
  public func matches(of query: TextQuery) -> TextPage {
    let terms = Self.words(of: query.text)
    let bias = query.bias.map { ($0, EarthCentred($0.center)) }
    let filter = PointFilter(query.filters)
    var found: [TextMatch] = []
    for part in parts {
      for slot in 0..<part.segment.count where !part.isDead(slot) && filter.matches(slot, of: part.segment) {
        let point = part.segment.point(at: slot)
        guard let (tier, coverage, name) = Self.match(terms, query, point) else { continue }
        var score = Double(tier.rawValue) + 0.5 * coverage
        if let (bias, center) = bias {
          let chord = center.chordSquared(to: EarthCentred(point.draft.coordinate)).squareRoot()
          score += 0.29 * bias.weight / (1 + chord / bias.scaleMetres)
        }
        let distance = query.center.map { Geodesic.distanceMetres(from: $0, to: point.draft.coordinate) }
        found.append(TextMatch(point: point, distanceMetres: distance, score: score, tier: tier, name: name))
      }
    }
    if found.filter({ $0.tier > .typo }).count >= 5 { found.removeAll { $0.tier == .typo } }
    func key(_ match: TextMatch) -> Double { query.order == .distance ? match.distanceMetres ?? 0 : match.score }
    let isDescending = query.order == .relevance
    func precedes(_ left: (Double, PointID), _ right: (Double, PointID)) -> Bool {
      left.0 != right.0 ? (left.0 > right.0) == isDescending : left.1 < right.1
    }
    found.sort { precedes((key($0), $0.point.id), (key($1), $1.point.id)) }
    if let after = query.after {
      found.removeAll { !precedes((after.value, after.id), (key($0), $0.point.id)) }
    }
    let page = Array(found.prefix(query.limit))
    let next = page.last.flatMap { last in
      found.count > page.count ? TextQuery.Position(value: key(last), id: last.point.id) : nil
    }
    return TextPage(matches: page, next: next)
  }

  private typealias NormalWord = (text: String, letters: Int, source: Range<Int>)

  private static func words(of text: String) -> [NormalWord] {
    let text = NormalizedText(text)
    return text.words.map { (text.text(of: $0), Int($0.letters), Int($0.sourceStart)..<Int($0.sourceEnd)) }
  }

  private static func match(
    _ terms: [NormalWord], _ query: TextQuery, _ point: PointOfInterest
  ) -> (TextMatch.Tier, Double, TextMatch.Name?)? {
    guard !terms.isEmpty else { return nil }
    var names = [("name", point.draft.name)]
    var context = words(of: point.draft.category ?? "")
    for (key, value) in point.draft.tags.pairs {
      let isName = TextIndexConfiguration.defaultNameTags.contains {
        $0.hasSuffix("*") ? key.hasPrefix($0.dropLast()) : key == $0
      }
      if isName { names.append((key, value)) }
      if key.hasPrefix("addr:") { context += words(of: value) }
    }
    let nameWords = names.map { words(of: $0.1) }
    let all = nameWords.flatMap { $0 } + context
    var tier = TextMatch.Tier.allWords
    for term in terms {
      guard let best = all.compactMap({ Self.kind(term, $0) }).max() else { return nil }
      tier = min(tier, best)
    }
    var best: (coverage: Double, name: TextMatch.Name)?
    for (name, words) in zip(names, nameWords) {
      var covered = 0
      var ranges: [Range<Int>] = []
      for word in words {
        guard
          let (kind, term) = terms.compactMap({ term in kind(term, word).map { ($0, term) } }).max(by: { $0.0 < $1.0 })
        else { continue }
        covered += kind == .prefix ? min(term.letters, word.letters) : word.letters
        ranges.append(word.source)
      }
      guard covered > 0 else { continue }
      let coverage = Double(covered) / Double(words.reduce(0) { $0 + $1.letters })
      if tier == .allWords, words.map(\.text) == terms.map(\.text) { tier = .exact }
      if best == nil || best!.coverage < coverage {
        best = (coverage, TextMatch.Name(key: name.0, text: name.1, ranges: ranges))
      }
    }
    guard let best else { return nil }
    return (tier, best.coverage, query.includesMatchedNames ? best.name : nil)
  }

  private static func kind(_ term: NormalWord, _ word: NormalWord) -> TextMatch.Tier? {
    if term.text == word.text { return .allWords }
    if word.text.hasPrefix(term.text) { return .prefix }
    return nil
  }
}
