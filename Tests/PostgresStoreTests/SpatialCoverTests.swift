import Geo
import SyntheticData
import TestSupport
import Testing

@testable import PostgresStore

/// Tests that the searched boxes contain every matching place.
@Suite struct SpatialCoverTests {
  private static func contains(_ box: SpatialBox, _ position: EarthCentred) -> Bool {
    let position = SIMD3(position.x, position.y, position.z)
    return all(box.least .<= position) && all(position .<= box.greatest)
  }

  @Test(arguments: 1...20) func boxesOfARingContainEveryPlaceInIt(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    var places = try SyntheticPoints(seed: seed)
    for _ in 0..<500 {
      let center = try places.anywhere()
      // Near and far, and sometimes at the antipodes.
      var place = try places.anywhere()
      switch Int.random(in: 0..<3, using: &generator) {
      case 0:
        let latitude = center.latitude + .random(in: -0.01...0.01, using: &generator)
        place = try Coordinate(latitude: min(90, max(-90, latitude)), longitude: center.longitude)
      case 1:
        let longitude = center.longitude > 0 ? center.longitude - 180 : center.longitude + 180
        place = try Coordinate(latitude: -center.latitude, longitude: longitude)
      default: break
      }
      let position = EarthCentred(place)
      let chord = EarthCentred(center).chordSquared(to: position).squareRoot()
      let width = chord * .random(in: 0...0.5, using: &generator)
      let inner = max(0, chord - width * .random(in: 0...1, using: &generator))
      let sectors = Int.random(in: 1...200, using: &generator)

      let boxes = RingCover(around: center, chords: inner...(inner + width)).boxes(atMost: sectors, within: nil)

      #expect((1...sectors).contains(boxes.count))
      #expect(boxes.contains { Self.contains($0, position) }, "\(place) is \(chord) m from \(center)")
    }
  }

  @Test(arguments: 1...20) func spatialBoxContainsEveryPlaceOfItsBoundingBox(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let south = Double.random(in: -90...90, using: &generator)
      let box = try BoundingBox(
        west: .random(in: -180...180, using: &generator),
        south: south,
        east: .random(in: -180...180, using: &generator),
        north: .random(in: south...90, using: &generator)
      )
      let ranges = box.longitudeRanges
      let longitudes = ranges[Int.random(in: ranges.indices, using: &generator)]
      let place = try Coordinate(
        latitude: .random(in: box.south...box.north, using: &generator),
        longitude: .random(in: longitudes, using: &generator)
      )

      let region = SpatialBox(box)

      #expect(box.contains(place))
      #expect(Self.contains(region, EarthCentred(place)), "\(place) in \(box)")
    }
  }

  @Test func smallBoundingBoxHasASmallSpatialBox() throws {
    let region = SpatialBox(try BoundingBox(west: 16, south: 48, east: 16.01, north: 48.01))

    let edges = region.greatest - region.least
    #expect(all(edges .< SIMD3(repeating: 1500)))
  }

  @Test func manySectorsCoverLittleOutsideTheRing() throws {
    let center = try Coordinate(latitude: 48, longitude: 16)

    let boxes = RingCover(around: center, chords: 100_000...100_100).boxes(atMost: 128, within: nil)

    for box in boxes { #expect(all((box.greatest - box.least) .< SIMD3(repeating: 5100))) }
  }

  @Test func sectorsOutsideARegionAreOmitted() throws {
    let center = try Coordinate(latitude: 0, longitude: 0)
    let north = SpatialBox(try BoundingBox(west: -90, south: 1, east: 90, north: 90))

    let boxes = RingCover(around: center, chords: 1_000_000...1_000_100).boxes(atMost: 128, within: north)

    #expect((50...66).contains(boxes.count))
  }
}
