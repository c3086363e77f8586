import Basics
import Geo
import Points
import SearchWords
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

/// Texts that are, or begin or end with, a label or synonym of a category.
@Suite struct CategoryReadingTests {
  private static func tree(of categories: some Sequence<ExactText>) throws -> CategoryTree {
    let sorted = categories.sorted()
    func names(_ number: Int) -> [CategoryTree.Names] {
      [.init(language: "en", label: "Kind\(number)"), .init(language: "de", label: "Art \(number)")]
    }
    let group = CategoryTree.Declaration(name: "group", names: [.init(language: "en", label: "Everything")])
    return try CategoryTree(
      [group] + sorted.enumerated().map { .init(name: $1, parent: $0 % 2 == 0 ? "group" : nil, names: names($0)) })
  }

  /// A place matches if it is of a category and has the other words in one name with the category and the address, and
  /// if the whole text does not find it anyway.
  @Test(arguments: [1, 2] as [UInt64])
  func placesEqualThoseOfTheReference(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let points = try TextPlaces.synthetic(3_000, seed: seed)
    let categories = Set(points.compactMap { $0.draft.category.map { ExactText($0) } })
    var configuration = TextIndexConfiguration()
    configuration.categories = try Self.tree(of: categories)
    let tree = configuration.categories
    let snapshot = PointSnapshot(ContiguousArray(points), text: configuration)
    let plain = PointSnapshot(ContiguousArray(points))
    var found = 0
    for _ in 0..<60 {
      let place = try #require(points.randomElement(using: &random))
      let number = Int.random(in: 0..<categories.count, using: &random)
      let name = [["kind\(number)"], ["art", "\(number)"], ["everything"]].randomElement(using: &random) ?? []
      let word = Bool.random(using: &random) ? place.draft.name.split(separator: " ").first.map(String.init) : nil
      let isAtEnd = Bool.random(using: &random)
      let words = isAtEnd ? [word].compactMap(\.self) + name : name + [word].compactMap(\.self)
      var query = TextQuery(text: words.joined(separator: " "))
      if Bool.random(using: &random) { query.filters.categories = [ExactText(place.draft.category ?? "none")] }
      query.limit = [1, 3, 50].randomElement(using: &random) ?? 3
      let byWords = Set(plain.allMatches(of: query).filter { $0.tier != .typo }.map(\.point.id))
      let named = Set(tree.readings(of: query.text).flatMap(\.categories))
      let expected = points.filter { point in
        guard let category = point.draft.category.map({ ExactText($0) }), named.contains(category) else { return false }
        if !query.filters.categories.isEmpty, !query.filters.categories.contains(category) { return false }
        return byWords.contains(point.id) || word.map { Self.has($0, point) } ?? true
      }

      let all = snapshot.allMatches(of: query)
      let matches = all.filter { $0.tier != .typo }

      #expect(Set(all.map(\.point.id)).count == all.count, "\(query.text)")
      let ids = Set(matches.map(\.point.id))
      // Places that the whole text finds come first, with their tiers.
      #expect(ids == byWords.union(expected.map(\.id)), "\(query.text): \(ids.count), \(expected.count)")
      // The others rank by the words beside the label, if they are in a name.
      #expect(matches.allSatisfy { $0.tier == .category || word != nil || byWords.contains($0.point.id) })
      #expect(zip(all, all.dropFirst()).allSatisfy { ($0.score, $1.point.id) > ($1.score, $0.point.id) })
      found += expected.count
    }
    #expect(found > 0)
  }

  /// Returns a Boolean value that indicates whether a place has a word that begins with a text in a name, its category or
  /// its address.
  private static func has(_ text: String, _ point: PointOfInterest) -> Bool {
    let wanted = NormalizedText(text).words.map { NormalizedText(text).text(of: $0) }
    let others = point.draft.tags.pairs.filter {
      $0.key.hasPrefix("addr:") || $0.key.hasPrefix("name:") || $0.key == "alt_name"
    }
    let texts = [point.draft.name, point.draft.category ?? ""] + others.map(\.value)
    let words = texts.flatMap { text in
      let words = NormalizedText(text)
      var (source, variants) = (text, NameVariants())
      let forms = source.withUTF8 { variants.variants(of: $0, words.words) }
      return words.words.map { words.text(of: $0) } + forms.map { String(decoding: $0.bytes, as: UTF8.self) }
    }
    return wanted.allSatisfy { wanted in words.contains { $0.utf8.starts(with: wanted.utf8) } }
  }

  @Test func nearestPlacesOfTheCategoryComeFirst() throws {
    var configuration = TextIndexConfiguration()
    configuration.categories = try CategoryTree([
      .init(name: "pharmacy", names: [.init(language: "de", label: "Apotheke")])
    ])
    let places = try (1...50 as ClosedRange<UInt64>).map { number in
      try TextPlaces.place(number, "Adler \(number)", at: (0, Double(number)), category: "pharmacy")
    }
    let snapshot = PointSnapshot(ContiguousArray(places), text: configuration)
    let center = try Coordinate(latitude: 0, longitude: 20)
    for order in [TextQuery.Order.relevance, .distance] {
      let query = TextQuery(text: "apotheke", bias: LocationBias(center: center), order: order, limit: 3)

      #expect(snapshot.matches(of: query).matches.first?.point.draft.name == "Adler 20")
      #expect(snapshot.allMatches(of: query).count == 50)
    }
  }

  @Test func textsThatNameNoCategoryCostNothing() throws {
    var configuration = TextIndexConfiguration()
    configuration.categories = try Self.tree(of: ["category 0", "category 1"])
    let points = ContiguousArray(try TextPlaces.synthetic(2_000, seed: 3))
    let (plain, named) = (PointSnapshot(points), PointSnapshot(points, text: configuration))
    for text in ["museum", "a b c", "xyzzy unknown", "駅"] {
      #expect(named.steps(of: TextQuery(text: text)) == plain.steps(of: TextQuery(text: text)))
    }
  }
}
