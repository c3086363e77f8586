import Testing

@testable import OpenStreetMap

@Suite struct OsmiumFileTests {
  @Test(arguments: [OsmiumFiles.dense, OsmiumFiles.plain, OsmiumFiles.located])
  func filesOfOsmiumAreRead(bytes: [UInt8]) throws {
    let places = try places(of: bytes)

    #expect(
      places == [
        OSMPlace(
          kind: .node, id: 101, version: 3, tags: [OSMTag("amenity", "cafe"), OSMTag("name", "Café Zürich")],
          latitude: 47.166, longitude: 9.51),
        OSMPlace(
          kind: .way, id: 201, version: 4, tags: [OSMTag("building", "yes"), OSMTag("name", "Rathaus")],
          latitude: 47.16621, longitude: 9.5102),
        OSMPlace(
          kind: .relation, id: 301, version: 2, tags: [OSMTag("leisure", "park"), OSMTag("type", "multipolygon")],
          latitude: 47.16621, longitude: 9.5102),
      ])
  }

  @Test func replicationStateIsReported() throws {
    let report = try TestFile(OsmiumFiles.dense, name: "town.osm.pbf").places().report

    #expect(report.replicationSequence == 4711)
    #expect(report.replicationTimestamp == 1_767_398_400)
    #expect(report.objects == [.node: 5, .way: 3, .relation: 1])
    #expect(report.places == [.node: 1, .way: 1, .relation: 1])
  }

  @Test func lz4IsNamed() {
    #expect { try places(of: OsmiumFiles.lz4) } throws: { "\($0)".contains("compressed with LZ4") }
  }
}
