import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct TypoTests {
  @Test(arguments: [
    ("winchster", "Winchester"), ("winchesster", "Winchester"), ("winchestar", "Winchester"),
    ("wincehster", "Winchester"), ("wnchestr", "Winchester"), ("vinchester", "Winchester"),
    ("wiunchesetr", "Winchester"),
    ("parc", "Park"), ("prak", "Park"), ("prk", "Park"), ("parkk", "Park"), ("mussum", "Museum"),
    ("mystrey", "Mystery"),
    ("санктт", "Санкт"), ("μουσειοο", "Μουσείο"), ("ქუთიასი", "ქუთაისი"), ("수웜", "수원"), ("dark", "Park"),
  ])
  func wordWithAnEditIsFound(text: String, expected: String) throws {
    let snapshot = try TextPlaces.snapshot([
      "Winchester", "Park", "Museum", "Mystery", "Санкт", "Μουσείο", "ქუთაისი", "수원", "Zzz", "東京",
    ])

    #expect(snapshot.names(text).first == expected)
  }

  @Test(arguments: ["pqxk x", "zoz", "abc", "abd", "winche", "pxxk", "mxsxxm", "wxnxhxster", "東大", "京東"])
  func moreEditsThanTheRulesAllowAreNoMatch(text: String) throws {
    let snapshot = try TextPlaces.snapshot([
      "Park", "Zzz", "Abcde Fgh".replacing("Abcde", with: "Ab"), "Museum", "Winster", "東京",
    ])

    #expect(snapshot.names(text).isEmpty)
  }

  @Test(arguments: [1, 2, 3, 4, 10])
  func pagesByDistanceOfAnySizeHaveTheSameMatches(limit: Int) throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Winchester", at: (1, 0)), try TextPlaces.place(2, "Winchestor", at: (2, 0)),
      try TextPlaces.place(3, "Winchester", at: (5, 0)), try TextPlaces.place(4, "Winchester", at: (6, 0)),
    ])
    var query = TextQuery(
      text: "winchester", bias: LocationBias(center: try Coordinate(latitude: 0, longitude: 0)), limit: limit)
    query.order = .distance

    let matches = snapshot.allMatches(of: query)

    #expect(matches.map(\.point.draft.coordinate.latitude) == [1, 2, 5, 6])
  }

  @Test func joinedWordIsHighlightedAndFoundOnce() throws {
    let snapshot = try TextPlaces.snapshot(["Losangeles Zoo", "Losangeles Park", "Los Feliz"])

    let matches = snapshot.allMatches(of: TextQuery(text: "los angeles zoo", limit: 1, includesMatchedNames: true))

    #expect(matches.map(\.point.id) == [.sample(0)])
    #expect(matches.first?.name?.ranges == [0..<10, 11..<14])
  }

  @Test func firstLetterOfAShortWordCountsOnlyWhereNothingElseMatches() throws {
    let snapshot = try TextPlaces.snapshot(["Mark", "Dart"])

    #expect(snapshot.names("dark") == ["Dart"])
    #expect(Set(snapshot.names("xark")) == ["Mark"])
  }

  @Test func wordOfSixLettersHasTwoEditsOnlyWhereNothingElseMatches() throws {
    let snapshot = try TextPlaces.snapshot(["Museum", "Lisbon", "Musxxe"])

    #expect(snapshot.names("lixbxn") == ["Lisbon"])
    #expect(snapshot.names("xixbon").isEmpty)
    #expect(snapshot.names("musxxm") == ["Musxxe"])
    #expect(snapshot.names("lixb", completes: true) == ["Lisbon"])
  }

  @Test func typosAreNotSearchedBesidesEnoughOtherMatches() throws {
    let snapshot = try TextPlaces.snapshot((1...5).map { "Park \($0)" } + ["Parc"])

    #expect(!snapshot.names("park").contains("Parc"))
    #expect(snapshot.names("parc").first == "Parc")
    #expect(snapshot.names("parc").count == 6)
  }

  @Test func shortWordsMayBeMissingWhereNothingElseMatches() throws {
    let snapshot = try TextPlaces.snapshot(["Bar del Corso", "Via del Corso"])

    #expect(snapshot.names("bar dxl corso").first == "Bar del Corso")
  }

  @Test(arguments: [
    "losangeles airport", "los angelesairport", "losxangeles airport", "los an geles airport", "lo sangeles airport",
    "losa ngeles airport",
  ])
  func joinedAndSeparatedWordsAreFound(text: String) throws {
    let snapshot = try TextPlaces.snapshot(["Los Angeles Airport", "Vienna Airport", "Los Alamos"])

    #expect(snapshot.names(text).first == "Los Angeles Airport")
  }

  @Test(arguments: ["東京国立博物舘", "東京國立博物館", "東京立国博物館", "東京国立博館", "東京国立大博物館"])
  func textWithoutSpacesMayHaveAnEdit(text: String) throws {
    let snapshot = try TextPlaces.snapshot(["東京国立博物館", "京都国立博物館", "東京駅"])

    #expect(snapshot.names(text).first == "東京国立博物館")
  }

  @Test func incompleteLastWordMayHaveATypo() throws {
    let snapshot = try TextPlaces.snapshot(["Winchester Mystery House", "Worcester"])

    #expect(snapshot.names("wimch", completes: true) == ["Winchester Mystery House"])
    #expect(snapshot.names("winchester mistr", completes: true) == ["Winchester Mystery House"])
    #expect(snapshot.names("wimch").isEmpty)
  }

  @Test(arguments: [(1, false), (2, false), (1, true), (2, true)])
  func expansionFindsTheWordsThatAllWordsCompared(edits: Int, freesFirstLetter: Bool) throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(3_000, seed: 3)))
    let part = snapshot.parts[0]
    let dictionary = part.segment.textIndex.columns.dictionary
    let rules = TypoRules(maximumEdits: edits, freesFirstLetter: freesFirstLetter)
    var random = SeededGenerator(seed: 17)
    var found = 0
    for _ in 0..<60 {
      let word = Int.random(in: 0..<dictionary.count, using: &random)
      if dictionary.isUnspaced(word) { continue }
      let text = String(decoding: dictionary.word(word), as: UTF8.self).edited(edits, using: &random)
      guard let term = QueryTerm.terms(of: text, completesLastWord: false).first, !term.isUnspaced else { continue }
      let expansion = WordExpansion(of: term, in: dictionary, rules: rules, SearchLimit(nil))
      let actual = Set(expansion.ranges.flatMap { Array($0) }).filter { number in
        rules.edits(term, dictionary.word(number), letters: dictionary.letterCount(number)) != nil
      }
      let expected = (0..<dictionary.count).filter { number in
        let scalars = String(decoding: dictionary.word(number), as: UTF8.self).unicodeScalars.map(\.value)
        if dictionary.isUnspaced(number) { return false }
        let longest = max(scalars.count, term.scalars.count)
        let allowed = longest < 4 ? 0 : longest < 8 ? min(edits, 1) : edits
        let isFirstFree = freesFirstLetter || (edits == 2 && term.scalars.count >= 8)
        return allowed > 0 && (isFirstFree || scalars[0] == term.scalars[0])
          && NaiveTextSearch.distance(Array(term.scalars), scalars) <= allowed
      }
      found += expected.count
      #expect(actual == Set(expected), "\(text)")
    }
    #expect(found > 20)
    withExtendedLifetime(snapshot) {}
  }

  @Test(arguments: [
    "a", "aaaaaaaaaa", String(repeating: "x", count: 200), String(repeating: "東京", count: 100),
    String(repeating: "ab ", count: 66), "\u{378}\u{379}a", "a\u{301}\u{302}", "\u{202E}abc\u{202C}",
    "\u{200B}a\u{200D}",
    "שלום a مرحبا", "\u{FFFF}\u{10FFFF}b", "🏛️ museum", "ﷺ", "\u{1100}\u{1161}",
  ])
  func anyTextIsSearched(text: String) throws {
    let snapshot = PointSnapshot(ContiguousArray(try TextPlaces.synthetic(2_000, seed: 8)))
    for completes in [false, true] {
      let query = TextQuery(text: text, completesLastWord: completes, includesMatchedNames: true)
      #expect(snapshot.matches(of: query).matches.count <= 20)
    }
  }

  @Test(arguments: ["", "!!", "\u{200B}"])
  func textWithoutWordsMatchesNothing(text: String) throws {
    #expect(try TextPlaces.snapshot(["!!", "a"]).names(text).isEmpty)
  }
}
