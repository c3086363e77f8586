import Testing

@testable import OpenStreetMap

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func cafesOfTheExampleAreFound() throws {
    let file = try TestFile(OsmiumFiles.dense, name: "town.osm.pbf")
    let (found, ways) = try Self.cafes(path: file.path)

    #expect(found.map(\.id) == [101])
    #expect(ways == 1)
  }

  private static func cafes(path: String) throws -> ([OSMPlace], ways: Int) {
    let reader = try OSMFile(path: path).places(OSMSelection())
    var cafes: [OSMPlace] = []
    while let places = try reader.next() {
      cafes += places.filter { $0["amenity"] == "cafe" }
    }
    let ways = reader.report.places[.way, default: 0]
    return (cafes, ways)
  }
}
