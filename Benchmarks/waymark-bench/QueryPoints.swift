import ArgumentParser
import Geo
import Points
import SyntheticData

/// The centres of searches: points within some kilometres of synthetic places, the same ones in every run.
enum QueryPoints {
  /// Returns points, in degrees of five decimals.
  ///
  /// - Parameter seed: the seed of the places.
  static func near(placesOf seed: UInt64, count: Int) throws -> [Coordinate] {
    var places = try SyntheticPoints(seed: seed)
    var generator = SeededGenerator(seed: seed + 1)
    return try places.rows(count: count).map { row in
      let latitude = row.draft.coordinate.latitude + Double.random(in: -0.05...0.05, using: &generator)
      let longitude = row.draft.coordinate.longitude + Double.random(in: -0.05...0.05, using: &generator)
      return try Coordinate(
        latitude: inPrint(min(90, max(-90, latitude))), longitude: inPrint(min(180, max(-180, longitude))))
    }
  }

  private static func inPrint(_ degrees: Double) -> Double { (degrees * 1e5).rounded() / 1e5 }
}

/// `waymark-bench points`: the centres of searches.
struct PointsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "points",
    abstract: "Writes latitude and longitude of points within some kilometres of synthetic places, a point a line."
  )

  @Argument(help: "The number of points.") var count: Int
  @Option(help: "The seed of the places.") var seed: UInt64 = 1

  func run() throws {
    for point in try QueryPoints.near(placesOf: seed, count: count) { print(point.latitude, point.longitude) }
  }
}
