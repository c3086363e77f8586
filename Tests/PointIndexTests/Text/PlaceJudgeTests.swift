import Geo
import Points
import SyntheticData
import Testing

@testable import PointIndex

/// Compares the judgement by sets of terms with that by one term after another.
@Suite struct PlaceJudgeTests {
  private static func rules() -> [TypoRules] {
    var (pairs, wholeShortWords, shortWords) = (TypoRules.none, TypoRules.none, TypoRules.none)
    pairs.maximumMissingPairs = 2
    wholeShortWords.requiresWholeShortWords = true
    shortWords.omitsShortWords = true
    return [.none, pairs, wholeShortWords, shortWords]
  }

  /// Returns texts of words of places and beginnings of words; some have 63 to 66 terms, where 64 fit into a set.
  private static func texts(of points: [PointOfInterest], using random: inout SeededGenerator) -> [String] {
    (0..<60).map { number in
      let place = points[Int.random(in: 0..<points.count, using: &random)].draft
      let words = (place.name + " " + (place.category ?? "") + " " + (place.tags["addr:street"] ?? ""))
        .split(separator: " ").map { Int.random(in: 0..<4, using: &random) == 0 ? $0.prefix(2) : $0 }
      if number % 6 != 0 { return words.shuffled(using: &random).prefix(1 + number % 4).joined(separator: " ") }
      let others = (0..<62 + number / 6 % 4).map { String(UnicodeScalar(UInt32(0x4E00 + $0)) ?? " ") }
      return (words.prefix(1) + [others.joined()[...]]).joined(separator: " ")
    }
  }

  @Test(arguments: [false, true])
  func setsOfTermsJudgeLikeSingleTerms(completesLastWord: Bool) throws {
    var random = SeededGenerator(seed: 5)
    let points = try TextPlaces.synthetic(600, seed: 6)
    let snapshot = PointSnapshot(ContiguousArray(points))
    let part = try #require(snapshot.parts.first)
    var found = 0
    for text in Self.texts(of: points, using: &random) {
      let terms = QueryTerm.terms(of: text, completesLastWord: completesLastWord)
      for (rules, kind) in zip(Self.rules() + Self.rules(), 0...) {
        func judge(usesSets: Bool) -> PlaceJudgement {
          var textPart = TextPart(part, number: 0, terms: terms, isRestricted: false, SearchLimit(nil))
          textPart.setJudgedTerms(terms, at: ContiguousArray(terms.indices), rules)
          let judged = textPart.judgedTerms
          var judge = PlaceJudge(
            judged, in: textPart.columns, rules, TextScore(nil), letters: terms.reduce(0) { $0 + $1.letters },
            isCategory: kind == 4 || kind == 5, isReading: kind == 5,
            role: kind == 6 ? .typo : kind == 7 ? .variant : .text,
            completesLastWord: completesLastWord, usesSets: usesSets)
          return withExtendedLifetime((judged, textPart.index)) {
            PlaceJudgement(matches: (0..<points.count).map { judge.judge($0) }, steps: judge.takeSteps())
          }
        }
        let (bySets, byTerms) = (judge(usesSets: true), judge(usesSets: false))
        found += bySets.tiers.lazy.filter { $0 != nil }.count
        #expect(bySets.tiers == byTerms.tiers, "\(text), \(kind)")
        #expect(bySets.fractions == byTerms.fractions, "\(text), \(kind)")
        // Besides, a word is compared with all terms at once.
        #expect(bySets.steps >= byTerms.steps, "\(text), \(kind)")
      }
    }
    #expect(found > 100)
  }
}

/// The judgement of all places, and its steps.
private struct PlaceJudgement {
  let tiers: [TextMatch.Tier?]
  let fractions: [Double?]
  let steps: Int

  init(matches: [(tier: TextMatch.Tier, fraction: Double)?], steps: Int) {
    tiers = matches.map { $0?.tier }
    fractions = matches.map { $0?.fraction }
    self.steps = steps
  }
}
