import ArgumentParser
import Geo

/// `waymark-bench points`: where searches are made.
struct PointsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "points",
    abstract: "Writes latitude and longitude of points within some kilometres of synthetic places, a point a line."
  )

  @Argument(help: "How many.") var count: Int
  @Option(help: "The seed that the places were made with.") var seed: UInt64 = 1

  func run() throws {
    for point in try QueryPoints.near(placesOf: seed, count: count) { print(point.latitude, point.longitude) }
  }
}
