import Foundation
import Geo
import Testing

@testable import OpenStreetMap

@Suite struct GeometryTests {
  private func position(_ x: Double, _ y: Double) -> FixedPosition {
    FixedPosition(latitude: Int32(y.rounded()), longitude: Int32(x.rounded()))
  }

  /// Returns a ring around a centre with corners at random distances, so that it does not cross itself.
  private func star(
    x: Double, y: Double, radii: ClosedRange<Double>, corners: Int, using random: inout SeededGenerator
  ) -> [FixedPosition] {
    var ring = (0..<corners).map { corner in
      let angle = 2 * Double.pi * Double(corner) / Double(corners)
      let radius = Double.random(in: radii, using: &random)
      return position(x + radius * cos(angle), y + radius * sin(angle))
    }
    ring.append(ring[0])
    return ring
  }

  /// Returns a Boolean value that indicates whether the sum of the angles to the corners is a full turn.
  private func winds(_ ring: [FixedPosition], around point: PlanePoint) -> Bool {
    var turn = 0.0
    for (start, end) in zip(ring, ring.dropFirst()) {
      let from = atan2(Double(start.latitude) - point.y, Double(start.longitude) - point.x)
      let to = atan2(Double(end.latitude) - point.y, Double(end.longitude) - point.x)
      turn += remainder(to - from, 2 * .pi)
    }
    return abs(turn) > .pi
  }

  @Test func pointIsInsideRandomAreasAndOutsideTheirHoles() throws {
    var random = SeededGenerator(seed: 1)
    for _ in 0..<500 {
      let x = Double.random(in: -1.7e9...1.7e9, using: &random)
      let y = Double.random(in: -8e8...8e8, using: &random)
      let outer = star(
        x: x, y: y, radii: 60_000...100_000, corners: Int.random(in: 5...60, using: &random), using: &random)
      // The hole contains the centroid.
      let hole = star(
        x: x, y: y, radii: 20_000...40_000, corners: Int.random(in: 5...20, using: &random), using: &random)
      var shape = AreaShape()
      shape.add(outer, isHole: false)
      shape.add(hole, isHole: true)

      let point = try #require(shape.pointInside())

      #expect(winds(outer, around: point))
      #expect(!winds(hole, around: point))
    }
  }

  @Test func pointOfAConcaveAreaIsInside() throws {
    // Letters U and C, whose centroids are outside, and a thin diagonal.
    let shapes: [[(Double, Double)]] = [
      [(0, 0), (10, 0), (10, 10), (9, 10), (9, 1), (1, 1), (1, 10), (0, 10), (0, 0)],
      [(0, 0), (10, 0), (10, 1), (1, 1), (1, 9), (10, 9), (10, 10), (0, 10), (0, 0)],
      [(0, 0), (0.1, 0), (100, 100), (99.9, 100), (0, 0)],
    ]
    for corners in shapes {
      let ring = corners.map { position($0.0 * 1000, $0.1 * 1000) }
      var shape = AreaShape()
      shape.add(ring, isHole: false)

      #expect(winds(ring, around: try #require(shape.pointInside())))
    }
  }

  @Test func centroidIsPreferred() throws {
    var shape = AreaShape()
    shape.add([(0, 0), (400, 0), (400, 200), (0, 200), (0, 0)].map { position($0.0, $0.1) }, isHole: false)

    #expect(shape.pointInside() == PlanePoint(x: 200, y: 100))
  }

  @Test func emptyAreasHaveNoPoint() {
    var line = AreaShape()
    line.add([(0, 0), (5, 5), (9, 9), (0, 0)].map { position($0.0, $0.1) }, isHole: false)
    var point = AreaShape()
    point.add([FixedPosition](repeating: position(7, 7), count: 5), isHole: false)

    #expect(AreaShape().pointInside() == nil)
    #expect(line.pointInside() == nil)
    #expect(point.pointInside() == nil)
  }

  @Test func areaAcrossTheAntimeridianHasItsPointThere() throws {
    var shape = AreaShape()
    shape.add(
      [(179.9, 10), (-179.7, 10), (-179.7, 10.2), (179.9, 10.2), (179.9, 10)].map { position($0.0 * 1e7, $0.1 * 1e7) },
      isHole: false)

    let point = try #require(shape.pointInside()).degrees

    #expect(abs(point.longitude - -179.9) < 1e-6)
    #expect(abs(point.latitude - 10.1) < 1e-6)
  }

  @Test func ringAroundThePoleKeepsItsLongitudes() {
    let ring = [(0.0, 80.0), (120, 80), (-120, 80), (0, 80)].map { position($0.0 * 1e7, $0.1 * 1e7) }

    #expect(Plane.path(ring.map { PlanePoint($0) }).points.map(\.x) == [0, 1.2e9, -1.2e9, 0])
  }

  // MARK: - Lines

  @Test func middleIsHalfwayByLength() throws {
    // At 60° a degree of longitude is half as long as one of latitude.
    let points = [(10.0, 60.0), (10.002, 60), (10.002, 60.003)].map { PlanePoint(x: $0.0 * 1e7, y: $0.1 * 1e7) }

    let middle = try #require(Plane.middle(ofLine: points)).degrees

    #expect(middle.longitude == 10.002)
    #expect(abs(middle.latitude - 60.001) < 1e-6)
  }

  @Test func middleOfALongSegmentIsAnEnd() {
    let points = [(0.0, 60.0), (40, 60)].map { PlanePoint(x: $0.0 * 1e7, y: $0.1 * 1e7) }

    #expect(points.contains(Plane.middle(ofLine: points) ?? PlanePoint(x: 0, y: 0)))
  }

  @Test func middleOfLinesWithoutLengthIsTheirPoint() {
    let point = PlanePoint(x: 5, y: 6)

    #expect(Plane.middle(ofLine: []) == nil)
    #expect(Plane.middle(ofLine: [point]) == point)
    #expect(Plane.middle(ofLine: [point, point]) == point)
  }

  @Test func middleOfRandomLinesIsOnThem() throws {
    var random = SeededGenerator(seed: 2)
    for _ in 0..<300 {
      let points = (0..<Int.random(in: 2...30, using: &random)).map { _ in
        PlanePoint(
          x: Double(Int.random(in: 0...90_000, using: &random)), y: Double(Int.random(in: 0...90_000, using: &random)))
      }
      let middle = try #require(Plane.middle(ofLine: points))
      let distances = zip(points, points.dropFirst()).map { start, end in
        // The detour over the point, along the segment.
        hypot(middle.x - start.x, middle.y - start.y) + hypot(end.x - middle.x, end.y - middle.y)
          - hypot(end.x - start.x, end.y - start.y)
      }
      #expect((distances.min() ?? 1) < 1.5)
    }
  }

  // MARK: - Rings

  @Test func ringsAreJoinedFromWaysInAnyOrderAndDirection() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<200 {
      var ways: [RingAssembly.Way] = []
      var corners: Set<FixedPosition> = []
      for number in 0..<4 {
        let ring = star(
          x: Double(number) * 300_000, y: 0, radii: 50_000...100_000,
          corners: Int.random(in: 4...40, using: &random), using: &random)
        corners.formUnion(ring)
        let cuts = ([0, ring.count - 1] + (0..<3).map { _ in Int.random(in: 1..<ring.count - 1, using: &random) })
          .sorted()
        for (start, end) in zip(cuts, cuts.dropFirst()) where end > start {
          let part = Array(ring[start...end])
          ways.append(
            RingAssembly.Way(positions: Bool.random(using: &random) ? part : part.reversed(), isInner: number == 3))
        }
      }
      let rings = RingAssembly(ways.shuffled(using: &random)).rings

      #expect(rings.count == 4)
      #expect(rings.filter(\.isInner).count == 1)
      #expect(rings.allSatisfy { $0.positions.first == $0.positions.last })
      #expect(Set(rings.flatMap(\.positions)) == corners)
    }
  }

  @Test func ringsThatTouchAreClosed() {
    let corners = [(0, 0), (2, 2), (0, 2), (4, 4), (2, 4)].map { position($0.0, $0.1) }
    let parts = [[0, 1], [1, 2, 0], [1, 3], [3, 4, 1]].map { part in
      RingAssembly.Way(positions: part.map { corners[$0] }, isInner: false)
    }

    let segments = RingAssembly(parts).rings.reduce(0) { $0 + $1.positions.count - 1 }

    #expect(segments == 6)
  }

  @Test func waysThatLeadNowhereAreLeftOut() {
    let corners = [(0, 0), (2, 0), (2, 2), (9, 9), (8, 8)].map { position($0.0, $0.1) }
    let parts = [[0, 3], [3, 4], [0, 1], [1, 2, 0]].map { part in
      RingAssembly.Way(positions: part.map { corners[$0] }, isInner: false)
    }

    let rings = RingAssembly(parts).rings

    #expect(rings.count == 1)
    #expect(Set(rings[0].positions) == Set(corners[0...2]))
  }

  // MARK: - Meaning of tags

  @Test(arguments: [
    (["building": "yes"], true), (["name": "Island"], true), (["highway": "residential"], false),
    (["highway": "pedestrian", "area": "yes"], true), (["amenity": "parking", "area": "no"], false),
    (["barrier": "fence", "landuse": "meadow"], true), (["barrier": "fence", "name": "Fence"], false),
    (["natural": "coastline", "name": "Island"], false), (["leisure": "track"], false), (["leisure": "park"], true),
    (["waterway": "dock"], true), (["railway": "station"], true), (["highway": "services"], true),
  ])
  func tagsTellAreasFromLines(tags: [String: String], isArea: Bool) {
    #expect(AreaTags.isArea(tags.map { OSMTag($0.key, $0.value) }) == isArea)
  }
}
