import Basics
import Foundation
import Points
import SearchWords
import Testing

@testable import PointFormats

/// The built-in tree of categories.
@Suite struct BuiltInCategoryTests {
  private static let languages: Set<String> = [
    "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "zh",
  ]

  /// The languages in which the frequent categories have labels too.
  private static let otherLanguages: Set<String> = ["fi", "sv"]

  @Test func everyCategoryHasALabelInEveryLanguage() {
    let categories = CategoryTree.builtIn.categories

    #expect(categories.count >= 300)
    #expect((15...20).contains(categories.count { $0.parent == nil }))
    for category in categories {
      let languages = Set(category.names.map(\.language))
      #expect(languages.subtracting(Self.otherLanguages) == Self.languages, "\(category.name)")
    }
  }

  @Test(
    arguments: zip(
      ["ravintola", "busshållplats", "raitiovaunupysäkki"], ["restaurant", "highway:bus_stop", "tram_stop"]))
  func frequentCategoriesHaveLabelsInFurtherLanguages(text: String, category: String) {
    #expect(CategoryTree.builtIn.readings(of: text).first?.categories.contains(ExactText(category)) == true)
  }

  @Test(arguments: [
    ("Apotheke", "pharmacy"), ("drugstore", "pharmacy"), ("薬局", "pharmacy"), ("약국", "pharmacy"),
    ("аптека", "pharmacy"), ("药店", "pharmacy"), ("kawiarnia", "cafe"), ("gasolinera", "fuel"),
    ("boulangerie", "bakery"), ("ristorante", "restaurant"), ("huisarts", "doctors"), ("farmácia", "pharmacy"),
    ("主治医", nil),
  ])
  func textsOfAllLanguagesNameCategories(text: String, category: ExactText?) {
    let categories = CategoryTree.builtIn.readings(of: text).first?.categories

    #expect(categories.map { found in category.map(found.contains) ?? false } ?? (category == nil))
  }

  private static let extract = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "shared/data/osm-places.geojson").path

  @Test(.enabled(if: FileManager.default.fileExists(atPath: extract), "the extract is not beside the project"))
  func treeHasTheCategoriesOfNearlyAllPlacesOfAnExtract() async throws {
    let files = PointFiles([try PointFiles.File(path: Self.extract)], onRejection: { _ in })
    var (count, others): (Int, [ExactText: Int]) = (0, [:])
    for try await rows in files {
      for category in rows.compactMap(\.draft.category) {
        count += 1
        if CategoryTree.builtIn.number(ofNameInData: ExactText(category)) == nil {
          others[ExactText(category), default: 0] += 1
        }
      }
    }

    #expect(count > 2000)
    #expect(others.values.reduce(0, +) * 100 <= 2 * count, "\(others)")
  }
}

@Suite struct CategoryFileTests {
  @Test func fileReplacesTheBuiltInTree() throws {
    let tree = try CategoryTree.make(
      yaml: """
        categories:
          food:
            also: [eat]
            names: {en: [Food, Eating], de: Essen}
          cafe: {parent: food, names: {en: Café}}
        """)

    #expect(tree.categories.map(\.name) == ["food", "cafe"])
    #expect(tree.namesInData(of: "food") == ["food", "eat", "cafe"])
    #expect(tree.readings(of: "essen").count == 1)
  }

  @Test func fileExtendsTheBuiltInTree() throws {
    let tree = try CategoryTree.make(
      yaml: """
        extends: built-in
        categories:
          cafe:
            also: [juice_bar]
            names: {en: [Coffee bar], sv: [Kafé, Fik]}
          bobsled_run: {parent: sport_and_leisure, names: {en: Bobsled run}}
        """)

    let cafe = try #require(tree.number(of: "cafe"))
    #expect(tree.label(of: cafe).label == "Coffee bar")
    #expect(tree.label(of: cafe, in: LanguagePriorityList(["sv"])).label == "Kafé")
    #expect(tree.label(of: cafe, in: LanguagePriorityList(["de"])).label == "Café")
    #expect(tree.namesInData(of: "cafe").contains("juice_bar"))
    #expect(tree.namesInData(of: "cafe").contains("coffee_shop"))
    #expect(tree.namesInData(of: "sport_and_leisure").contains("bobsled_run"))
    #expect(tree.categories.count == CategoryTree.builtIn.categories.count + 1)
  }

  @Test(arguments: [
    (
      "categories:\n  a: {names: {en: A}, parent: b}",
      "line 2: category 'a' has the parent 'b', which is not a category"
    ),
    (
      "categories:\n  a: {parent: b, names: {en: A}}\n  b: {parent: a, names: {en: B}}",
      "line 2: category 'a' has itself above it, or a category that has"
    ),
    (
      "categories:\n  a: {names: {en: [A, Shop]}}\n  b:\n    names: {en: Shop}",
      "line 3: category 'b' has 'Shop' in en, which is also a label or synonym of 'a'"
    ),
    (
      "extends: built-in\ncategories:\n  tuck_shop: {names: {en: Supermarket}}",
      "line 3: category 'tuck_shop' has 'Supermarket' in en, which is also a label or synonym of 'supermarket'"
    ),
    (
      "extends: built-in\ncategories:\n  cafe: {parent: none}",
      "line 3: category 'cafe' has the parent 'none', which is not a category"
    ),
    ("categories:\n  a: {}", "line 2: category 'a' has no label in any language"),
    ("categories:\n  a: {names: {en: []}}", "line 2: category 'a' has no label in 'en'"),
    ("categories:\n  a: {names: {e1: A}}", "line 2: category 'a' has names in 'e1', which is not a language tag"),
    ("categories:\n  a: {label: A}", "line 2: category 'a' has no member 'label'; it has parent, also and names"),
    ("categories:\n  a: A", "line 2: category 'a' must have members"),
    ("extends: other\ncategories: {}", "line 1: 'extends' must be built-in"),
    ("groups: {}", "line 1: 'groups' is unknown; the file has extends and categories"),
    ("extends: built-in", "line 1: the file must have categories"),
    ("", "the file of categories is empty"), ("- a", "line 1: the file of categories must have members"),
  ])
  func invalidFileIsRejectedWithTheLineAndTheCategory(text: String, message: String) throws {
    let error = try #require(throws: YAMLFileError.self) { try CategoryTree.make(yaml: text) }

    #expect("\(error)" == message)
  }

  @Test(arguments: ["{", "categories: {a: {}, a: {}}", "categories: &a [*a]"])
  func textThatIsNoYAMLIsRejected(text: String) {
    #expect(throws: YAMLFileError.self) { try CategoryTree.make(yaml: text) }
  }

  @Test func treeWithoutCategoriesIsEmpty() throws {
    #expect(try CategoryTree.make(yaml: "categories: {}").isEmpty)
  }
}
