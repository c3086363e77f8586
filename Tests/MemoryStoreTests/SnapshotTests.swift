import Points
import TestSupport
import Testing

@testable import MemoryStore

@Suite struct SnapshotTests {
  private static func points(_ ids: some Sequence<UInt64>, category: String? = nil) throws -> ContiguousArray<
    PointOfInterest
  > {
    try ContiguousArray(
      ids.map { number in
        let row = try ImportRow.sample("\(number)", Double(number % 90), Double(number % 180), category: category)
        let time = Timestamp(microsecondsSinceEpoch: 0)
        return PointOfInterest(id: .sample(number), place: row.place, version: 1, createdAt: time, updatedAt: time)
      }
    )
  }

  @Test func singleAdditionsMakeFewParts() throws {
    var snapshot = Snapshot()

    for number in 0..<3_000 as Range<UInt64> {
      snapshot = snapshot.applying(.init(additions: try Self.points([number])))
    }

    #expect(snapshot.count == 3_000)
    #expect(snapshot.parts.count <= 5)
    #expect(zip(snapshot.parts, snapshot.parts.dropFirst()).allSatisfy { $0.count > $1.count })
  }

  @Test func additionLeavesLargePartsAsTheyAre() throws {
    let former = Snapshot().applying(.init(additions: try Self.points(0..<5_000)))

    let next = former.applying(.init(additions: try Self.points([9_000])))

    #expect(next.parts.count == 2)
    #expect(next.parts[0].segment === former.parts[0].segment)
  }

  @Test func formerSnapshotStaysAsItWas() throws {
    let former = Snapshot().applying(.init(additions: try Self.points(0..<300)))
    let location = try #require(former.location(of: PointID.sample(5)))

    let next = former.applying(.init(removals: [location], additions: try Self.points([1_000])))

    #expect(former.count == 300)
    #expect(former.location(of: PointID.sample(5)) != nil)
    #expect(former.location(of: PointID.sample(1_000)) == nil)
    #expect(next.count == 300)
    #expect(next.location(of: PointID.sample(5)) == nil)
    #expect(next.location(of: PointID.sample(1_000)) != nil)
  }

  @Test func partWhoseLastPlaceGoesIsDropped() throws {
    let former = Snapshot().applying(.init(additions: try Self.points([1])))
    let location = try #require(former.location(of: PointID.sample(1)))

    let next = former.applying(.init(removals: [location]))

    #expect(next.parts.isEmpty)
    #expect(next.count == 0)
  }

  @Test func partIsBuiltAgainWhenMostOfItsPlacesHaveGone() throws {
    var snapshot = Snapshot().applying(.init(additions: try Self.points(0..<1_000)))

    for number in 0..<800 as Range<UInt64> {
      let location = try #require(snapshot.location(of: PointID.sample(number)))
      snapshot = snapshot.applying(.init(removals: [location]))
    }

    #expect(snapshot.count == 200)
    #expect(snapshot.parts.allSatisfy { $0.segment.count <= 2 * $0.count + 1 })
    #expect(snapshot.location(of: PointID.sample(900)) != nil)
  }

  @Test func categoriesAreCountedWithoutPlacesThatHaveGone() throws {
    var snapshot = Snapshot().applying(.init(additions: try Self.points(0..<600, category: "cafe")))
    snapshot = snapshot.applying(.init(additions: try Self.points([1_000], category: "bar")))
    let location = try #require(snapshot.location(of: PointID.sample(3)))

    let next = snapshot.applying(.init(removals: [location], additions: try Self.points([1_001], category: "bar")))

    #expect(next.categoryCounts() == [.init(category: "cafe", count: 599), .init(category: "bar", count: 2)])
  }

  @Test func shuffledPlaceIsThatOfTheLeastKeyNotBelowThePivot() throws {
    var snapshot = Snapshot().applying(.init(additions: try Self.points(0..<600)))
    snapshot = snapshot.applying(.init(additions: try Self.points([700, 701])))
    let gone = try #require(snapshot.location(of: PointID.sample(44)))
    snapshot = snapshot.applying(.init(removals: [gone]))
    let ids = (Array(0..<600) + [700, 701]).filter { $0 != 44 }.map { PointID.sample(UInt64($0)) }
    let sorted = ids.sorted { $0.shuffleKey < $1.shuffleKey }

    for (id, next) in zip(sorted, sorted.dropFirst() + sorted.prefix(1)) {
      #expect(snapshot.point(shuffledAtOrAfter: id.shuffleKey)?.id == id)
      #expect(snapshot.point(shuffledAtOrAfter: id.shuffleKey &+ 1)?.id == next)
    }
  }
}
