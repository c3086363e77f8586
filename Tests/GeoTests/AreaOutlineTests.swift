import Testing

@testable import Geo

@Suite struct AreaOutlineTests {
  /// A ring of an area of that many positions around a place, in units of an outline.
  private static func ring(
    around center: Coordinate, degrees: Double, vertices: Int, _ shapes: inout RandomShapes
  ) throws -> [Coordinate] {
    try shapes.ring(around: center, degrees: degrees, vertices: vertices).map { coordinate in
      func rounded(_ degrees: Double) -> Double { (degrees * 1e7).rounded() / 1e7 }
      return try Coordinate(latitude: rounded(coordinate.latitude), longitude: rounded(coordinate.longitude))
    }
  }

  @Test(arguments: [0.001, 0.1, 1, 3, 40])
  func outlineHasThePlacesOfTheGeodesicArea(_ degrees: Double) throws {
    var shapes = RandomShapes(seed: UInt64(degrees * 1000))
    var insideCount = 0
    for _ in 0..<60 {
      let center = try shapes.center()
      let vertices = shapes.integer(in: 3...200)
      let outer = try Self.ring(around: center, degrees: degrees, vertices: vertices, &shapes)
      let hole = try Self.ring(around: center, degrees: degrees * 0.3, vertices: 12, &shapes)
      let other = try Self.ring(
        around: shapes.place(around: center, degrees: degrees), degrees: degrees, vertices: 20, &shapes)
      guard let area = try? GeodesicArea(polygons: [[outer, hole], [other]]) else { continue }
      let outline = try AreaOutline(polygons: [[outer, hole], [other]], isMultiple: true)

      for number in 0..<200 {
        // Some places have the longitude of a vertex.
        var place = try shapes.place(around: center, degrees: degrees * 1.3)
        if number.isMultiple(of: 5) {
          place = try Coordinate(latitude: place.latitude, longitude: outer[number % outer.count].longitude)
        }
        let isInside = outline.contains(place, at: EarthCentred(place))
        #expect(isInside == area.contains(place), "\(place) of \(outer)")
        let isInBox = outline.boxes.contains { $0.intersects(AreaOutline.Box(place)) }
        #expect(!isInside || isInBox, "\(place) of \(outer)")
        insideCount += isInside ? 1 : 0
      }
    }
    #expect(insideCount > 1000)
  }

  @Test func neighboursHaveEachPlaceOnce() throws {
    // A strip of cells whose common borders have the same positions.
    var shapes = RandomShapes(seed: 7)
    let lines = try (0...8).map { column in
      try (0...60).map { row in
        try Coordinate(
          latitude: 40 + Double(row) * 0.01,
          longitude: Double(column) * 0.3 + (row % 60 == 0 ? 0 : shapes.number(in: -0.1...0.1)))
      }
    }
    let cells = try (0..<8).map { column in
      try AreaOutline(
        polygons: [[lines[column] + lines[column + 1].reversed() + lines[column].prefix(1)]], isMultiple: false)
    }

    for _ in 0..<5000 {
      // In their units, so that some are on a border.
      let place = try Coordinate(
        latitude: shapes.number(in: 40.001...40.59), longitude: (shapes.number(in: 0.15...2.25) * 50).rounded() / 50)
      #expect(cells.count { $0.contains(place, at: EarthCentred(place)) } == 1, "\(place)")
    }
  }

  @Test func binaryFormIsReadAgainAndShortenedOneIsNot() throws {
    var shapes = RandomShapes(seed: 3)
    for isMultiple in [false, true] {
      let center = try Coordinate(latitude: 48.2, longitude: 16.37)
      let ring = try Self.ring(around: center, degrees: 0.2, vertices: 500, &shapes)
      let outline = try AreaOutline(polygons: [[ring]], isMultiple: isMultiple)

      let bytes = outline.wkb

      #expect(bytes.withUnsafeBytes { AreaOutline(wkb: $0) } == outline)
      for count in [0, 1, 5, 9, 13, bytes.count - 1] {
        #expect(bytes.prefix(count).withUnsafeBytes { AreaOutline(wkb: $0) } == nil)
      }
    }
  }

  /// Returns a polygon whose western side goes to and fro across the meridian of 10 degrees.
  private static func comb(teeth: Int) throws -> [Coordinate] {
    let north = 41.0
    let side = try (0..<teeth).map { index in
      try Coordinate(
        latitude: north - Double(index) / Double(teeth), longitude: index.isMultiple(of: 2) ? 9.98 : 10.02)
    }
    let back = try stride(from: 40.0, through: north, by: 0.2).map { try Coordinate(latitude: $0, longitude: 10.4) }
    return side + back
  }

  @Test func sideThatCrossesAMeridianManyTimesHasThePlacesOfTheGeodesicArea() throws {
    let ring = try Self.comb(teeth: 4_000)
    let area = try GeodesicArea(polygons: [[ring]])
    let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)
    var shapes = RandomShapes(seed: 11)

    for _ in 0..<500 {
      let place = try Coordinate(
        latitude: shapes.number(in: 39.9...41.1), longitude: shapes.number(in: 9.97...10.03))
      #expect(outline.contains(place, at: EarthCentred(place)) == area.contains(place), "\(place)")
    }
  }

  @Test func placeIsComparedWithFewOfTheEdgesOnItsMeridian() throws {
    let outline = try AreaOutline(polygons: [[Self.comb(teeth: 100_000)]], isMultiple: false)
    let place = try Coordinate(latitude: 40.02, longitude: 10.01)
    var steps = 20_000

    let isInside = outline.contains(place, at: EarthCentred(place), within: &steps)

    // Those within the height by which a short edge may bulge are compared one by one.
    #expect(isInside == outline.contains(place, at: EarthCentred(place)))
  }

  @Test func lookUpEndsWhereNoStepsAreLeft() throws {
    // All edges are around the place.
    let ring = try (0..<20_000).map { index in
      let (sign, shift) = (index.isMultiple(of: 2) ? -1.0 : 1.0, Double(index) * 1e-7)
      return try Coordinate(latitude: 40 + sign * 0.02 + shift, longitude: 10 + sign * 0.02)
    }
    let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)
    let place = try Coordinate(latitude: 40.001, longitude: 10)
    var (few, many) = (1_000, 100_000)

    #expect(outline.contains(place, at: EarthCentred(place), within: &few) == nil)
    #expect(outline.contains(place, at: EarthCentred(place), within: &many) != nil)
    #expect(many < 100_000 && many >= 0)
  }

  @Test func positionTakesAtMostSixteenBytes() throws {
    var shapes = RandomShapes(seed: 4)
    let center = try Coordinate(latitude: 48.2, longitude: 16.37)
    let ring = try Self.ring(around: center, degrees: 0.5, vertices: 20_000, &shapes)

    let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)

    #expect(outline.positionCount == 20_000)
    #expect(outline.byteCount <= 16 * outline.positionCount)
  }

  @Test func ringThatEnclosesNothingIsLeftOutAndAnAreaOfSuchIsRejected() throws {
    func ring(_ degrees: Double) throws -> [Coordinate] {
      try [(0, 0), (0, degrees), (degrees, degrees), (0, 0)].map {
        try Coordinate(latitude: 10 + $0.0, longitude: 20 + $0.1)
      }
    }

    let outline = try AreaOutline(polygons: [[ring(1), ring(1e-9)], [ring(1e-9)]], isMultiple: true)

    #expect(outline.polygons.map(\.count) == [1])
    #expect(throws: AreaOutlineError.shape(.tooFewPositions)) {
      try AreaOutline(polygons: [[ring(1e-9)]], isMultiple: false)
    }
  }

  @Test func ringThatCrossesItselfHasThePlacesOfBothLoops() throws {
    let ring = try [(0.0, 0.0), (0.1, 0.1), (0, 0.1), (0.1, 0)].map {
      try Coordinate(latitude: $0.0, longitude: $0.1)
    }
    let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)

    let places = try [(0.05, 0.02), (0.05, 0.08), (0.09, 0.05), (0.01, 0.05)].map {
      try Coordinate(latitude: $0.0, longitude: $0.1)
    }

    let area = try outline.geodesicArea()
    #expect(places.map { outline.contains($0, at: EarthCentred($0)) } == places.map { area.contains($0) })
    #expect(places.contains { outline.contains($0, at: EarthCentred($0)) })
  }

  @Test func largerOfTwoAreasHasTheGreaterSize() throws {
    func square(_ degrees: Double) throws -> AreaOutline {
      let ring = try [(0, 0), (0, degrees), (degrees, degrees), (degrees, 0)].map {
        try Coordinate(latitude: 45 + $0.0, longitude: 179.5 + $0.1 > 180 ? $0.1 - 180.5 : 179.5 + $0.1)
      }
      return try AreaOutline(polygons: [[ring]], isMultiple: false)
    }

    let (small, large) = (try square(0.1).squareMetres, try square(1).squareMetres)

    // A square of 0.1 degrees at 45 degrees north has 11.1 by 7.9 km.
    #expect((80e6...95e6).contains(small))
    #expect((8e9...9.5e9).contains(large))
  }
}
