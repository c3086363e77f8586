import Basics
import Foundation
import Geo
import MemoryStore
import NIOHTTP1
import Points
import SearchWords
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

/// Calls with a tree of categories.
@Suite struct CategoryTests {
  private static let tree: CategoryTree = {
    func category(
      _ name: ExactText, in parent: ExactText? = nil, also others: [ExactText] = [], _ names: [(String, [String])]
    ) -> CategoryTree.Declaration {
      .init(
        name: name, parent: parent, otherNames: others,
        names: names.map { language, names in
          .init(language: language, label: names[0], synonyms: names.dropFirst().map { ExactText($0) })
        })
    }
    do {
      return try CategoryTree([
        category("food", [("en", ["Food and drink"]), ("de", ["Essen und Trinken"])]),
        category("cafe", in: "food", also: ["coffee_shop"], [("en", ["Café"]), ("de", ["Café", "Kaffeehaus"])]),
        category("bar", in: "food", [("en", ["Bar"]), ("de", ["Bar"])]),
        category("health", [("en", ["Health"]), ("de", ["Gesundheit"])]),
        category(
          "pharmacy", in: "health", [("en", ["Pharmacy", "Drugstore"]), ("de", ["Apotheke"]), ("ja", ["薬局"])]),
      ])
    } catch {
      fatalError("\(error)")
    }
  }()

  private func driver() async throws -> ServiceDriver {
    let places: [PointDraft] = try [
      .at(0, 0, name: "Central", category: "cafe"), .at(0, 1, name: "Mel's", category: "coffee_shop"),
      .at(0, 2, name: "Dive", category: "bar"),
      .at(0, 3, name: "Adler", category: "pharmacy", tags: ["addr:city": "Wien"]),
      .at(0, 4, name: "Apotheke am Ring", category: "shop"), .at(0, 5, name: "Nowhere"),
      .at(0, 6, name: "Rest", category: "restroom"), .at(0, 7, name: "Walgreens", category: "pharmacy"),
    ]
    var text = TextIndexConfiguration()
    text.categories = Self.tree
    let store = MemoryStore(text: text)
    let rows = places.enumerated().map { ImportRow(number: $0.offset + 1, id: nil, draft: $0.element) }
    _ = try await store.load(AsyncStream([rows]))
    var filtering = Filtering(timeLimit: .seconds(600))
    filtering.categories = Self.tree
    return ServiceDriver(store: store, filtering: filtering)
  }

  @Test(arguments: [
    ("food", ["Central", "Mel's", "Dive"]), ("cafe", ["Central", "Mel's"]), ("coffee_shop", ["Mel's"]),
    ("food,!bar", ["Central", "Mel's"]), ("food&category=!cafe", ["Dive"]), ("food,!food", []),
    ("!food,!health", ["Apotheke am Ring", "Nowhere", "Rest"]), ("restroom,pharmacy", ["Adler", "Rest", "Walgreens"]),
    ("food%2C!bar", ["Central", "Mel's"]), ("unknown", []), ("food,!unknown", ["Central", "Mel's", "Dive"]),
    ("!unknown,!!", ["Central", "Mel's", "Dive", "Adler", "Apotheke am Ring", "Nowhere", "Rest", "Walgreens"]),
  ])
  func groupsAndExclusionsSelectPlaces(category: String, names: [String]) async throws {
    let driver = try await driver()

    for call in ["/locations?lat=0&long=0", "/locations?bbox=-1,-1,20,1", "/locations/export?f=csv"] {
      let separator = call.contains("?") ? "&" : "?"
      let response = try await driver.send(.GET, "\(call)\(separator)category=\(category)")
      #expect(response.status == 200)
      if call.contains("csv") {
        let lines = response.text.split(whereSeparator: \.isNewline).dropFirst()
        #expect(lines.count == names.count, "\(call)")
      } else {
        #expect(Set(try response.names) == Set(names), "\(call)")
      }
    }
    let count = try await driver.send(.GET, "/locations/facets?by=category&category=\(category)")
    #expect(try count.object["count"] as? Int == names.count)
    let nearest = try await driver.send(.GET, "/locations/reverse?lat=0&long=0&category=\(category)")
    #expect(nearest.status == (names.isEmpty ? 404 : 200))
  }

  @Test func bodyOfASearchTakesGroupsAndExclusions() async throws {
    let response = try await driver().send(
      .POST, "/locations/search", json: #"{"category": ["food", "!bar"], "lat": 0, "long": 0}"#)

    #expect(try response.names == ["Central", "Mel's"])
  }

  @Test func pagesOfExcludedCategoriesHaveEachPlaceOnce() async throws {
    let driver = try await driver()

    let first = try await driver.send(.GET, "/locations?lat=0&long=0&category=!food&limit=3")
    let second = try await driver.send(.GET, try #require(first.next))

    #expect(try first.names + second.names == ["Adler", "Apotheke am Ring", "Nowhere", "Rest", "Walgreens"])
  }

  @Test(arguments: ["!", "a,!", "%21"])
  func exclusionOfNothingIsInvalid(category: String) async throws {
    let response = try await driver().send(.GET, "/locations?category=\(category)")

    #expect(response.status == 400)
    #expect(try response.parameters == ["category"])
  }

  @Test func treeHasLabelsCountsAndUnknownCategories() async throws {
    let response = try await driver().send(.GET, "/categories?tree=true&lang=de")

    #expect(
      response.text == """
        [{"category":"food","label":"Essen und Trinken","count":3,"children":\
        [{"category":"cafe","label":"Café","count":2},{"category":"bar","label":"Bar","count":1}]},\
        {"category":"health","label":"Gesundheit","count":2,"children":\
        [{"category":"pharmacy","label":"Apotheke","count":2}]},\
        {"category":"restroom","count":1},{"category":"shop","count":1}]
        """)
  }

  @Test func treeOfABoxHasItsPlaces() async throws {
    let response = try await driver().send(.GET, "/categories?tree=true&bbox=-1,-1,0.5,1")

    #expect(
      response.text
        == #"[{"category":"food","label":"Food and drink","count":1,"children":[{"category":"cafe","label":"Café","count":1}]}]"#
    )
  }

  @Test(arguments: [("?lang=de", "tree"), ("?tree=yes", "tree"), ("?tree=true&lang=1", "lang")])
  func invalidParametersOfTheTreeAreReported(query: String, parameter: String) async throws {
    let response = try await driver().send(.GET, "/categories" + query)

    #expect(response.status == 400)
    #expect(try response.parameters == [parameter])
  }

  @Test func facetsCountByGroup() async throws {
    let driver = try await driver()

    let plain = try await driver.send(.GET, "/locations/facets?by=group,category&limit=2")
    let labelled = try await driver.send(.GET, "/locations/facets?by=group&lang=de&category=!pharmacy")

    #expect(
      plain.text.contains(#""group":[{"value":"food","count":3},{"value":"health","count":2}]"#), "\(plain.text)")
    #expect(plain.text.contains(#""missing":{"group":3,"category":1}"#), "\(plain.text)")
    #expect(
      labelled.text.contains(#""group":[{"value":"food","label":"Essen und Trinken","count":3}]"#),
      "\(labelled.text)")
  }

  @Test(arguments: [
    ("apo", "de", "pharmacy", "Apotheke"), ("drug", "de", "pharmacy", "Apotheke"), ("薬", "ja", "pharmacy", "薬局"),
    ("kaffee", "en", "cafe", "Café"), ("essen", "de-AT", "food", "Essen und Trinken"), ("rest", "de", "restroom", nil),
  ])
  func suggestionsHaveLabelsInTheLanguage(
    text: String, language: String, category: String, label: String?
  ) async throws {
    let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let response = try await driver().send(
      .GET, "/locations/suggest?q=\(query)", headers: ["accept-language": language])

    let first = try #require(try response.array.first)
    #expect(first["category"] as? String == category)
    #expect(first["label"] as? String == label)
    #expect(first["count"] != nil)
  }

  @Test(arguments: [
    ("Apotheke", ["Adler", "Walgreens", "Apotheke am Ring"]), ("drugstore", ["Adler", "Walgreens"]),
    ("薬局", ["Adler", "Walgreens"]), ("wien apotheke", ["Adler"]), ("apotheke wien", ["Adler"]),
    ("drugstore walgreens", ["Walgreens"]), ("essen und trinken", ["Central", "Mel's", "Dive"]),
    ("kaffeehaus", ["Central", "Mel's"]),
  ])
  func textsWithALocationFindPlacesBySynonyms(text: String, names: [String]) async throws {
    let query = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    let response = try await driver().send(.GET, "/locations?q=\(query)&lat=0&long=0")

    #expect(try response.names == names)
  }

  @Test func withoutALocationNamesComeBeforeSynonyms() async throws {
    let response = try await driver().send(.GET, "/locations?q=Apotheke")

    #expect(try response.names.first == "Apotheke am Ring")
    #expect(Set(try response.names) == ["Apotheke am Ring", "Adler", "Walgreens"])
  }

  @Test func reportsNameTheCategoriesThatWereAskedFor() async throws {
    var query = PointQuery()
    query.setCategories(["food"], without: [], in: Self.tree)

    #expect(Search(query, found: 0, took: .zero).categories == ["food"])
  }
}
