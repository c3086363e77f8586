import OpenStreetMap
import Testing

@Suite struct OSMFileTests {
  @Test(arguments: [
    ("berlin.osm.pbf", OSMFile.Format.pbf), ("BERLIN.PBF", .pbf), ("a.osm", .xml), ("a.osm.xml.gz", .xml),
    ("a.osm.gz", .xml), ("1.osc", .changes), ("1.osc.gz", .changes),
  ])
  func formatFollowsTheFileName(name: String, format: OSMFile.Format) throws {
    #expect(try OSMFile(path: name).format == format)
  }

  @Test(arguments: ["places.csv", "osm", "a.osm.bz2", "a.xml", ""])
  func otherFileNamesAreRejected(name: String) {
    #expect(throws: OSMError.unknownFormat) { try OSMFile(path: name) }
  }
}
