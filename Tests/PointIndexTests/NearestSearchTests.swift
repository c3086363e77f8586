import Foundation
import Geo
import Points
import SyntheticData
import TestSupport
import Testing

@testable import PointIndex

@Suite struct NearestSearchTests {
  /// The number of places, some more than a page and its margin.
  private static let count = 60

  /// Returns the position in a direction from a centre at the end of a chord of a length in metres.
  private static func coordinate(from center: Coordinate, chord: Double, radians: Double) throws -> Coordinate {
    let start = EarthCentred(center)
    func end(degrees: Double) throws -> Coordinate {
      try Coordinate(
        latitude: center.latitude + degrees * cos(radians), longitude: center.longitude + degrees * sin(radians))
    }
    var (low, high) = (0.0, 20.0)
    for _ in 0..<80 {
      let middle = (low + high) / 2
      if try start.chordSquared(to: EarthCentred(end(degrees: middle))) < chord * chord {
        low = middle
      } else {
        high = middle
      }
    }
    return try end(degrees: high)
  }

  /// Returns places in random directions, the chord of each longer by a step than that of the one before; without a
  /// step, all at one position.
  private static func ring(around center: Coordinate, chord: Double, step: Double) throws -> ContiguousArray<
    PointOfInterest
  > {
    var generator = SeededGenerator(seed: 5)
    let time = Timestamp(microsecondsSinceEpoch: 0)
    var points: ContiguousArray<PointOfInterest> = []
    for number in 0..<count {
      let radians = step == 0 ? 1 : Double.random(in: 0..<(2 * .pi), using: &generator)
      let position = try coordinate(from: center, chord: chord + Double(number) * step, radians: radians)
      let row = try ImportRow.sample("\(number)", position.latitude, position.longitude)
      let id = PointID.sample(UInt64(number * 37 % count))
      points.append(PointOfInterest(id: id, draft: row.draft, version: 1, createdAt: time, updatedAt: time))
    }
    return points
  }

  @Test(
    arguments: [(10, 0), (10, 1e-5), (100_000, 0.001), (299_990, 0.3), (400_000, 0.2), (450_000, 5), (700_000, 1)],
    [1, 5, 20, 55, 59, 60])
  func nearestAreThoseOfBruteForceWhereChordsHardlyDiffer(ring: (chord: Double, step: Double), limit: Int) throws {
    let center = try Coordinate(latitude: 48.2, longitude: 16.4)
    let points = try Self.ring(around: center, chord: ring.chord, step: ring.step)
    let expected = points.map { (id: $0.id, metres: Geodesic.distanceMetres(from: center, to: $0.draft.coordinate)) }
      .sorted { ($0.metres, $0.id) < ($1.metres, $1.id) }
    let snapshot = PointSnapshot(points)
    var query = PointQuery(proximity: .init(center: center), limit: limit)

    var found: [FoundPoint] = []
    repeat {
      let page = try snapshot.page(matching: query)
      found += page.points
      query.after = page.next
    } while query.after != nil

    #expect(found.map(\.point.id) == expected.map(\.id))
    #expect(found.map(\.distanceMetres) == expected.map(\.metres))
  }
}
