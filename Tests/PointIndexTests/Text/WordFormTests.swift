import Basics
import Geo
import Points
import SearchWords
import TestSupport
import Testing

@testable import PointIndex

/// Texts that have other words, or other forms of words, than the names of places.
@Suite struct WordFormTests {
  private static let accommodations = [
    "Hôtel de l'Europe", "Europe Bar", "Hotel Steg", "Hotel Ibis", "Chiesa dell'Annunziata", "Sant'Agostino",
    "D'Agostino",
    "Rue de l'Église", "Église Neuve", "L'Atelier",
  ]
  private static let brands = [
    "U.S. Bank", "M&T Bank", "Bus Stop US", "S.P.Q.R.", "Spar", "Co-op Food", "Coop", "T-Mobile", "tmobile shop", "H&M",
    "Starbucks", "Lu's Kitchen", "Au Ciel", "Lidl",
  ]
  private static let towns =
    ["Köln Hauptbahnhof"] + (0..<5).map { "Koeln Shop \($0)" } + ["Hørning", "Göteborg", "Blu", "Zürich-West"]

  @Test(arguments: [
    ("hotel europe", "Hôtel de l'Europe"), ("l europe", "Hôtel de l'Europe"), ("annunziata", "Chiesa dell'Annunziata"),
    ("atelier", "L'Atelier"), ("latelier", "L'Atelier"), ("eglise", "Église Neuve"),
  ])
  func partBehindAnElisionIsAWord(text: String, name: String) throws {
    #expect(try TextPlaces.snapshot(Self.accommodations).names(text).first == name)
  }

  @Test func elidedNamesOfAWordAreFoundTogether() throws {
    let snapshot = try TextPlaces.snapshot(Self.accommodations)

    #expect(Set(snapshot.names("agostino")) == ["Sant'Agostino", "D'Agostino"])
    #expect(Set(snapshot.names("eglise")) == ["Rue de l'Église", "Église Neuve"])
  }

  @Test(arguments: [
    ("us bank", "U.S. Bank"), ("spqr", "S.P.Q.R."), ("coop food", "Co-op Food"), ("tmobile", "T-Mobile"),
    ("h and m", "H&M"), ("hm", "H&M"), ("Star Bucks", "Starbucks"), ("lu s kitchen", "Lu's Kitchen"),
    ("lus kitchen", "Lu's Kitchen"), ("lu kitchen", "Lu's Kitchen"), ("lidl patras", "Lidl"),
  ])
  func joinedAndSeparatedWordsAreThoseOfNames(text: String, name: String) throws {
    #expect(try TextPlaces.snapshot(Self.brands).names(text).first == name)
  }

  @Test(arguments: [
    ("koeln hauptbahnhof", "Köln Hauptbahnhof"), ("hoerning", "Hørning"), ("goeteborg", "Göteborg"),
    ("zuerich west", "Zürich-West"), ("zurichwest", "Zürich-West"),
  ])
  func lettersWithDiacriticsAreWrittenAsTwo(text: String, name: String) throws {
    #expect(try TextPlaces.snapshot(Self.towns).names(text).first == name)
  }

  @Test(arguments: [
    ("vegan", "Vegan Garden"), ("panas", "Panas"), ("santa crla", "Santa Carla"), ("roabbah", "Robbah"),
    ("floriano", "Floriano"), ("saint pete", "St. Pete Beach"), ("lunch and more", "Lunch & More"),
    ("7-11", "7-Eleven"), ("7 eleven", "7-Eleven"), ("צהל", "צה״ל"), ("מכבי תא", "מכבי ת\"א"), ("ת״א", "מכבי ת\"א"),
  ])
  func wordsOfTheTextComeBeforeSimilarOnes(text: String, name: String) throws {
    let snapshot = try TextPlaces.snapshot([
      "Feel Vegas", "Vegan Garden", "Panazol", "Paris", "Panas", "Santa", "Santa Cruz", "Santa Carla", "Rabat",
      "Robbah", "Floriana", "Florianópolis", "Floriano", "Street Pete", "St. Pete Beach", "Lynch Restaurant", "Lunch",
      "More", "Lunch & More", "7 Elephants", "711 Club", "7-Eleven", "צה״ל", "מכבי ת\"א", "מכבי חיפה",
    ])

    #expect(snapshot.names(text).first == name)
  }

  @Test func rivalsOfAnotherSpellingHideNone() throws {
    #expect(try TextPlaces.snapshot(Self.towns).names("koeln").contains("Köln Hauptbahnhof"))
  }

  @Test(arguments: [
    ("the longhouse cafe", ["The Longhouse Cafe", "Longhouse Cafe"]), ("the longhouse", ["The Longhouse Cafe"]),
    ("cafe of the longhouse", ["The Longhouse Cafe", "Longhouse Cafe"]), ("the", ["The Cafe", "The Longhouse Cafe"]),
  ])
  func smallWordsMayBeMissing(text: String, names: [String]) throws {
    let found = try TextPlaces.snapshot(["The Cafe", "Longhouse Cafe", "The Longhouse Cafe"]).names(text)

    #expect(Array(found.prefix(names.count)) == names)
  }

  @Test func wordsThatSayLeastAreOmitted() throws {
    let snapshot = try TextPlaces.snapshot(
      ["Kappeli", "Botucatu Airport"] + (0..<9).map { "Ravintola \($0)" } + (0..<9).map { "Neves Airport \($0)" })

    #expect(snapshot.names("ravintola kappeli").first == "Kappeli")
    #expect(snapshot.names("kappeli ravintola").first == "Kappeli")
    #expect(snapshot.names("Botucatu - Tancredo de Almeida Neves Airport").first == "Botucatu Airport")
  }

  @Test func codeInCapitalsIsFoundBeforeNames() throws {
    let places = [
      try TextPlaces.place(1, "Bah", tags: [("population", "1000000")]),
      try TextPlaces.place(2, "Bahrain International Airport", category: "airport", tags: [("iata", "BAH")]),
    ]
    let snapshot = PointSnapshot(
      ContiguousArray(places), text: TextIndexConfiguration(nameTags: TextIndexConfiguration.defaultNameTags + ["iata"])
    )

    #expect(snapshot.names("BAH") == ["Bahrain International Airport", "Bah"])
    #expect(snapshot.names("bah") == ["Bah", "Bahrain International Airport"])
  }

  /// Several words have the same form: a place of each is on one page.
  @Test(arguments: ["star bucks", "the cafe one", "one cafe", "cafe starbucks"])
  func pagesHaveEachPlaceOnce(text: String) throws {
    let names = (0..<7).flatMap {
      ["Star Bucks \($0)", "Starbucks \($0)", "The Cafe One \($0)", "Cafe One \($0)", "Starbucks Star Bucks \($0)"]
    }
    let snapshot = try TextPlaces.snapshot(names)
    let whole = snapshot.allMatches(of: TextQuery(text: text, limit: 1_000)).map(\.point.id)

    let pages = snapshot.allMatches(of: TextQuery(text: text, limit: 2)).map(\.point.id)

    #expect(!whole.isEmpty)
    #expect(Set(pages).count == pages.count)
    #expect(pages == whole)
  }

  @Test(arguments: [("koeln", 0..<4), ("koeln hauptbahnhof", 0..<17), ("hauptbahnhof", 5..<17)])
  func matchedNameHasTheWordsOfOtherForms(text: String, range: Range<Int>) throws {
    let snapshot = try TextPlaces.snapshot(["Köln Hauptbahnhof"])

    let match = snapshot.matches(of: TextQuery(text: text, includesMatchedNames: true)).matches.first

    #expect(match?.name?.ranges.first?.lowerBound == range.lowerBound)
    #expect(match?.name?.ranges.last?.upperBound == range.upperBound)
  }

  @Test(arguments: [
    ("Hôtel de l'Europe", ["europe"]), ("Joe's", ["joe"]), ("U.S. Bank", ["us"]), ("S.P.Q.R.", ["spqr"]),
    ("H&M", ["hm"]), ("T-Mobile", ["tmobile"]), ("La Roche-sur-Yon", ["rochesur"]), ("Köln", ["koeln"]),
    ("O'Neill", ["neill"]), ("Rock 'n' Roll", []), ("A. Smith", []), ("מכבי ת\"א", ["תא"]), ("14\" Pizza", []),
    ("Plain Name", []), ("東京-駅", []),
  ])
  func variantsAreFormsOfWords(name: String, variants: [String]) {
    var (name, forms) = (name, NameVariants())
    let words = NormalizedText(name).words

    let found = name.withUTF8 { forms.variants(of: $0, words) }

    #expect(found.map { String(decoding: $0.bytes, as: UTF8.self) } == variants)
  }
}

/// Texts that name a category, near a location.
@Suite struct NearbyCategoryTests {
  private static func snapshot() throws -> PointSnapshot {
    var configuration = TextIndexConfiguration()
    configuration.categories = try CategoryTree([
      .init(
        name: "supermarket",
        names: [
          .init(language: "en", label: "Supermarket", synonyms: ["Food store"]), .init(language: "ja", label: "スーパー"),
        ]),
      .init(name: "bar", names: [.init(language: "en", label: "Bar")]),
    ])
    let places = [
      try TextPlaces.place(1, "Bar", at: (42, 19), category: "town", tags: [("population", "10000")]),
      try TextPlaces.place(2, "Blue Note", at: (48.001, 9), category: "bar"),
      try TextPlaces.place(3, "Bar Centrale", at: (48.03, 9), category: "bar"),
      try TextPlaces.place(4, "Aldi", at: (48.002, 9), category: "supermarket"),
    ]
    return PointSnapshot(ContiguousArray(places), text: configuration)
  }

  private static let center = try? Coordinate(latitude: 48, longitude: 9)

  @Test(arguments: ["supermarket", "super market", "Food-Store", "foodstore", "supermarkt", "spermarket"])
  func placesOfTheCategoryNearbyComeFirst(text: String) throws {
    #expect(try Self.snapshot().names(text, near: Self.center).first == "Aldi")
  }

  @Test func placesOfTheCategoryNearbyComeBeforeNamesElsewhere() throws {
    let snapshot = try Self.snapshot()

    #expect(snapshot.names("bar", near: Self.center).prefix(3) == ["Blue Note", "Bar Centrale", "Bar"])
    #expect(snapshot.names("bar").first == "Bar")
  }

  @Test func otherWordsBesideALabelRankByTheName() throws {
    var configuration = TextIndexConfiguration()
    configuration.categories = try CategoryTree([
      .init(name: "restaurant", names: [.init(language: "fi", label: "Ravintola")])
    ])
    let places = [
      try TextPlaces.place(1, "Kappeli", category: "restaurant"),
      try TextPlaces.place(2, "Kappelinranta Ravintolalaiva", category: "boat"),
      try TextPlaces.place(3, "Kappeli", category: "chapel"),
    ]
    let snapshot = PointSnapshot(ContiguousArray(places), text: configuration)

    let matches = snapshot.matches(of: TextQuery(text: "ravintola kappeli")).matches

    #expect(matches.first?.point.id == .sample(1))
    #expect(matches.first?.tier == .allWords)
  }
}
