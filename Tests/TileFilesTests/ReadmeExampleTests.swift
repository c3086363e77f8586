import Foundation
import GRDB
import Geo
import Testing
import TileFiles

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func imageOfTheExampleIsFound() throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "tiles-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: path) }
    let database = try DatabaseQueue(path: path)
    // Rows of MBTiles count from the south.
    try database.write { database in
      try database.execute(
        sql: """
          CREATE TABLE metadata (name TEXT, value TEXT);
          CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
          INSERT INTO tiles VALUES (3, 4, 5, X'89504E470D0A1A0A07');
          """)
    }
    try database.close()

    let image = try Self.image(path: path)

    #expect(image?.mediaType == "image/png")
    #expect(image?.bytes.last == 7)
  }

  private static func image(path: String) throws -> TileImage? {
    let file = try TileFile(path: path)
    guard let address = TileAddress(zoom: 3, x: 4, y: 2) else { return nil }
    let image = try file.image(of: address)
    return image
  }
}
