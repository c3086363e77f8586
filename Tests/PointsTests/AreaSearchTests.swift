import Basics
import Foundation
import Geo
import TestSupport
import Testing

@testable import Points

/// Searches of areas by a place and by words, and the limits of their steps and their time.
@Suite struct AreaSearchTests {
  private static func area(_ number: Int, _ ring: [Coordinate], kind: AreaKind = .city) throws -> Area {
    let draft = try AreaDraft(
      name: "Area \(number)", kind: kind, outline: AreaOutline(polygons: [[ring]], isMultiple: false))
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return Area(id: .sample(UInt64(number)), draft: draft, version: 1, createdAt: time, updatedAt: time)
  }

  /// Returns a place whose longitude may be beyond the antimeridian.
  private static func place(_ latitude: Double, _ longitude: Double) throws -> Coordinate {
    try Coordinate(latitude: latitude, longitude: longitude > 180 ? longitude - 360 : longitude)
  }

  private static func square(south: Double, west: Double, degrees: Double) throws -> [Coordinate] {
    try [(0.0, 0.0), (0, degrees), (degrees, degrees), (degrees, 0)].map { try place(south + $0.0, west + $0.1) }
  }

  @Test func areasOfAnAddressAreThoseOfAScan() throws {
    var state: UInt64 = 11
    // A linear congruential generator (Knuth).
    func number(_ range: ClosedRange<Double>) -> Double {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return range.lowerBound + Double(state >> 11) / Double(1 << 53) * (range.upperBound - range.lowerBound)
    }
    let kinds = AreaKind.allCases
    let areas = Areas(
      try (0..<400).map { index in
        let ring = try Self.square(south: number(0...8), west: number(174...179), degrees: number(0.3...5))
        return try Self.area(index, ring, kind: kinds[index % kinds.count])
      }, version: 1)
    var count = 0

    for _ in 0..<200 {
      let place = try Self.place(number(0...12), number(174...184))
      var steps = AreaSteps()
      let found = try areas.completingAddress(at: place, within: &steps)

      let around = try areas.containing(place)
      let expected = around.filter { area in
        let same = around.filter { $0.draft.kind == area.draft.kind }
        return area.draft.kind != .custom && area.id == (area.draft.kind == .region ? same.last : same.first)?.id
      }
      #expect(found.map(\.id) == expected.map(\.id), "\(place)")
      count += found.count
    }
    #expect(count > 200)
  }

  @Test func placeInManyAreasIsComparedWithFewForItsAddress() throws {
    let areas = Areas(
      try (0..<400).map { index in
        // Sizes in an order without a pattern.
        let radius = 0.1 + 0.001 * Double((index * 7919 + 200) % 400)
        let ring = try (0..<320).map { corner in
          let angle = Double(corner) / 160 * Double.pi
          return try Coordinate(latitude: 50 + radius * sin(angle), longitude: 10 + radius * cos(angle))
        }
        return try Self.area(index, ring)
      }, version: 1)
    let place = try Coordinate(latitude: 50, longitude: 10)
    var (every, few) = (AreaSteps(), AreaSteps())

    let around = try areas.containing(place, within: &every)
    let found = try areas.completingAddress(at: place, within: &few)

    #expect(around.count == 400)
    #expect(found.map(\.id) == around.prefix(1).map(\.id))
    #expect(few.count < every.count / 4)
  }

  @Test func searchEndsAtTheDeadlineOfItsComputation() throws {
    let areas = Areas(
      try (0..<20).map { try Self.area($0, Self.square(south: 40, west: 10, degrees: 1)) }, version: 1)
    let place = try Coordinate(latitude: 40.5, longitude: 10.5)

    ComputationDeadline.$current.withValue(.now) {
      #expect(throws: PointStoreError.filterTimeout) { _ = try areas.containing(place) }
      #expect(throws: PointStoreError.filterTimeout) { _ = try areas.matching("area") }
      #expect(throws: PointStoreError.filterTimeout) {
        var steps = AreaSteps()
        _ = try areas.completingAddress(at: place, within: &steps)
      }
    }

    #expect(try areas.containing(place).count == 20)
    #expect(try areas.matching("area").count == 20)
    #expect(try areas.matching("area", kinds: [.country]).isEmpty)
  }

  @Test func searchOfACancelledTaskIsAnError() async throws {
    let areas = Areas([try Self.area(1, Self.square(south: 40, west: 10, degrees: 1))], version: 1)
    let place = try Coordinate(latitude: 40.5, longitude: 10.5)

    let result = await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return Result { try areas.containing(place) }
    }.value

    #expect(throws: PointStoreError.filterTimeout) { _ = try result.get() }
  }

  @Test func searchEndsAfterItsMaximumNumberOfSteps() throws {
    let areas = Areas(
      try (0..<20).map { try Self.area($0, Self.square(south: 40, west: 10, degrees: 1)) }, version: 1)
    let place = try Coordinate(latitude: 40.5, longitude: 10.5)
    var counted = AreaSteps()
    _ = try areas.containing(place, within: &counted)

    let count = counted.count
    var enough = AreaSteps(atMost: count)
    #expect(try areas.containing(place, within: &enough).count == 20)
    #expect(throws: PointStoreError.stepLimit) {
      var few = AreaSteps(atMost: count - 1)
      _ = try areas.containing(place, within: &few)
    }
  }

  @Test func placeIsComparedWithMoreEdgesThanAreBetweenTwoChecksOfTheTime() throws {
    // All edges are around the places.
    let ring = try (0..<50_000).map { index in
      let (sign, shift) = (index.isMultiple(of: 2) ? -1.0 : 1.0, Double(index) * 1e-7)
      return try Coordinate(latitude: 40 + sign * 0.02 + shift, longitude: 10 + sign * 0.02)
    }
    let area = try Self.area(1, ring)
    let areas = Areas([area], version: 1)

    for latitude in [40.001, 40.0010001] {
      let place = try Coordinate(latitude: latitude, longitude: 10)
      var steps = AreaSteps()

      let found = try areas.containing(place, within: &steps)

      #expect(steps.count > ring.count)
      #expect(found.isEmpty != area.draft.outline.contains(place, at: EarthCentred(place)))
    }
  }
}
