import Geo
import Points
import TestSupport
import Testing

@testable import PointIndex

@Suite struct TextRankingTests {
  @Test func tiersRankBeforeEverythingElse() throws {
    let snapshot = try TextPlaces.snapshot([
      "Winchestershire Hall", "Winchester Hall Annex", "Hall Winchester", "Winchester Hall", "Winchster Hall",
    ])

    #expect(
      snapshot.names("winchester hall") == [
        "Winchester Hall", "Hall Winchester", "Winchester Hall Annex", "Winchestershire Hall", "Winchster Hall",
      ])
    #expect(
      snapshot.matches(of: TextQuery(text: "winchester hall")).matches.map(\.tier)
        == [.exact, .allWords, .allWords, .prefix, .typo])
  }

  @Test func higherCoverageRanksFirst() throws {
    let snapshot = try TextPlaces.snapshot(["Bar of the long and winding road", "The Bar", "Bar Two"])

    #expect(snapshot.names("bar") == ["The Bar", "Bar Two", "Bar of the long and winding road"])
  }

  @Test(
    arguments: [
      [("wikidata", "Q90")], [("population", "2100000")], [("wikipedia", "fr:Paris")],
    ] as [[(key: String, value: String)]])
  func importantPlaceRanksFirstAmongEqualNames(tags: [(key: String, value: String)]) throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Paris"), try TextPlaces.place(2, "Paris", tags: tags), try TextPlaces.place(3, "Paris"),
    ])

    #expect(snapshot.matches(of: TextQuery(text: "paris")).matches.first?.point.id == .sample(2))
  }

  @Test func biasReordersWithinATierAndHidesNothing() throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Cafe Central", at: (48.2, 16.3)),
      try TextPlaces.place(2, "Cafe Central", at: (52.5, 13.4)),
      try TextPlaces.place(3, "Cafe Centrale", at: (52.5, 13.4)),
    ])
    let berlin = try Coordinate(latitude: 52.5, longitude: 13.4)

    let matches = snapshot.matches(of: TextQuery(text: "cafe central", bias: LocationBias(center: berlin))).matches

    #expect(matches.map(\.point.id) == [.sample(2), .sample(1), .sample(3)])
    #expect(matches[0].distanceMetres == 0)
    #expect(matches[1].tier == .exact)
  }

  @Test func nearestOfManyRanksFirst() throws {
    let places = ContiguousArray(
      try (0..<9_000 as Range<UInt64>).map { number in
        try TextPlaces.place(number, "Cafe", at: (Double(number % 170) - 85, Double(number * 7 % 350) - 175))
      })
    let center = try Coordinate(latitude: 20.1, longitude: 30.2)

    let matches = PointSnapshot(places).matches(
      of: TextQuery(text: "cafe", bias: LocationBias(center: center), limit: 10)
    ).matches

    let nearest = places.map { Geodesic.distanceMetres(from: center, to: $0.draft.coordinate) }.sorted().prefix(10)
    #expect(zip(matches, nearest).allSatisfy { abs(($0.distanceMetres ?? 0) - $1) < 50_000 })
    #expect(matches.count == 10)
    #expect(abs((matches.first?.distanceMetres ?? 0) - nearest[0]) < 1)
  }

  @Test func contextAloneIsNoMatch() throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Pergamon", category: "museum", tags: [("addr:city", "Berlin")]),
      try TextPlaces.place(2, "Museum Island", tags: [("addr:city", "Berlin")]),
    ])

    #expect(Set(snapshot.names("museum berlin")) == ["Museum Island"])
    #expect(snapshot.names("pergamon museum berlin") == ["Pergamon"])
    #expect(snapshot.names("berlin").isEmpty)
  }

  @Test func alternativeNamesMatchAndAreReported() throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(
        1, "北京市", tags: [("name:en", "Beijing"), ("old_name", "Peking"), ("description", "capital")])
    ])

    for text in ["beijing", "peking", "北京", "Pekin"] {
      let query = TextQuery(text: text, includesMatchedNames: true)
      let match = try #require(snapshot.matches(of: query).matches.first)
      #expect(match.name?.text == ["beijing": "Beijing", "peking": "Peking", "Pekin": "Peking"][text] ?? "北京市")
    }
    #expect(snapshot.names("capital").isEmpty)
  }

  @Test(arguments: ["Bec;Wien;Vindobona", "Bec,Wien,Vindobona", "Bec; Wien ;Vindobona"])
  func nameOfAListIsAWholeName(list: String) throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Wien am Rhein"), try TextPlaces.place(2, "Vienna", tags: [("alt_name", list)]),
    ])
    let query = TextQuery(text: "wien", includesMatchedNames: true)

    let matches = snapshot.matches(of: query).matches

    #expect(matches.map(\.tier) == [.exact, .allWords])
    #expect(matches.first?.name == TextMatch.Name(key: "alt_name", text: "Wien", ranges: [0..<4]))
  }

  @Test(arguments: ["Washington, D.C.", "Isle of 1,000 Palms"])
  func commaOfANameSeparatesNoNames(name: String) throws {
    let snapshot = PointSnapshot([try TextPlaces.place(1, "Place", tags: [("alt_name", name)])])
    let query = TextQuery(text: name, includesMatchedNames: true)

    let match = snapshot.matches(of: query).matches.first

    #expect(match?.tier == .exact)
    #expect(match?.name?.text == name)
  }

  @Test func nameOfAListWeighsLessThanTheNameItself() throws {
    let large = [(key: "population", value: "2000000")]
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Firenze"), try TextPlaces.place(2, "Florence", tags: [("alt_name", "Firenze;Florenz")]),
      try TextPlaces.place(3, "Roma"), try TextPlaces.place(4, "Rome", tags: [("alt_name", "Rom;Roma")] + large),
    ])

    #expect(snapshot.names("firenze") == ["Firenze", "Florence"])
    #expect(snapshot.names("roma") == ["Rome", "Roma"])
  }

  @Test func codeAmongManyNamesRanksBehindThePlaceOfTheCode() throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(
        1, "Vienna", category: "city",
        tags: [("alt_name", "Bec,Becs,VIE,Viden,Wien,Vienne"), ("population", "2000000"), ("wikidata", "Q1741")]),
      try TextPlaces.place(2, "Flughafen Schwechat", category: "airport", tags: [("alt_name", "VIE;LOWW")]),
      try TextPlaces.place(3, "Vie", category: "village"),
    ])

    #expect(snapshot.names("VIE") == ["Flughafen Schwechat", "Vie", "Vienna"])
    #expect(snapshot.names("vie") == ["Flughafen Schwechat", "Vie", "Vienna"])
    #expect(snapshot.names("vienne") == ["Vienna"])
  }

  @Test(arguments: [("SFC,Saint-Francois", TextMatch.Tier.allWords), ("SFC,TFFC", .exact), ("Caribe;SFC", .exact)])
  func codeBesideNamesWithCommasIsThatOfAnotherPlace(list: String, expected: TextMatch.Tier) throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Saint-François", category: "city", tags: [("alt_name", list), ("population", "12732")]),
      try TextPlaces.place(2, "Grand Terre Airport", category: "airport", tags: [("alt_name", "SFC;TFFC")]),
    ])

    let matches = snapshot.matches(of: TextQuery(text: "sfc")).matches

    #expect(matches.first { $0.point.id == .sample(1) }?.tier == expected)
    #expect(matches.first { $0.point.id == .sample(2) }?.tier == .exact)
  }

  @Test func wordsOfDifferentNamesAreNoMatch() throws {
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "York", tags: [("alt_name", "New Yorkshire;New Town"), ("addr:state", "Nebraska")]),
      try TextPlaces.place(2, "New York City", category: "city"),
    ])

    #expect(snapshot.names("new york") == ["New York City", "York"])
    #expect(snapshot.matches(of: TextQuery(text: "york town")).matches.allSatisfy { $0.tier == .typo })
    #expect(snapshot.names("york nebraska") == ["York"])
    #expect(snapshot.names("new nebraska town") == ["York"])
    #expect(snapshot.names("new york city") == ["New York City"])
  }

  @Test(arguments: [("ber", "Berlin"), ("berl", "Berlin"), ("mün", "München"), ("bern", "Bern")])
  func largePlaceIsFirstWhileItsFirstLettersAreTyped(text: String, expected: String) throws {
    let large = [(key: "population", value: "3600000"), (key: "wikidata", value: "Q64")]
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Ber"), try TextPlaces.place(2, "Bern", tags: [("population", "130000")]),
      try TextPlaces.place(3, "Berlin", tags: large), try TextPlaces.place(4, "Alt Berl"),
      try TextPlaces.place(5, "Mün"), try TextPlaces.place(6, "München", tags: large),
      try TextPlaces.place(7, "Roma", tags: [("alt_name", "Bernese;Muni")] + large),
    ])

    #expect(snapshot.names(text, completes: true).first == expected)
    #expect(snapshot.names("ber").first == "Ber")
  }

  @Test func nearPlaceIsFirstWhileItsFirstLettersAreTyped() throws {
    let vienna = try Coordinate(latitude: 48.2, longitude: 16.37)
    let snapshot = PointSnapshot([
      try TextPlaces.place(1, "Berlin", at: (52.5, 13.4), tags: [("population", "3600000"), ("wikidata", "Q64")]),
      try TextPlaces.place(2, "Bergmannstüberl", at: (48.21, 16.38)), try TextPlaces.place(3, "Ber", at: (10, 10)),
    ])

    #expect(snapshot.names("ber", completes: true, near: vienna) == ["Bergmannstüberl", "Berlin", "Ber"])
    #expect(snapshot.names("berlin", completes: true, near: vienna).first == "Berlin")
  }

  @Test(arguments: [
    ("münchen deutschland", ["München", "Grafing bei München"]),
    ("deutschland münchen", ["München", "Grafing bei München"]),
    ("skrydstrup air base", ["Skrydstrup Airport"]), ("grafing vereinigte staaten", ["Grafing bei München"]),
    ("münchne deutschland", ["München", "Grafing bei München"]), ("deutschland republik", []),
  ])
  func wordThatNoPlaceHasIsOmitted(text: String, expected: [String]) throws {
    let snapshot = try TextPlaces.snapshot([
      "München", "Grafing bei München", "Skrydstrup Airport", "Vienna Airport", "Old Base",
    ])

    let matches = snapshot.matches(of: TextQuery(text: text, includesMatchedNames: true)).matches

    #expect(matches.map(\.point.draft.name) == expected)
    #expect(matches.allSatisfy { $0.tier == .typo && $0.name != nil })
  }

  @Test(arguments: [
    ("gap francia", ["Gap", "Gap Tallard"]), ("gap vaduz", ["Gap", "Gap Tallard"]),
    ("fort e france", ["Fort-de-France"]),
    ("chena air base", ["Chena", "Chena Airport"]), ("gap francis", ["Francia"]),
    ("luebo república democrática del congo", ["Luebo"]),
  ])
  func wordIsOmittedRatherThanMisspeltWhereAllAreWordsOfPlaces(text: String, expected: [String]) throws {
    let snapshot = try TextPlaces.snapshot([
      "Gap", "Gap Tallard", "Francia", "Franca Velha", "Vaduz", "Vadu Franca", "Fort-de-France", "Fort Erie", "Camp E",
      "Chena", "Chena Airport", "Old Air Base", "Luebo", "República Democrática del Congo",
    ])

    #expect(snapshot.names(text) == expected)
  }

  @Test func wordIsNotOmittedWhereAPlaceHasAll() throws {
    let snapshot = try TextPlaces.snapshot(["München", "Deutschland in München"])

    #expect(snapshot.names("münchen deutschland") == ["Deutschland in München"])
  }

  @Test(arguments: [1, 2, 3, 20])
  func pagesWithoutAWordHaveEveryMatchOnce(limit: Int) throws {
    let snapshot = try TextPlaces.snapshot((0..<7).map { "Winchester \($0)" })

    let matches = snapshot.allMatches(of: TextQuery(text: "winchester zzqqk", limit: limit))

    #expect(Set(matches.map(\.point.id)).count == 7)
    #expect(matches.count == 7)
  }

  @Test func nameOfTwoListsHasTheBetterKind() throws {
    let tags = [(key: "alt_name", value: "A Town;Bath;C Town"), (key: "name:en", value: "Bath")]
    let places: ContiguousArray = [
      try TextPlaces.place(1, "Aquae", tags: tags), try TextPlaces.place(2, "Thermae", tags: [tags[1]]),
    ]

    let scores = PointSnapshot(places).matches(of: TextQuery(text: "bath")).matches.map(\.score)

    #expect(scores.count == 2)
    #expect(scores.first == scores.last)
  }

  @Test(arguments: [
    ("東京都庁", "東京", [0..<2]), ("東京都庁", "京都", [1..<3]), ("Manchester Winchester", "winchester", [11..<21]),
    ("Manchester Winchester", "winchestr", [11..<21]),
  ])
  func onlyThePartsThatMatchAreReported(name: String, text: String, expected: [Range<Int>]) throws {
    let snapshot = try TextPlaces.snapshot([name])

    let match = snapshot.matches(of: TextQuery(text: text, includesMatchedNames: true)).matches.first

    #expect(match?.name?.ranges == expected)
  }

  @Test func nameOfTooManyWordsIsFoundByItsFirstWords() throws {
    let tags = ["alt_name", "loc_name", "old_name", "short_name"].enumerated().map { index, key in
      (key: key, value: (300 * index..<300 * (index + 1)).map { "w\($0)" }.joined(separator: " ") + " \(key)")
    }
    let place = try TextPlaces.place(0, "Name", tags: tags)
    let snapshot = PointSnapshot([place])

    #expect(snapshot.names("w0 w900 loc_name") == ["Name"])
    #expect(snapshot.names("short").isEmpty)
  }

  @Test(arguments: [
    ("winch", [0..<5]), ("House mystery", [11..<18, 19..<24]), ("mistery", [11..<18]), ("wínchester", [0..<10]),
  ])
  func matchedPartsAreReported(text: String, expected: [Range<Int>]) throws {
    let snapshot = try TextPlaces.snapshot(["Winchester Mystery House"])

    let match = snapshot.matches(of: TextQuery(text: text, includesMatchedNames: true)).matches.first

    #expect(match?.name == TextMatch.Name(key: "name", text: "Winchester Mystery House", ranges: expected))
  }

  @Test func distanceOrderSortsByTheGeodesic() throws {
    let places = ContiguousArray(
      try (0..<3_000 as Range<UInt64>).map { number in
        try TextPlaces.place(
          number, number % 3 == 0 ? "Cafe" : "Cafe \(number)", at: (Double(number % 90), Double(number * 13 % 170)))
      })
    let center = try Coordinate(latitude: 45, longitude: 80)
    let query = TextQuery(text: "cafe", bias: LocationBias(center: center), order: .distance, limit: 37)

    let found = PointSnapshot(places).allMatches(of: query)

    let expected = places.sorted {
      let left = (Geodesic.distanceMetres(from: center, to: $0.draft.coordinate), $0.id)
      return left < (Geodesic.distanceMetres(from: center, to: $1.draft.coordinate), $1.id)
    }
    #expect(found.map(\.point.id) == expected.map(\.id))
  }

  @Test(arguments: [TextQuery.Order.relevance, .distance])
  func pagesHaveEveryMatchOnce(order: TextQuery.Order) throws {
    let places = try TextPlaces.synthetic(6_000, seed: 11)
    let snapshot = PointSnapshot(ContiguousArray(places.prefix(5_000)))
      .applying(PointChanges(puts: ContiguousArray(places.suffix(1_000))))
    let bias = LocationBias(center: places[0].draft.coordinate)
    for text in ["h", "hotel", "東", "ap", "wincheste", "apteka", "hotel s"] {
      let pages = snapshot.allMatches(of: TextQuery(text: text, bias: bias, order: order, limit: 9))
      let whole = snapshot.allMatches(of: TextQuery(text: text, bias: bias, order: order, limit: 1_000))
      #expect(pages == whole, "\(text)")
      #expect(Set(pages.map(\.point.id)).count == pages.count)
    }
  }
}
