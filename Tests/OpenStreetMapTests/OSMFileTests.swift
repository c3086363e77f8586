import Foundation
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

  @Test(arguments: ["/nonexistent.osm.pbf", "/dev/null/a.osm", "/tmp/.osm.pbf/"])
  func filesThatCannotBeOpenedAreErrors(path: String) {
    #expect { try OSMFile(path: path, format: .pbf).places() } throws: { "\($0)".hasPrefix("the file can't be read: ") }
  }

  @Test func pipesAndFoldersAreErrors() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "waymark-\(UUID().uuidString).osm").path
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }

    for path in [path, FileManager.default.temporaryDirectory.path] {
      #expect(throws: OSMError.unreadable("it is not a regular file")) {
        try OSMFile(path: path, format: .xml).places()
      }
    }
  }

  @Test(arguments: ["places.csv", "osm", "a.osm.bz2", "a.xml", ""])
  func otherFileNamesAreRejected(name: String) {
    #expect(throws: OSMError.unknownFormat) { try OSMFile(path: name) }
  }
}
