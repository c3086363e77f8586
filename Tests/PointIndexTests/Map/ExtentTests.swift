import Geo
import Basics
import Points
import TestSupport
import Testing

@testable import PointIndex

@Suite struct ExtentTests {
  @Test(arguments: [31, 32, 33] as [UInt64]) func boundsAreThoseOfThePlaces(seed: UInt64) throws {
    var places = try ChangingPlaces(700, seed: seed)
    try places.change(batches: 30, sizes: [1, 5, 40])
    let coordinates = places.points.values.map(\.draft.coordinate)

    let bounds = try #require(places.snapshot.bounds)

    #expect(bounds.west == coordinates.map(\.longitude).min() && bounds.east == coordinates.map(\.longitude).max())
    #expect(bounds.south == coordinates.map(\.latitude).min() && bounds.north == coordinates.map(\.latitude).max())
    #expect(PointSnapshot().bounds == nil)
    #expect(PointSnapshot().extent(ofCategories: []) == nil)
  }

  @Test func extentIsThatOfTheCategories() throws {
    var places = try ChangingPlaces(700, seed: 34)
    try places.change(batches: 30, sizes: [1, 5, 40])
    let categories = Set(places.points.values.compactMap { $0.draft.category.map { ExactText($0) } }.prefix(2))
    let coordinates = places.points.values
      .filter { place in place.draft.category.map { categories.contains(ExactText($0)) } ?? false }
      .map(\.draft.coordinate)

    let extent = try #require(places.snapshot.extent(ofCategories: categories))

    #expect(extent.south == coordinates.map(\.latitude).min() && extent.north == coordinates.map(\.latitude).max())
    #expect(coordinates.allSatisfy { extent.contains($0) })
    #expect(places.snapshot.extent(ofCategories: ["none"]) == nil)
  }

  @Test(
    arguments: [
      ([179, -178], [179, -178], [-178, 179]), ([177, 180, -180, -175], [177, -175], [-180, 180]),
      ([-170, -90, 100], [-170, 100], [-170, 100]), ([-170, -140, 150], [150, -140], [-170, 150]),
      ([5, 6], [5, 6], [5, 6]), ([-6, -5], [-6, -5], [-6, -5]), ([-10, 10], [-10, 10], [-10, 10]),
      ([0], [0, 0], [0, 0]),
    ] as [([Double], [Double], [Double])])
  func extentCrossesTheAntimeridianWhereItIsMuchNarrower(
    longitudes: [Double], extent: [Double], bounds: [Double]
  ) throws {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    var snapshot = PointSnapshot()
    // Places that were removed do not count.
    for (number, longitude) in (longitudes + [-179.5, 0.5]).enumerated() {
      let draft = try ImportRow.sample("P", 1, longitude).draft
      let point = PointOfInterest(
        id: .sample(UInt64(number)), draft: draft, version: 1, createdAt: time, updatedAt: time)
      snapshot = snapshot.applying(.init(puts: [point]))
    }
    let removed = [longitudes.count, longitudes.count + 1].map { PointID.sample(UInt64($0)) }
    snapshot = snapshot.applying(.init(removals: removed))

    let found = try #require(snapshot.extent(ofCategories: []))
    let plain = try #require(snapshot.bounds)

    #expect([found.west, found.east] == extent)
    #expect([plain.west, plain.east] == bounds)
  }
}
