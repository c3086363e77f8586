import Foundation
import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct PointSnapshotTests {
  private static func points(_ ids: some Sequence<UInt64>, category: String? = nil) throws -> ContiguousArray<
    PointOfInterest
  > {
    try ContiguousArray(
      ids.map { number in
        let row = try ImportRow.sample("\(number)", Double(number % 90), Double(number % 180), category: category)
        let time = Timestamp(microsecondsSinceEpoch: 0)
        return PointOfInterest(id: .sample(number), draft: row.draft, version: 1, createdAt: time, updatedAt: time)
      }
    )
  }

  @Test func singleAdditionsMakeFewParts() throws {
    var snapshot = PointSnapshot()

    for number in 0..<3_000 as Range<UInt64> {
      snapshot = snapshot.applying(.init(puts: try Self.points([number])))
    }

    #expect(snapshot.count == 3_000)
    #expect(snapshot.parts.count <= 5)
    #expect(zip(snapshot.parts, snapshot.parts.dropFirst()).allSatisfy { $0.count > $1.count })
  }

  @Test func singleChangesIndexFewOtherPlacesAgain() throws {
    var snapshot = PointSnapshot(try Self.points(0..<10_000))
    var indexed = 0

    for number in 0..<500 as Range<UInt64> {
      let former = snapshot.parts.map(\.segment)
      snapshot = snapshot.applying(.init(puts: try Self.points([number])))
      for part in snapshot.parts where !former.contains(where: { $0 === part.segment }) {
        indexed += part.segment.count
      }
    }

    #expect(snapshot.count == 10_000)
    #expect(snapshot.parts.count <= 6)
    #expect(indexed <= 500 * 50)
  }

  @Test(arguments: [1, 17, 300])
  func segmentOfFewPlacesHasTheirPositionsBySlot(_ count: UInt64) throws {
    let segment = Segment(PointBuffer(try Self.points(0..<count)), text: .init())

    for slot in 0..<segment.count {
      #expect(segment.columns.positions[slot] == EarthCentred(segment.point(at: slot).draft.coordinate))
    }
  }

  @Test func additionLeavesLargePartsAsTheyAre() throws {
    let former = PointSnapshot().applying(.init(puts: try Self.points(0..<5_000)))

    let next = former.applying(.init(puts: try Self.points([9_000])))

    #expect(next.parts.count == 2)
    #expect(next.parts[0].segment === former.parts[0].segment)
  }

  @Test func additionsThatWereIndexedBeforeAreAppliedToALaterSnapshot() throws {
    let former = PointSnapshot(try Self.points(0..<300))
    var changes = PointChanges(puts: try Self.points(200..<9_000, category: "cafe"), removals: [.sample(5)])
    changes.index(for: former)
    let later = former.applying(.init(puts: try Self.points([20_000])))
    let now = Timestamp(microsecondsSinceEpoch: 5)

    changes.setStamps(version: 7, at: now, plannedAt: Timestamp(microsecondsSinceEpoch: 0))
    let next = later.applying(changes)

    #expect(next.count == 9_000)
    #expect(next.parts.first?.segment.count == 8_800)
    let point = try #require(next.point(id: .sample(250)))
    #expect((point.version, point.createdAt, point.updatedAt) == (7, now, now))
    #expect(next.point(id: .sample(100))?.version == 1)
    #expect(next.location(of: PointID.sample(5)) == nil && next.location(of: PointID.sample(20_000)) != nil)
    #expect(next.categoryCounts(in: nil) == [.init(category: "cafe", count: 8_800)])
  }

  @Test func formerSnapshotIsUnchanged() throws {
    let former = PointSnapshot().applying(.init(puts: try Self.points(0..<300)))

    let next = former.applying(.init(puts: try Self.points([1_000]), removals: [.sample(5)]))

    #expect(former.count == 300)
    #expect(former.location(of: PointID.sample(5)) != nil)
    #expect(former.location(of: PointID.sample(1_000)) == nil)
    #expect(next.count == 300)
    #expect(next.location(of: PointID.sample(5)) == nil)
    #expect(next.location(of: PointID.sample(1_000)) != nil)
  }

  @Test func partWithoutPlacesIsDropped() throws {
    let former = PointSnapshot().applying(.init(puts: try Self.points([1])))

    let next = former.applying(.init(removals: [.sample(1)]))

    #expect(next.parts.isEmpty)
    #expect(next.count == 0)
  }

  @Test func partIsCompactedWhenMostOfItsPlacesWereRemoved() throws {
    var snapshot = PointSnapshot().applying(.init(puts: try Self.points(0..<1_000)))

    for number in 0..<800 as Range<UInt64> {
      snapshot = snapshot.applying(.init(removals: [.sample(number)]))
    }

    #expect(snapshot.count == 200)
    #expect(snapshot.parts.allSatisfy { $0.segment.count <= 2 * $0.count + 1 })
    #expect(snapshot.location(of: PointID.sample(900)) != nil)
  }

  @Test func categoryCountsExcludeRemovedPlaces() throws {
    var snapshot = PointSnapshot().applying(.init(puts: try Self.points(0..<600, category: "cafe")))
    snapshot = snapshot.applying(.init(puts: try Self.points([1_000], category: "bar")))

    let next = snapshot.applying(.init(puts: try Self.points([1_001], category: "bar"), removals: [.sample(3)]))

    #expect(next.categoryCounts(in: nil) == [.init(category: "cafe", count: 599), .init(category: "bar", count: 2)])
  }

  @Test func shuffledPlaceHasTheLeastKeyNotBelowThePivot() throws {
    var snapshot = PointSnapshot().applying(.init(puts: try Self.points(0..<600)))
    snapshot = snapshot.applying(.init(puts: try Self.points([700, 701])))
    snapshot = snapshot.applying(.init(removals: [.sample(44)]))
    let ids = (Array(0..<600) + [700, 701]).filter { $0 != 44 }.map { PointID.sample(UInt64($0)) }
    let sorted = ids.sorted { $0.shuffleKey < $1.shuffleKey }

    for (id, next) in zip(sorted, sorted.dropFirst() + sorted.prefix(1)) {
      #expect(snapshot.point(shuffledAtOrAfter: id.shuffleKey)?.id == id)
      #expect(snapshot.point(shuffledAtOrAfter: id.shuffleKey &+ 1)?.id == next)
    }
  }

  @Test func putReplacesThePlaceWithTheSameID() throws {
    let former = PointSnapshot(try Self.points(0..<5_000, category: "cafe"))

    let next = former.applying(.init(puts: try Self.points([7, 4_999, 6_000], category: "bar")))

    #expect(next.count == 5_001)
    #expect(next.point(id: .sample(7))?.draft.category == "bar")
    #expect(next.categoryCounts(in: nil) == [.init(category: "cafe", count: 4_998), .init(category: "bar", count: 3)])
    #expect(former.point(id: .sample(7))?.draft.category == "cafe")
  }

  @Test func removalsOfUnknownIDsAndRepeatedRemovalsAreIgnored() throws {
    let former = PointSnapshot(try Self.points(0..<100))

    let next = former.applying(.init(removals: [.sample(5), .sample(200), .sample(5), .sample(99)]))
    let again = next.applying(.init(removals: [.sample(5)]))

    #expect(next.count == 98)
    #expect(again.count == 98)
  }

  @Test func idThatIsPutAndRemovedIsPut() throws {
    let former = PointSnapshot(try Self.points(0..<3))

    let next = former.applying(
      .init(puts: try Self.points([1, 9], category: "bar"), removals: [.sample(1), .sample(9)]))

    #expect(next.count == 4)
    #expect(next.categoryCounts(in: nil) == [.init(category: "bar", count: 2)])
  }

  @Test(arguments: 0..<10)
  func changesInBatchesOfAnySizeAddUpToTheSamePlaces(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var snapshot = PointSnapshot()
    var expected: [PointID: String] = [:]

    for round in 0..<60 {
      let size = [1, 3, 40, 700][Int.random(in: 0..<4, using: &random)]
      let ids = (0..<size).map { _ in UInt64.random(in: 0..<2_000, using: &random) }
      let putIDs = Set(ids.prefix(size / 2 + 1))
      let removals = ids.dropFirst(size / 2 + 1).map { PointID.sample($0) }
      snapshot = snapshot.applying(.init(puts: try Self.points(putIDs, category: "\(round)"), removals: removals))
      for id in removals { expected[id] = nil }
      for id in putIDs { expected[.sample(id)] = "\(round)" }
    }

    var walk = PointWalk(snapshot, matching: PointQuery())
    var walked: [PointOfInterest] = []
    while !walk.isAtEnd { walked += walk.nextBatch(maximumCount: 7, maximumSteps: 50) }
    #expect(snapshot.count == expected.count)
    #expect(walked.map(\.id) == expected.keys.sorted())
    #expect(walked.allSatisfy { $0.draft.category == expected[$0.id] })
    #expect(expected.keys.allSatisfy { snapshot.point(id: $0)?.draft.category == expected[$0] })
  }

  @Test func batchThatReadsLongTagsIsShort() throws {
    let text = String(repeating: "x", count: 2_000)
    let rows = try (0..<100).map { number in
      try ImportRow.sample(
        "\(number)", 1, 2,
        tags: [
          "a": text, "b": text, "c": text, "d": text, "e": text, "f": text, "g": text, "h": text, "i": text, "j": text,
        ], id: .sample(UInt64(number)))
    }
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let snapshot = PointSnapshot(
      ContiguousArray(
        rows.enumerated().map { number, row in
          PointOfInterest(id: .sample(UInt64(number)), draft: row.draft, version: 1, createdAt: time, updatedAt: time)
        }))
    var walk = PointWalk(snapshot, matching: PointQuery(filter: try PropertyFilter("name = 'x'")))

    #expect(walk.nextBatch(maximumCount: 250, maximumSteps: 4_000).isEmpty)

    #expect(!walk.isAtEnd)
    while !walk.isAtEnd { #expect(walk.nextBatch(maximumCount: 250, maximumSteps: 4_000).isEmpty) }
  }

  @Test func batchWithALongRouteOrAreaIsShort() throws {
    func coordinates(_ count: Int) throws -> [Coordinate] {
      try (0..<count).map {
        let angle = 2 * Double.pi * Double($0) / Double(count)
        return try Coordinate(latitude: sin(angle), longitude: cos(angle))
      }
    }
    let short = PointSnapshot.stepsPerBatch(of: PointQuery())
    let circle = try coordinates(2_000)
    let area = try GeodesicArea(polygons: [[circle + [circle[0]]]])
    let route = try GeodesicRoute(circle)

    let inArea = PointSnapshot.stepsPerBatch(of: PointQuery(area: .init(area)))
    let alongRoute = PointSnapshot.stepsPerBatch(of: PointQuery(route: .init(route, radiusMetres: 10)))

    #expect(inArea < short / 10)
    #expect(alongRoute < short / 10)
  }
}

/// Merges of large parts beside changes.
@Suite struct PartMergeTests {
  private static func points(_ ids: some Sequence<UInt64>, category: String = "a") throws -> ContiguousArray<
    PointOfInterest
  > {
    try ContiguousArray(
      ids.map { number in
        let row = try ImportRow.sample("\(number)", Double(number % 90), Double(number % 180), category: category)
        let time = Timestamp(microsecondsSinceEpoch: 0)
        return PointOfInterest(id: .sample(number), draft: row.draft, version: 1, createdAt: time, updatedAt: time)
      })
  }

  @Test func changesLeaveLargePartsToMerges() throws {
    var snapshot = PointSnapshot(try Self.points(0..<300))
    snapshot = snapshot.applying(.init(puts: try Self.points(300..<600)), joiningUpTo: 200)
    #expect(snapshot.parts.count == 2)
    let segments = snapshot.parts.map(\.segment)

    let merge = try #require(snapshot.mergingLargeParts(above: 200))
    // Meanwhile places of the parts are removed and replaced, and one is added.
    snapshot = snapshot.applying(
      .init(puts: try Self.points([7, 1000], category: "b"), removals: [.sample(8), .sample(450)]), joiningUpTo: 200)
    #expect(segments.allSatisfy { segment in snapshot.parts.contains { $0.segment === segment } })
    let merged = try #require(snapshot.adopting(merge))

    #expect(merged.parts.count == 2)
    #expect(merged.count == 599)
    #expect(merged.point(id: .sample(7))?.draft.category == "b")
    #expect(merged.point(id: .sample(8)) == nil)
    #expect(merged.point(id: .sample(450)) == nil)
    #expect(merged.point(id: .sample(1000)) != nil)
    #expect(!merged.hasLargePartsToMerge(above: 200))
    #expect(merged.categoryCounts(in: nil) == [.init(category: "a", count: 597), .init(category: "b", count: 2)])
  }

  @Test func partWithMostlyRemovedPlacesIsMergedAlone() throws {
    let snapshot = PointSnapshot(try Self.points(0..<300))
      .applying(.init(removals: (0..<200).map { .sample($0) }), joiningUpTo: 200)
    #expect(snapshot.parts.map(\.segment.count) == [300])

    let merge = try #require(snapshot.mergingLargeParts(above: 200))
    let merged = try #require(snapshot.adopting(merge))

    #expect(merged.parts.map(\.segment.count) == [100])
    #expect(merged.count == 100)
  }

  @Test func mergesLeaveOutPartsThatWouldNotFitIntoMemory() throws {
    var snapshot = PointSnapshot(try Self.points(0..<1000))
    for first in [1000, 1300] as [UInt64] {
      snapshot = snapshot.applying(.init(puts: try Self.points(first..<first + 300)), joiningUpTo: 200)
    }
    let all = snapshot.estimatedBytes

    let part = try #require(snapshot.mergingLargeParts(above: 200, upTo: all - 1))
    let merged = try #require(snapshot.adopting(part))

    #expect(merged.parts.map(\.count) == [1000, 600] && merged.count == 1600)
    #expect(!merged.hasLargePartsToMerge(above: 200, upTo: all - 1))
    #expect(merged.hasLargePartsToMerge(above: 200, upTo: all))
    #expect(!snapshot.hasLargePartsToMerge(above: 200, upTo: all / 4))
  }

  @Test func mergeOfPartsThatAreGoneIsNotAdopted() throws {
    let snapshot = PointSnapshot(try Self.points(0..<300))
      .applying(.init(puts: try Self.points(300..<600)), joiningUpTo: 200)
    let merge = try #require(snapshot.mergingLargeParts(above: 200))

    #expect(snapshot.applying(.init(puts: try Self.points(600..<900))).adopting(merge) == nil)
  }

  @Test(arguments: 0..<10)
  func changesBesideMergesAddUpToTheSamePlaces(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    var snapshot = PointSnapshot()
    var merge: PointSnapshot.Merge?
    var merges = 0
    var expected: [PointID: String] = [:]

    for round in 0..<80 {
      if let adopted = merge.flatMap({ snapshot.adopting($0) }) {
        snapshot = adopted
        merges += 1
      }
      // A merge lasts for some rounds.
      if round.isMultiple(of: 3) { merge = snapshot.mergingLargeParts(above: 100) } else { merge = nil }
      let size = [1, 3, 40, 300][Int.random(in: 0..<4, using: &random)]
      for _ in 0...Int.random(in: 0..<3, using: &random) {
        let ids = (0..<size).map { _ in UInt64.random(in: 0..<2_000, using: &random) }
        let putIDs = Set(ids.prefix(size / 2 + 1))
        let removals = ids.dropFirst(size / 2 + 1).map { PointID.sample($0) }
        snapshot = snapshot.applying(
          .init(puts: try Self.points(putIDs, category: "\(round % 5)"), removals: removals), joiningUpTo: 100)
        for id in removals { expected[id] = nil }
        for id in putIDs { expected[.sample(id)] = "\(round % 5)" }
      }
    }

    #expect(merges > 3)
    var walk = PointWalk(snapshot, matching: PointQuery())
    var walked: [PointOfInterest] = []
    while !walk.isAtEnd { walked += walk.nextBatch(maximumCount: 7, maximumSteps: 50) }
    #expect(snapshot.count == expected.count)
    #expect(walked.map(\.id) == expected.keys.sorted())
    #expect(walked.allSatisfy { $0.draft.category == expected[$0.id] })
    #expect(snapshot.pyramid.root?.totals.count == PointSnapshot(ContiguousArray(walked)).pyramid.root?.totals.count)
  }
}

@Suite struct PointIndexTests {
  @Test func readersGetTheSnapshotOfTheLastReplacementWithItsVersion() throws {
    let index = PointIndex(PointSnapshot(), version: DataVersion(token: "a"))
    let before = index.current

    let time = Timestamp(microsecondsSinceEpoch: 0)
    let point = PointOfInterest(id: .sample(1), draft: try .sample("a"), version: 1, createdAt: time, updatedAt: time)
    index.replace(with: before.snapshot.applying(.init(puts: [point])), version: DataVersion(token: "b"))

    #expect((before.snapshot.count, before.version.token) == (0, "a"))
    #expect((index.snapshot.count, index.version.token) == (1, "b"))
    #expect(index.current.snapshot === index.snapshot)
  }
}
