import Geo
import Basics
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

/// Compares the index of words with a reference that looks at every place.
@Suite struct TextDifferentialTests {
  // The words of 21,000 places are collected on two processors.
  @Test(arguments: zip([5_000, 5_000, 21_000], [1, 2, 3] as [UInt64]))
  func matchesWithoutTyposEqualThoseOfTheReference(count: Int, seed: UInt64) throws {
    let points = try TextPlaces.synthetic(count, seed: seed)
    let snapshot = PointSnapshot(ContiguousArray(points))

    try compare(snapshot, NaiveTextSearch(points: points), queries: 200_000 / count, seed: seed)
  }

  @Test func wordsThatManyPlacesHaveAreFoundTogether() throws {
    var random = SeededGenerator(seed: 7)
    let words = ["amber", "birch", "cedar", "delta"]
    // Each place has a word of its own, and each of the others with a probability of 1 in 40.
    let names = (0..<24_000).map { number in
      (["place\(number)"] + words.filter { _ in Int.random(in: 0..<40, using: &random) == 0 }).joined(separator: " ")
    }
    let snapshot = try TextPlaces.snapshot(names)

    for (index, first) in words.enumerated() {
      for second in words[..<index] {
        let expected = names.filter { $0.contains(first) && $0.contains(second) }
        #expect(expected.count > 4)

        let found = snapshot.allMatches(of: TextQuery(text: "\(first) \(second)", limit: 1_000))

        #expect(found.map(\.point.draft.name).sorted() == expected.sorted())
      }
    }
  }

  @Test func matchesAreTheSameAfterRandomChanges() throws {
    var random = SeededGenerator(seed: 9)
    var places = Dictionary(uniqueKeysWithValues: try TextPlaces.synthetic(5_000, seed: 4).map { ($0.id, $0) })
    var snapshot = PointSnapshot(ContiguousArray(places.values.sorted { $0.id < $1.id }))
    let others = try TextPlaces.synthetic(5_500, seed: 5)
    for round in 0..<12 {
      let puts = (0..<Int.random(in: 1...300, using: &random)).map { _ in others.randomElement(using: &random)! }
      let unique = Dictionary(puts.map { ($0.id, $0) }, uniquingKeysWith: { first, _ in first })
      let removals = (0..<80).compactMap { _ in places.keys.sorted().randomElement(using: &random) }
        .filter { unique[$0] == nil }
      snapshot = snapshot.applying(
        PointChanges(puts: ContiguousArray(unique.values.sorted { $0.id < $1.id }), removals: removals))
      places.merge(unique) { $1 }
      for id in removals { places[id] = nil }
      if round % 4 == 3 {
        try compare(
          snapshot, NaiveTextSearch(points: places.values.sorted { $0.id < $1.id }), queries: 15, seed: UInt64(round))
      }
    }
  }

  private func compare(
    _ snapshot: PointSnapshot, _ reference: NaiveTextSearch, queries: Int, seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    var found = 0
    for _ in 0..<queries {
      let place = try #require(reference.points.randomElement(using: &random))
      let query = try query(for: place, using: &random)
      let expected = reference.matches(of: query)
      let actual = snapshot.allMatches(of: query).filter { $0.tier != .typo }
      found += expected.count
      let isEqual =
        Dictionary(uniqueKeysWithValues: expected.map { ($0.id, $0.tier) })
        == Dictionary(actual.map { ($0.point.id, $0.tier) }, uniquingKeysWith: { first, _ in first })
      #expect(isEqual, "\(query.text), \(query.filters): \(actual.count) matches for \(expected.count)")
      #expect(actual.count == expected.count)
      #expect(zip(actual, expected).allSatisfy { abs($0.score - $1.score) < 1e-9 }, "\(query.text)")
      #expect(zip(actual, actual.dropFirst()).allSatisfy { ($0.score, $1.point.id) > ($1.score, $0.point.id) })
    }
    #expect(found > 0)
  }

  private func query(for place: PointOfInterest, using random: inout SeededGenerator) throws -> TextQuery {
    var words = place.draft.name.split(separator: " ").map(String.init)
    if let street = place.draft.tags["addr:street"], Bool.random(using: &random) { words.append(street) }
    words.shuffle(using: &random)
    let category = place.draft.category.flatMap { Int.random(in: 0..<4, using: &random) == 0 ? $0 : nil }
    words = words.prefix(Int.random(in: 1...3, using: &random)).map { word in
      Int.random(in: 0..<3, using: &random) == 0 ? String(word.prefix(Int.random(in: 1...4, using: &random))) : word
    }
    if let category { words = (Bool.random(using: &random) ? words : []) + [category] }
    var query = TextQuery(text: words.joined(separator: " "), completesLastWord: Bool.random(using: &random))
    let coordinate = place.draft.coordinate
    if Bool.random(using: &random) {
      query.bias = LocationBias(center: coordinate, weight: Double.random(in: 0...1, using: &random))
    }
    switch Int.random(in: 0..<6, using: &random) {
    case 0:
      query.filters.box = try BoundingBox(
        west: max(-180, coordinate.longitude - 5), south: max(-90, coordinate.latitude - 5),
        east: min(180, coordinate.longitude + 5), north: min(90, coordinate.latitude + 5))
    case 1: query.filters.proximity = .init(center: coordinate, radiusMetres: 100_000)
    case 2:
      query.filters.categories = Set([place.draft.category, "category 1"].compactMap { $0.map { ExactText($0) } })
    case 3: query.filters.source = .init(name: "synthetic")
    default: break
    }
    query.limit = [1, 2, 7, 100, 1_000].randomElement(using: &random) ?? 7
    return query
  }
}
