import ArgumentParser
import Geo
import Basics
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
      WorstTextCommand.self, SearchRecallCommand.self, TextsCommand.self, JournalCommand.self,
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
  @Flag(name: .customLong("named"), help: "Give the places names of many languages, and addresses.") var areNamed =
    false

  /// The number of places of the category `rare`.
  private static let rareCount = 50

  func validate() throws {
    if count < Self.rareCount { throw ValidationError("count must be at least \(Self.rareCount), got \(count)") }
  }

  func run() throws {
    if areNamed { return try writeNamed() }
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

  /// The tags of places with names, which are columns.
  private static let columns = [
    "name:en", "addr:street", "addr:housenumber", "addr:city", "wikidata", "population",
  ]

  private func writeNamed() throws {
    var places = try SyntheticPoints(seed: seed, areNamed: true)
    print("name,category,lat,long,source,sourceId," + Self.columns.joined(separator: ","))
    for start in stride(from: 0, to: count, by: 10_000) {
      var text = ""
      for row in try places.rows(count: min(10_000, count - start)) {
        let place = row.draft
        let tags = place.tags.dictionary
        let (latitude, longitude) = (place.coordinate.latitude, place.coordinate.longitude)
        text += "\(place.name),\(place.category ?? ""),\(latitude),\(longitude),synthetic,node/\(row.number),"
        text += Self.columns.map { tags[ExactText($0)] ?? "" }.joined(separator: ",") + "\n"
      }
      print(text, terminator: "")
    }
  }
}
