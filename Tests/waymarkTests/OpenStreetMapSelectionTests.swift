import OpenStreetMap
import PointMapping
import Testing

@Suite struct OpenStreetMapSelectionTests {
  @Test func mappingSelectsTheObjectsThatTheReaderSelectsByDefault() throws {
    let mapping = try #require(Mapping(builtIn: "osm"))

    #expect(Set(mapping.requiredFields.map { OSMTagFilter($0.name, $0.values) }) == Set(OSMTagFilter.places))
  }
}
