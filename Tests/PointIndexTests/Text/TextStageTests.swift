import Geo
import Basics
import Points
import TestSupport
import Testing

@testable import PointIndex

@Suite struct TextStageTests {
  @Test(
    arguments: [
      ("park", ["Park One", "Parc", "Parg", "Pork"], .typos),
      (
        "winchester cathxdrxl", ["Winchester Cathedral", "Winchester Cathedral B", "Winchester Cathedral C"],
        .typosBesideRareWord
      ),
      ("wenchesterfird", ["Winchesterford", "Winchesterford B", "Winchesterford C"], .moreTypos),
      ("xark", ["Mark", "Dark", "Bark B"], .missingWords),
      ("los angeles zoo", ["Losangeles Zoo", "Losangeles Zoo B", "Losangeles Zoo C"], .typos),
      ("los angelex zoo", ["Losangeles Zoo", "Losangeles Zoo B", "Losangeles Zoo C"], .joined(word: 1)),
      (
        "losangeles airport", ["Los Angeles Airport", "Los Angeles Airport B", "Los Angeles Airport C"],
        .separatedWords(letter: 3)
      ),
      (
        "losangelxs airport", ["Los Angeles Airport", "Los Angeles Airport B", "Los Angeles Airport C"],
        .separated(letter: 3, omitsLetter: false)
      ),
      (
        "losxangeles airport", ["Los Angeles Airport", "Los Angeles Airport B", "Los Angeles Airport C"],
        .separated(letter: 3, omitsLetter: true)
      ),
      ("musxxm", ["Museum", "Museum B", "Museum C"], .twoTypos),
      ("park txwxr", ["Park Tower", "Park Tower B", "Park Tower C"], .lenient),
      ("東京国立博物舘", ["東京国立博物館", "東京国立博物館二", "東京国立博物館三"], .missingPairs),
    ] as [(String, [String], TextQuery.Stage)])
  func placesWrittenBetweenPagesHideNoMatch(text: String, names: [String], stage: TextQuery.Stage) throws {
    var snapshot = try TextPlaces.snapshot(names)
    var query = TextQuery(text: text, limit: 1)
    let first = snapshot.matches(of: query)
    #expect(first.next?.stage == stage)

    // More than those beside which typos are searched.
    let others = try (0..<6 as Range<UInt64>).map { try TextPlaces.place(100 + $0, text) }
    snapshot = snapshot.applying(PointChanges(puts: ContiguousArray(others)))
    query.after = first.next
    let later = snapshot.allMatches(of: query)

    #expect((first.matches + later).map(\.point.draft.name).sorted() == names.sorted())
  }

  /// The hidden places cost the search more steps than it spends on rules that find nothing, and have more words near
  /// those of the texts than it looks at otherwise.
  @Test func matchesOfARestrictedQueryDoNotDependOnOtherPlaces() throws {
    let restriction = PointRestriction(
      filter: try PropertyFilter("category = 'shown'"), area: nil, timeLimit: .seconds(600), queryables: Queryables())
    let shown = try [
      "Alpha Beta Gamma", "Golden Gate Bridge View", "Losangeles Zoo", "Winchester Cathedral", "Moon Internal", "Town",
    ]
    .enumerated().map { try TextPlaces.place(UInt64($0), $1, category: "shown") }
    let hidden = try (0..<20_000).map { number in
      try TextPlaces.place(
        1_000 + UInt64(number),
        [
          "Alpha Beta \(number)", "Alphx Betx \(number)", "Golden Bridge \(number)", "Winchestex Gate \(number)",
          "Internal \(number)",
        ][number % 5],
        category: "hidden")
    }
    let (alone, together) = (
      PointSnapshot(ContiguousArray(shown)), PointSnapshot(ContiguousArray(shown + hidden))
    )

    for text in [
      "alpha beta gamma delta", "golden gate bridge view point", "los angeles zoo", "wenchestxr cathedral",
      "alpha beta gaxxa", "goldxn brxdge vxew", "bridge golden view alpha",
      "town internal",
    ] {
      var query = TextQuery(text: text)
      query.filters = PointQuery(restriction: restriction)
      let expected = try alone.page(matching: query).matches.map(\.point.draft.name)

      #expect(try together.page(matching: query).matches.map(\.point.draft.name) == expected, "\(text)")
    }
  }

  @Test func placesRemovedBetweenPagesAddNoTypos() throws {
    let names = (1...5).map { "Park \($0)" } + ["Parc"]
    var snapshot = try TextPlaces.snapshot(names)
    var query = TextQuery(text: "park", limit: 2)
    let first = snapshot.matches(of: query)

    let removed = first.matches.map(\.point.id)
    snapshot = snapshot.applying(PointChanges(removals: removed))
    query.after = first.next
    let later = snapshot.allMatches(of: query)

    #expect(first.matches.count + later.count == 5)
    #expect(!later.contains { $0.point.draft.name == "Parc" })
  }

  @Test(
    arguments: [
      .joined(word: 0), .joined(word: 9), .joined(word: .max), .separated(letter: 0, omitsLetter: false),
      .separated(letter: 10, omitsLetter: true), .separated(letter: .max, omitsLetter: true), .missingPairs, .lenient,
      .omitted(words: 0, hasTypos: false), .omitted(words: 3, hasTypos: true), .omitted(words: .max, hasTypos: false),
      .twoTypos, .separatedWords(letter: 0), .separatedWords(letter: .max),
    ] as [TextQuery.Stage])
  func stageThatATextDoesNotHaveIsSearched(stage: TextQuery.Stage) throws {
    let snapshot = try TextPlaces.snapshot(["Los Angeles Airport", "Losangeles"])

    let after = TextQuery.Position(value: 1.9, id: .sample(0), stage: stage)
    let page = snapshot.matches(of: TextQuery(text: "los angeles", after: after))

    #expect(page.matches.count <= 2)
  }
}

/// Texts that are, or end with, the name of a category.
@Suite struct CategoryTextTests {
  private static let places: ContiguousArray<PointOfInterest> = {
    do {
      return [
        try TextPlaces.place(1, "Luigi", at: (1, 0), category: "restaurant", tags: [("addr:street", "Italian Road")]),
        try TextPlaces.place(2, "Restaurant Roma", at: (2, 0), category: "restaurant"),
        try TextPlaces.place(3, "Mario", at: (3, 0), category: "restaurant", tags: [("wikidata", "Q1")]),
        try TextPlaces.place(4, "Restaurante Sol", at: (4, 0), category: "hotel"),
        try TextPlaces.place(5, "Italian Bakery", at: (5, 0), category: "bakery"),
        try TextPlaces.place(6, "Burger Queen", at: (6, 0), category: "fast_food"),
        try TextPlaces.place(7, "Zugspitze", at: (7, 0), category: "natural:peak"),
        try TextPlaces.place(8, "Old Station", at: (8, 0), tags: [("addr:street", "Restaurant Row")]),
        try TextPlaces.place(9, "Restaurent Nine", at: (9, 0), category: "restaurant"),
      ]
    } catch {
      fatalError("\(error)")
    }
  }()

  @Test(arguments: [
    ("restaurant", ["Restaurant Roma", "Restaurante Sol", "Mario", "Luigi", "Restaurent Nine"]),
    ("Restaurant", ["Restaurant Roma", "Restaurante Sol", "Mario", "Luigi", "Restaurent Nine"]),
    ("italian restaurant", ["Luigi"]), ("mario restaurant", ["Mario"]),
    ("restaurant italian", ["Restaurant Roma", "Restaurante Sol"]), ("row italian", ["Italian Bakery"]),
    ("fast food", ["Burger Queen"]), ("fast_food", ["Burger Queen"]), ("food", []),
    ("burger fast food", ["Burger Queen"]),
    ("peak", ["Zugspitze"]), ("natural peak", ["Zugspitze"]), ("natural:peak", ["Zugspitze"]), ("natural", []),
    ("hotel", ["Restaurante Sol"]),
  ])
  func placesOfTheCategoryAreBehindNames(text: String, names: [String]) {
    #expect(PointSnapshot(Self.places).names(text) == names)
  }

  @Test func scoresOfTheCategoryAreBelowThoseOfNames() throws {
    let matches = PointSnapshot(Self.places).matches(of: TextQuery(text: "restaurant", includesMatchedNames: true))
      .matches

    #expect(matches.map(\.tier) == [.allWords, .prefix, .category, .category, .category])
    #expect(matches.allSatisfy { $0.tier == .category ? $0.score < 1 : $0.score > 2 })
    #expect(matches.map { $0.name != nil } == [true, true, false, false, true])
  }

  @Test func typosAreNotSearchedBesidesEnoughPlacesOfTheCategory() throws {
    let banks = try (0..<5 as Range<UInt64>).map { try TextPlaces.place($0, "Money \($0)", category: "bank") }
    let bane = try TextPlaces.place(9, "Bane")

    #expect(!PointSnapshot(ContiguousArray(banks + [bane])).names("bank").contains("Bane"))
    #expect(PointSnapshot(ContiguousArray(banks.dropLast() + [bane])).names("bank").first == "Bane")
  }

  @Test(arguments: [TextQuery.Order.relevance, .distance], [1, 2, 3, 20])
  func pagesHaveEveryPlaceOnce(order: TextQuery.Order, limit: Int) throws {
    let snapshot = PointSnapshot(Self.places)
    let center = try Coordinate(latitude: 0, longitude: 0)
    let query = TextQuery(text: "restaurant", bias: LocationBias(center: center), order: order, limit: limit)

    let found = snapshot.allMatches(of: query).map { $0.point.draft.coordinate.latitude }

    // Near a location, places of the category are as good as their names, and one of another category is behind them.
    #expect(found == (order == .distance ? [1, 2, 3, 4, 9] : [3, 1, 2, 9, 4]))
  }

  @Test func filtersApplyToPlacesOfTheCategory() throws {
    let box = try BoundingBox(west: -1, south: 2.5, east: 1, north: 5)
    let query = TextQuery(text: "restaurant", filters: PointQuery(box: box))

    #expect(
      PointSnapshot(Self.places).matches(of: query).matches.map(\.point.draft.name) == ["Restaurante Sol", "Mario"])
  }

  @Test func mapHasThePlacesOfTheCategory() throws {
    let query = FacetQuery(facets: [.category], text: ExactText("restaurant"))

    #expect(try PointSnapshot(Self.places).facets(matching: query).count == 5)
  }
}
