import Basics
import SearchWords
import Testing

@testable import Points

/// Tests of queries and counts of places by a tree of categories.
@Suite struct CategoryQueryTests {
  private let tree: CategoryTree

  init() throws {
    func category(_ name: ExactText, in parent: ExactText?, also others: [ExactText] = []) -> CategoryTree.Declaration {
      .init(name: name, parent: parent, otherNames: others, names: [.init(language: "en", label: name.text)])
    }
    tree = try CategoryTree([
      category("food", in: nil, also: ["eat:*"]), category("bar", in: "food", also: ["lounge"]),
      category("restaurant", in: "food"), category("sushi", in: "restaurant"),
    ])
  }

  @Test func placesCountByAllNamesOfACategoryInData() throws {
    let counts = [("sushi", 5), ("lounge", 3), ("unknown", 2), ("bar", 1)].map {
      CategoryCount(category: $0, count: $1)
    }

    let (totals, others) = tree.totals(of: counts)

    func total(_ name: ExactText) throws -> Int { totals[try #require(tree.number(of: name))] }
    #expect(try total("food") == 9)
    #expect(try total("restaurant") == 5)
    #expect(try total("bar") == 4)
    #expect(others == [CategoryCount(category: "unknown", count: 2)])
  }

  @Test func queryHasTheCategoriesWithoutThoseExcluded() {
    var query = PointQuery()
    query.setCategories(["food"], without: ["bar", "unknown"], in: tree)
    #expect(query.categories == ["food", "eat:*", "restaurant", "sushi"])
    #expect(query.excludedCategories.isEmpty)
    #expect(query.requestedCategories == ["food"])

    query.setCategories(["bar"], without: ["food"], in: tree)
    #expect(query.categories == ["bar", "lounge"])
    #expect(query.excludedCategories.isSuperset(of: query.categories))

    query.setCategories([], without: ["restaurant"], in: tree)
    #expect(query.categories.isEmpty)
    #expect(query.excludedCategories == ["restaurant", "sushi"])

    query.setCategories(["unknown"], without: [], in: tree)
    #expect(query == PointQuery(categories: ["unknown"]))
  }
}
