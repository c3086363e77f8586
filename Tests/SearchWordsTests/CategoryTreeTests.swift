import Basics
import SearchWords
import Testing

@Suite struct CategoryTreeTests {
  private static func declaration(
    _ name: ExactText, in parent: ExactText? = nil, also others: [ExactText] = [], _ names: [String: [String]]
  ) -> CategoryTree.Declaration {
    .init(
      name: name, parent: parent, otherNames: others,
      names: names.sorted { $0.key < $1.key }.map { language, names in
        .init(language: language, label: names[0], synonyms: names.dropFirst().map { ExactText($0) })
      })
  }

  /// The categories below come before the group, and not together.
  private static let declarations = [
    declaration("bar", in: "food", also: ["lounge"], ["de": ["Bar"], "en": ["Bar", "Cocktail bar"]]),
    declaration("pharmacy", in: "health", ["de": ["Apotheke"], "en": ["Pharmacy", "Drugstore"], "ja": ["薬局"]]),
    declaration("food", also: ["eat:*"], ["de": ["Essen und Trinken", "Essen"], "en": ["Food and drink"]]),
    declaration("health", ["de": ["Gesundheit"]]),
    declaration("sushi", in: "restaurant", ["en": ["Sushi"], "fr": ["Sushi"]]),
    declaration("restaurant", in: "food", ["de": ["Restaurant"], "en": ["Restaurant"], "pt-br": ["Restaurante"]]),
  ]

  private let tree: CategoryTree

  init() throws { tree = try CategoryTree(Self.declarations) }

  @Test(
    arguments: [
      ("food", ["food", "eat:*", "bar", "lounge", "restaurant", "sushi"]), ("restaurant", ["restaurant", "sushi"]),
      ("sushi", ["sushi"]), ("bar", ["bar", "lounge"]), ("lounge", ["lounge"]), ("unknown", ["unknown"]),
    ] as [(ExactText, [ExactText])])
  func namesInDataAreThoseOfTheCategoryAndBelow(name: ExactText, expected: [ExactText]) {
    #expect(tree.namesInData(of: name) == expected)
  }

  @Test func countsAreAddedToThoseOfEveryCategoryAbove() throws {
    func number(_ name: ExactText) throws -> Int { try #require(tree.number(of: name)) }
    var counts = Array(repeating: 0, count: tree.categories.count)
    counts[try number("sushi")] = 5
    counts[try number("bar")] = 4

    let totals = tree.totals(of: counts)

    #expect(try totals[number("food")] == 9)
    #expect(try totals[number("restaurant")] == 5)
    #expect(try totals[number("bar")] == 4)
    #expect(try totals[number("health")] == 0)
    let food = try number("food")
    #expect(tree.roots(mostFrequentBy: totals) == [food])
    #expect(
      tree.children(of: food, mostFrequentBy: totals).map { tree.categories[$0].name } == ["restaurant", "bar"])
  }

  @Test(
    arguments: [
      (["de"], "food", "Essen und Trinken", "de"), (["de-AT", "en"], "food", "Essen und Trinken", "de"),
      (["ko", "de"], "food", "Essen und Trinken", "de"), (["ko"], "food", "Food and drink", "en"),
      (["pt-BR"], "restaurant", "Restaurante", "pt-br"), (["pt"], "restaurant", "Restaurant", "en"),
      (["ko"], "health", "Gesundheit", "de"),
    ] as [([Substring], ExactText, String, String)])
  func labelIsInThePreferredLanguage(
    languages: [Substring], name: ExactText, label: String, language: String
  ) throws {
    let found = tree.label(of: try #require(tree.number(of: name)), in: LanguagePriorityList(languages))

    #expect(found == (label, language))
  }

  @Test(
    arguments: [
      ("Apotheke", ["pharmacy"], ""), ("DRUGSTORE", ["pharmacy"], ""), ("薬局", ["pharmacy"], ""),
      ("berlin apotheke", ["pharmacy"], "berlin "), ("Apotheke, Berlin", ["pharmacy"], ", Berlin"),
      ("東京薬局", ["pharmacy"], "東京"), ("essen", ["food", "eat:*", "bar", "lounge", "restaurant", "sushi"], ""),
      ("Apotheken", ["pharmacy"], ""), ("pharmacies berlin", ["pharmacy"], " berlin"),
      ("cocktail bars", ["bar", "lounge"], ""), ("restaurantes", ["restaurant", "sushi"], ""),
      ("cocktail bar", ["bar", "lounge"], ""), ("old cocktail bar", ["bar", "lounge"], "old "),
    ] as [(String, [ExactText], String)])
  func textsBeginOrEndWithLabelsAndSynonyms(text: String, categories: [ExactText], rest: String) {
    let readings = tree.readings(of: text)

    #expect(readings.count == 1)
    #expect(readings.first?.categories == Set(categories))
    #expect(readings.first?.rest == rest)
  }

  @Test(
    arguments: [
      ("cocktailbar", ["bar", "lounge"], ""), ("cocktail-bar", ["bar", "lounge"], ""), ("drug store", ["pharmacy"], ""),
      ("berlin drug store", ["pharmacy"], "berlin "), ("drug store in berlin", ["pharmacy"], " in berlin"),
      ("food anddrink", ["food", "eat:*", "bar", "lounge", "restaurant", "sushi"], ""),
    ] as [(String, [ExactText], String)])
  func spacesOfLabelsDoNotMatter(text: String, categories: [ExactText], rest: String) {
    let reading = tree.readings(of: text).first { $0.categories == Set(categories) }

    #expect(reading?.rest == rest)
  }

  @Test(
    arguments: [
      ("apotheek", ["pharmacy"]), ("phramacy", ["pharmacy"]), ("drug stroe", ["pharmacy"]),
      ("restaurnt", ["restaurant", "sushi"]),
      ("pharmacy", []), ("phramcy", []), ("susi", []), ("", []),
    ] as [(String, [ExactText])])
  func labelsWithOneEditNameCategories(text: String, categories: [ExactText]) {
    #expect(tree.categories(nearlyNamed: NormalizedText(text)) == Set(categories))
  }

  @Test(arguments: ["", "-", "berlin", "apothekens", "the apotheke in berlin", "cocktail", "und"])
  func otherTextsNameNoCategory(text: String) {
    #expect(tree.readings(of: text).isEmpty)
  }

  @Test func bothEndsOfATextMayNameCategories() {
    #expect(tree.readings(of: "sushi bar").map(\.rest) == ["sushi ", " bar"])
    #expect(CategoryTree.empty.readings(of: "sushi").isEmpty)
  }

  @Test func completionsAreThoseOfAllLanguages() throws {
    let pharmacy = try #require(tree.number(of: "pharmacy"))

    #expect(tree.completions(of: "apo", in: nil) == [pharmacy: false])
    #expect(tree.completions(of: "apo", in: LanguagePriorityList(["de-AT"])) == [pharmacy: true])
    #expect(tree.completions(of: "drug", in: nil) == [pharmacy: true])
    #expect(tree.completions(of: "薬", in: nil) == [pharmacy: false])
    #expect(tree.completions(of: "bar cock", in: nil).count == 1)
    #expect(tree.completions(of: "apo drug", in: nil).isEmpty)
  }

  @Test(arguments: [
    ([declaration("a", in: "b", ["en": ["A"]])], 0, "has the parent 'b', which is not a category"),
    ([declaration("a", in: "a", ["en": ["A"]])], 0, "has itself above it, or a category that has"),
    (
      [
        declaration("x", ["en": ["X"]]), declaration("a", in: "b", ["en": ["A"]]),
        declaration("b", in: "a", ["en": ["B"]]),
      ], 1, "has itself above it, or a category that has"
    ),
    (
      [declaration("a", ["en": ["Shop"]]), declaration("b", ["en": ["B", "shop"]])], 1,
      "has 'shop' in en, which is also a label or synonym of 'a'"
    ),
    (
      [declaration("a", also: ["c"], ["en": ["A"]]), declaration("b", also: ["c"], ["en": ["B"]])], 1,
      "has the name 'c', which is also one of 'a'"
    ),
    ([declaration("!a", ["en": ["A"]])], 0, "has the name '!a', which must not begin with '!'"),
    ([declaration("a,b", ["en": ["A"]])], 0, "has the name 'a,b', which must not contain a comma"),
    ([declaration("", ["en": ["A"]])], 0, "has the name '', which must not be empty"),
    ([declaration("a", [:])], 0, "has no label in any language"),
    (
      [declaration("a", ["en": ["-"]])], 0,
      "has '-' in en, which must have a letter or a digit and at most 500 characters"
    ),
  ])
  func invalidDeclarationsAreRejected(declarations: [CategoryTree.Declaration], index: Int, reason: String) throws {
    let error = try #require(throws: CategoryTree.InvalidDeclaration.self) { try CategoryTree(declarations) }

    #expect(error.index == index)
    #expect(error.reason == reason)
  }

  @Test func oneTermMayNameCategoriesInDifferentLanguages() throws {
    let tree = try CategoryTree([
      Self.declaration("a", ["de": ["Gift"]]), Self.declaration("b", ["en": ["Gift"], "nl": ["Cadeau", "Cadeau"]]),
    ])

    #expect(tree.readings(of: "gift").map(\.categories) == [["a", "b"]])
  }

  @Test func whatAnotherCategoryIsCalledIsNoPlural() throws {
    let tree = try CategoryTree([
      Self.declaration("a", ["en": ["Good"]]), Self.declaration("b", ["en": ["Goods"]]),
    ])

    #expect(tree.readings(of: "goods").map(\.categories) == [["b"]])
  }
}
