import Basics
import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct SubscriptionIndexTests {
  private final class Subscriber: Hashable {
    let query: PointQuery
    let filter: QueryFilter

    init(_ query: PointQuery) {
      self.query = query
      filter = QueryFilter(query)
    }

    static func == (left: Subscriber, right: Subscriber) -> Bool { left === right }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
  }

  /// Places of a segment.
  private static func segment(seed: UInt64) throws -> Segment {
    var places = try SyntheticPoints(seed: seed, townCount: 20, categoryCount: 8)
    let time = Timestamp(microsecondsSinceEpoch: 0)
    var points: ContiguousArray<PointOfInterest> = []
    for (number, row) in try places.rows(count: 300).enumerated() {
      points.append(
        PointOfInterest(
          id: .sample(UInt64(number)), draft: row.draft, version: 1, createdAt: time, updatedAt: time))
    }
    return Segment(PointBuffer(points), text: TextIndexConfiguration(nameTags: []))
  }

  private static func subscribers(to segment: Segment, seed: UInt64) throws -> [Subscriber] {
    let points = (0..<segment.count).map { segment.point(at: $0) }
    let reference = BruteForce(points)
    var queries = RandomQueries(over: points, seed: seed)
    return try (0..<400).map { number in
      let center = try queries.center()
      var query = try queries.query(
        center: center, ordered: center.map { reference.byDistance(from: $0) } ?? reference.byID())
      if number % 5 == 0 { query.area = try queries.area() }
      return Subscriber(query)
    }
  }

  private static func found(_ slot: Int, of segment: Segment, in index: SubscriptionIndex<Subscriber>) -> Set<
    Subscriber
  > {
    let draft = segment.point(at: slot).draft
    var found: Set<Subscriber> = []
    index.forEach(
      matching: PlaceKeys(
        coordinate: draft.coordinate, category: draft.category.map { ExactText($0) },
        source: draft.origin.map { ExactText($0.source) })
    ) { found.insert($0) }
    return found
  }

  @Test(arguments: 1...4 as ClosedRange<UInt64>) func everySubscriptionThatMatchesAPlaceIsFound(seed: UInt64) throws {
    let segment = try Self.segment(seed: seed)
    let subscribers = try Self.subscribers(to: segment, seed: seed)
    var index = SubscriptionIndex<Subscriber>()
    for subscriber in subscribers { index.insert(subscriber, subscriber.query) }

    var (matches, candidates) = (0, 0)
    for slot in 0..<segment.count {
      let expected = subscribers.filter { $0.filter.matches(slot, of: segment) }
      let found = Self.found(slot, of: segment, in: index)
      #expect(found.isSuperset(of: expected))
      matches += expected.count
      candidates += found.count
    }

    #expect(matches > 0 && candidates < segment.count * subscribers.count * 2 / 3)
  }

  @Test func removedSubscriptionsAreNotFound() throws {
    let segment = try Self.segment(seed: 5)
    let subscribers = try Self.subscribers(to: segment, seed: 5)
    var index = SubscriptionIndex<Subscriber>()
    for subscriber in subscribers { index.insert(subscriber, subscriber.query) }
    let (removed, kept) = (subscribers.prefix(200), subscribers.dropFirst(200))

    for subscriber in removed { index.remove(subscriber, subscriber.query) }

    for slot in 0..<segment.count {
      let found = Self.found(slot, of: segment, in: index)
      #expect(found.isDisjoint(with: removed))
      #expect(found.isSuperset(of: kept.filter { $0.filter.matches(slot, of: segment) }))
    }
    for subscriber in kept { index.remove(subscriber, subscriber.query) }
    #expect((0..<segment.count).allSatisfy { Self.found($0, of: segment, in: index).isEmpty })
  }
}
