import CQL2
import Geo
import Basics
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct TagIndexTests {
  private static let queryables = Queryables(
    types: ["n": .number, "list": .stringArray, "day": .date],
    indexes: ["n": .sorted, "name": .hash, "list": .hash, "day": .sorted, "code": .sorted])

  private static func snapshot(count: Int = 5_000) throws -> PointSnapshot {
    let places = try (0..<count).map { number in
      let draft = try PointDraft(
        name: "P\(number)", category: "c",
        coordinate: Coordinate(latitude: Double(number % 90), longitude: Double(number % 180)),
        tags: Tags([
          "n": "\(number - 100)", "name": "common", "list": "a;x\(number % 1_000)",
          "day": "2020-01-\(number % 28 + 10)", "code": "prefix-\(number)",
        ]))
      return PointOfInterest(
        id: PointID(high: 1, low: UInt64(number)), draft: draft, version: 1,
        createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: 0))
    }
    return PointSnapshot(ContiguousArray(places))
  }

  private static func plan(_ filter: String, in snapshot: PointSnapshot, limit: Int = 20) throws -> Int? {
    let query = PointQuery(filter: try PropertyFilter(filter, queryables: queryables), limit: limit)
    return IndexPlan(query, in: snapshot)?.slots.reduce(0) { $0 + $1.count }
  }

  @Test(arguments: [
    ("n = -50", 1), ("-50 = n", 1), ("n < -90", 11), ("n BETWEEN 10 AND 19.5", 10), ("n IN (1, 2, 2, -7)", 3),
    ("n > 4890 AND tag.name = 'common'", 9), ("a_contains(list, ('x7', 'y'))", 5),
    ("a_overlaps(list, ('x7', 'x8'))", 10),
    ("id = '00000000-0000-0001-0000-000000000007'", 1), ("id IN ('00000000-0000-0001-0000-000000000007', 'x')", 1),
    ("tag.name = 'rare' AND n > 0", 0), ("n > 3 AND n < 1 AND n = 2", 1),
  ])
  func planIsThatOfTheMostSelectiveCondition(filter: String, count: Int) throws {
    let snapshot = try Self.snapshot()
    // A range includes its ends, and the filter itself decides.
    let planned = try #require(try Self.plan(filter, in: snapshot))

    #expect(planned >= count && planned <= count + 1, "\(planned)")
  }

  @Test(arguments: [
    "tag.name = 'common'", "n > 0", "n <> 5", "NOT n = 5", "n = 5 OR n = 6", "tag.name < 'b'", "other = 'x'",
    "casei(name) = casei('x')", "list IS NULL", "n = n",
  ])
  func conditionsWithoutASelectiveIndexAreScanned(filter: String) throws {
    #expect(try Self.plan(filter, in: Self.snapshot()) == nil)
  }

  @Test(arguments: [
    ((-1.0, -1.0, 179.0, 89.0), true), ((0, 0, 10, 10), false),
  ])
  func manyPlacesAreLookedUpIfTheBoxHasMore(
    edges: (west: Double, south: Double, east: Double, north: Double), isPlanned: Bool
  ) throws {
    let filter = try PropertyFilter("n > 3000", queryables: Self.queryables)
    let query = PointQuery(
      box: try BoundingBox(west: edges.west, south: edges.south, east: edges.east, north: edges.north), filter: filter,
      limit: 1000)

    #expect((IndexPlan(query, in: try Self.snapshot()) != nil) == isPlanned)
  }

  @Test func keysAreInTheOrderOfTheValues() throws {
    let numbers = [-Double.greatestFiniteMagnitude, -2.5, -1, -1e-300, 0, 1e-300, 1, 2.5, .greatestFiniteMagnitude]
    let numberKeys = numbers.compactMap { TagKey.key(of: .number($0), in: .sorted) }
    let texts = ["", "\u{1}", "a", "aa", "b", "é", "東京", "😀"]
    let textKeys = texts.compactMap { TagKey.key(of: .string(ExactText($0)), in: .sorted) }

    #expect(zip(numberKeys, numberKeys.dropFirst()).allSatisfy { $0 < $1 } && numberKeys.count == numbers.count)
    #expect(zip(textKeys, textKeys.dropFirst()).allSatisfy { $0 < $1 } && textKeys.count == texts.count)
    #expect(TagKey.key(of: .number(-0.0), in: .hash) == TagKey.key(of: .number(0), in: .hash))
    // Longer texts with the same beginning have the same key.
    let long = ["prefix-11", "prefix-12"].map { TagKey.key(of: .string(ExactText($0)), in: .sorted) }
    #expect(long[0] == long[1])
  }

  @Test func changesKeepTheIndexes() throws {
    let snapshot = try Self.snapshot()
    let query = PointQuery(filter: try PropertyFilter("n = 7", queryables: Self.queryables))
    #expect(try snapshot.page(matching: query).points.map(\.point.draft.name) == ["P107"])
    let removed = try #require(try snapshot.page(matching: query).points.first)
    var moved = removed.point
    moved = PointOfInterest(
      id: PointID(high: 2, low: 1), draft: moved.draft, version: 2, createdAt: moved.createdAt,
      updatedAt: moved.updatedAt)

    let next = snapshot.applying(PointChanges(puts: [moved], removals: [removed.point.id]))

    #expect(try next.page(matching: query).points.map(\.point.id) == [PointID(high: 2, low: 1)])
    #expect(next.parts[0].segment.memory.contains { $0.name == "tags" && $0.bytes > 0 })
  }
}
