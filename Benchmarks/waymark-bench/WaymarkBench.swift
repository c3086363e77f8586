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
      WorstTextCommand.self, SearchRecallCommand.self, TextsCommand.self, JournalCommand.self, AreasCommand.self,
      DuplicatesCommand.self, IndexStartCommand.self,
    ]
  )
}

extension SyntheticPoints.Content: ExpressibleByArgument {}

/// `waymark-bench places`: synthetic places as CSV.
struct WritePointsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "places",
    abstract: "Writes synthetic places as CSV, clustered as real ones are; 50 are of the category 'rare'."
  )

  @Argument(help: "The number of places.") var count: Int
  @Option(help: "The same seed gives the same places.") var seed: UInt64 = 1
  @Option(help: "What the places have: numbers, names in many languages, or contacts too.") var content =
    SyntheticPoints.Content.numbers
  @Option(help: "The number of towns.") var towns = 400
  @Option(help: "The number of categories.") var categories = 60

  /// The number of places of the category `rare`.
  private static let rareCount = 50

  func validate() throws {
    if count < Self.rareCount { throw ValidationError("count must be at least \(Self.rareCount), got \(count)") }
    if towns < 1 { throw ValidationError("--towns must be at least 1, got \(towns)") }
    if categories < 1 { throw ValidationError("--categories must be at least 1, got \(categories)") }
  }

  func run() throws {
    var places = try SyntheticPoints(seed: seed, townCount: towns, categoryCount: categories, content: content)
    switch content {
    case .numbers: try writeNumbered(&places)
    case .names:
      try write(
        &places, columns: ["name:en", "addr:street", "addr:housenumber", "addr:city", "wikidata", "population"])
    case .contacts:
      try write(
        &places, columns: ["addr:full", "addr:city", "addr:postcode", "addr:country", "confidence", "phone", "website"])
    }
  }

  private func writeNumbered(_ places: inout SyntheticPoints) throws {
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

  /// Writes places with a column for each tag.
  private func write(_ places: inout SyntheticPoints, columns: [String]) throws {
    print("name,category,lat,long,source,sourceId," + columns.joined(separator: ","))
    for start in stride(from: 0, to: count, by: 10_000) {
      var text = ""
      for row in try places.rows(count: min(10_000, count - start)) {
        let place = row.draft
        let tags = place.tags.dictionary
        let (latitude, longitude) = (place.coordinate.latitude, place.coordinate.longitude)
        text += "\(place.name),\(place.category ?? ""),\(latitude),\(longitude),synthetic,node/\(row.number),"
        text += columns.map { tags[ExactText($0)] ?? "" }.joined(separator: ",") + "\n"
      }
      print(text, terminator: "")
    }
  }
}
