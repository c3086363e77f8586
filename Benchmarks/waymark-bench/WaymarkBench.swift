import ArgumentParser
import Geo
import Points
import SyntheticData

/// The program of the benchmark scripts: it writes places and query points that are the same in every run, and measures
/// parts of the service in process.
@main
struct WaymarkBench: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "waymark-bench",
    abstract: "Writes benchmark data, and measures parts of Waymark in process.",
    subcommands: [
      WritePointsCommand.self, PointsCommand.self, MicroCommand.self, IndexCommand.self, TextIndexCommand.self,
      SearchRecallCommand.self,
    ]
  )
}

/// `waymark-bench places`: synthetic places as CSV.
struct WritePointsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "places",
    abstract: "Writes synthetic places as CSV, clustered as real ones are; 50 are of the category 'rare'."
  )

  @Argument(help: "The number of places.") var count: Int
  @Option(help: "The same seed gives the same places.") var seed: UInt64 = 1

  /// The number of places of the category `rare`.
  private static let rareCount = 50

  func validate() throws {
    if count < Self.rareCount { throw ValidationError("count must be at least \(Self.rareCount), got \(count)") }
  }

  func run() throws {
    var places = try SyntheticPoints(seed: seed)
    print("name,category,lat,long,source,sourceId,opening_hours,ref")
    var written = 0
    while written < count {
      let rows = try places.rows(count: min(10_000, count - written))
      var text = ""
      for (index, row) in rows.enumerated() {
        let place = row.draft
        let isRare = (written + index) % (count / Self.rareCount) == 0
        let (latitude, longitude) = (place.coordinate.latitude, place.coordinate.longitude)
        text += "\(place.name),\(isRare ? "rare" : place.category ?? ""),\(latitude),\(longitude),"
        text += "synthetic,node/\(row.number),\(place.tags["opening_hours"] ?? ""),\(place.tags["ref"] ?? "")\n"
      }
      print(text, terminator: "")
      written += rows.count
    }
  }
}
