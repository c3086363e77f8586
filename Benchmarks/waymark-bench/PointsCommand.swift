import ArgumentParser
import Geo
import Points
import SyntheticData

/// `waymark-bench points`: where searches are made.
struct PointsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "points",
    abstract: "Writes latitude and longitude of points within some kilometres of synthetic places, a point a line."
  )

  @Argument(help: "How many.") var count: Int
  @Option(help: "The seed that the places were made with.") var seed: UInt64 = 1

  func run() throws {
    var places = try SyntheticPlaces(seed: seed)
    var generator = SeededGenerator(seed: seed + 1)
    for row in try places.rows(count: count) {
      let latitude = row.place.coordinate.latitude + Double.random(in: -0.05...0.05, using: &generator)
      let longitude = row.place.coordinate.longitude + Double.random(in: -0.05...0.05, using: &generator)
      print(Self.inPrint(min(90, max(-90, latitude))), Self.inPrint(min(180, max(-180, longitude))))
    }
  }

  private static func inPrint(_ degrees: Double) -> Double { (degrees * 1e5).rounded() / 1e5 }
}
