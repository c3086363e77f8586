import Geo
import JSONText
import Points
import SyntheticData
import TestSupport

@testable import PointIndex

/// Places that are changed at random, in a snapshot and in a dictionary.
struct ChangingPlaces {
  private(set) var snapshot: PointSnapshot
  private(set) var points: [PointID: PointOfInterest] = [:]
  private var random: SeededGenerator
  private var version: Int64 = 0

  init(_ count: Int, seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    var puts: ContiguousArray<PointOfInterest> = []
    for _ in 0..<count { puts.append(try Self.point(UInt64(puts.count), 0, &random)) }
    snapshot = PointSnapshot(puts)
    for point in puts { points[point.id] = point }
  }

  /// Puts and removes places, most of them in a few towns.
  mutating func change(batches: Int, sizes: [Int]) throws {
    for _ in 0..<batches {
      let size = sizes[Int.random(in: sizes.indices, using: &random)]
      version += 1
      var puts: [PointID: PointOfInterest] = [:]
      var removals: [PointID] = []
      for _ in 0..<size {
        let number = UInt64.random(in: 0..<UInt64(max(points.count, 50) * 5 / 4), using: &random)
        if Int.random(in: 0..<5, using: &random) < 3 {
          puts[.sample(number)] = try Self.point(number, version, &random)
        } else {
          removals.append(.sample(number))
        }
      }
      snapshot = snapshot.applying(.init(puts: ContiguousArray(puts.values), removals: removals))
      for id in removals { points[id] = nil }
      for (id, point) in puts { points[id] = point }
    }
  }

  static func point(
    _ number: UInt64, _ version: Int64, _ random: inout SeededGenerator
  ) throws -> PointOfInterest {
    let town = Double(Int.random(in: 0..<6, using: &random))
    var (latitude, longitude) = (town * 14 - 35, town * 50 - 120)
    switch Int.random(in: 0..<12, using: &random) {
    case 0: (latitude, longitude) = ([-90, -86, 85.2, 90][Int(number % 4)], 180)
    case 1: longitude = number.isMultiple(of: 2) ? 180 : -180
    case 2: break
    default:
      latitude += Double.random(in: -0.2...0.2, using: &random) * Double.random(in: 0...1, using: &random)
      longitude += Double.random(in: -0.2...0.2, using: &random) * Double.random(in: 0...1, using: &random)
    }
    let category = ["cafe", "bar", "école", nil, "museum", "c\(number % 900)"][Int(number % 6)]
    let row = try ImportRow.sample(
      "P\(number) v\(version)", latitude, longitude, category: category,
      tags: ["cuisine": ["thai", "\"hot\"", "käse"][Int(number % 3)], "empty": ""], source: "s\(number % 3)",
      sourceID: "\(number)")
    return PointOfInterest(
      id: .sample(number), draft: row.draft, version: version + 1,
      createdAt: Timestamp(microsecondsSinceEpoch: 0), updatedAt: Timestamp(microsecondsSinceEpoch: version))
  }

  var reference: MapReference { MapReference(points: points.values.sorted { $0.id < $1.id }) }
}
