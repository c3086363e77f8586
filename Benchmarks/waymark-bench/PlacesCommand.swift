import ArgumentParser
import Geo
import Points
import SyntheticData

/// `waymark-bench places`: synthetic places as CSV.
struct PlacesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "places",
    abstract: "Writes synthetic places as CSV, clustered as real ones are; 50 are of the category 'rare'."
  )

  @Argument(help: "How many.") var count: Int
  @Option(help: "The same seed gives the same places.") var seed: UInt64 = 1

  /// How many places have the category that few have.
  private static let rareCount = 50

  func validate() throws {
    if count < Self.rareCount { throw ValidationError("there must be at least \(Self.rareCount) places") }
  }

  func run() throws {
    var places = try SyntheticPlaces(seed: seed)
    print("name,category,lat,long,source,sourceId,opening_hours,ref")
    var written = 0
    while written < count {
      let rows = try places.rows(count: min(10_000, count - written))
      var text = ""
      for (index, row) in rows.enumerated() {
        let place = row.place
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
