import Foundation
import GRDB
import Geo
import Gzip
import Testing

@testable import TileFiles

/// Files that the tests write, and that writers of others or damage could have made.
@Suite struct TileFileTests {
  private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

  /// Returns an image with a number in it.
  private static func image(_ number: UInt8) -> [UInt8] { png + [number] }

  private static func tile(_ zoom: Int, _ x: Int, _ y: Int) throws -> TileAddress {
    try #require(TileAddress(zoom: zoom, x: x, y: y))
  }

  /// The box of the files that have one.
  private static let box = try? BoundingBox(west: 16.1, south: 48.1, east: 16.6, north: 48.4)

  private static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "tiles-\(UUID())").path
  }

  /// Calls a function with the path of a file of these bytes.
  @discardableResult
  private static func withFile<Value>(_ bytes: [UInt8], _ body: (String) throws -> Value) throws -> Value {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data(bytes).write(to: URL(filePath: path))
    return try body(path)
  }

  /// Returns the reason why a file of these bytes is rejected.
  private static func reason(_ bytes: [UInt8]) throws -> String? {
    try withFile(bytes) { path in
      let error = #expect(throws: TileFileError.self) { try TileFile(path: path) }
      return error?.description
    }
  }

  // MARK: MBTiles

  private static let tables = """
    CREATE TABLE metadata (name TEXT, value TEXT);
    CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
    """

  /// Calls a function with the path of an MBTiles file of statements.
  @discardableResult
  private static func withMBTiles<Value>(
    _ statements: String, _ metadata: [String: String] = [:], _ tiles: [(Int, Int, Int, [UInt8])] = [],
    _ body: (String) throws -> Value
  ) throws -> Value {
    let path = temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let database = try DatabaseQueue(path: path)
    try database.write { database in
      try database.execute(sql: statements)
      for (name, value) in metadata {
        try database.execute(sql: "INSERT INTO metadata VALUES (?, ?)", arguments: [name, value])
      }
      for (zoom, column, row, bytes) in tiles {
        try database.execute(
          sql: "INSERT INTO tiles VALUES (?, ?, ?, ?)", arguments: [zoom, column, row, Data(bytes)])
      }
    }
    try database.close()
    return try body(path)
  }

  @Test func rowsOfMBTilesCountFromTheSouth() throws {
    try Self.withMBTiles(
      Self.tables, ["format": "png", "minzoom": "1", "maxzoom": "3", "bounds": "16.1,48.1,16.6,48.4"],
      [(1, 0, 0, Self.image(1)), (1, 0, 1, Self.image(2)), (3, 5, 2, Self.image(3))]
    ) { path in
      let file = try TileFile(path: path)

      #expect(file.zooms == 1...3)
      #expect(file.bounds == Self.box)
      #expect(try file.image(of: Self.tile(1, 0, 1))?.bytes == Self.image(1))
      #expect(try file.image(of: Self.tile(1, 0, 0))?.bytes == Self.image(2))
      #expect(try file.image(of: Self.tile(3, 5, 5))?.bytes == Self.image(3))
      #expect(try file.image(of: Self.tile(3, 5, 5))?.mediaType == "image/png")
      #expect(try file.image(of: Self.tile(3, 5, 4)) == nil)
      #expect(try file.image(of: Self.tile(0, 0, 0)) == nil)
    }
  }

  @Test func zoomLevelsOfMBTilesWithoutMetadataAreThoseOfTheTiles() throws {
    let tiles = [(2, 0, 0, Self.image(1)), (5, 0, 0, Self.image(2))]
    try Self.withMBTiles(Self.tables, [:], tiles) { path in
      let file = try TileFile(path: path)

      #expect(file.zooms == 2...5)
      #expect(file.attribution == nil && file.bounds == nil)
    }
  }

  @Test func viewsOverImagesAreReadAsMBTiles() throws {
    let views = """
      CREATE TABLE metadata (name TEXT, value TEXT);
      CREATE TABLE map (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_id TEXT);
      CREATE TABLE images (tile_id TEXT, tile_data BLOB);
      CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);
      INSERT INTO map VALUES (0, 0, 0, 'a');
      INSERT INTO images VALUES ('a', X'89504E470D0A1A0A07');
      """
    try Self.withMBTiles(views) { path in
      let file = try TileFile(path: path)

      #expect(try file.image(of: Self.tile(0, 0, 0))?.bytes == Self.image(7))
    }
  }

  @Test func tablesThatNeverEndAreStopped() throws {
    let endless = """
      CREATE TABLE metadata (name TEXT, value TEXT);
      CREATE VIEW tiles AS WITH RECURSIVE numbers(n) AS
        (SELECT 0 UNION ALL SELECT n + 1 FROM numbers LIMIT 1000000000000)
        SELECT n + 40 AS zoom_level, n + 41 AS tile_column, n + 42 AS tile_row, X'00' AS tile_data FROM numbers;
      """
    try Self.withMBTiles(endless, ["minzoom": "0", "maxzoom": "3"]) { path in
      let file = try TileFile(path: path)
      let error = #expect(throws: TileFileError.self) { try file.image(of: Self.tile(0, 0, 0)) }

      #expect(error?.description == "takes too long to read")
    }
  }

  @Test(arguments: ["pbf", "PBF", "mvt"])
  func vectorTilesInMBTilesAreRejected(format: String) throws {
    try Self.withMBTiles(Self.tables, ["format": format], [(0, 0, 0, [0x1A, 0])]) { path in
      let error = #expect(throws: TileFileError.self) { try TileFile(path: path) }

      #expect(error?.description == "has vector tiles, and must have raster tiles")
    }
  }

  @Test(arguments: [
    "CREATE TABLE places (id TEXT)", "CREATE TABLE metadata (name TEXT, value TEXT)", tables,
    tables + "INSERT INTO tiles VALUES (99, 0, 0, X'00');", tables + "INSERT INTO tiles VALUES ('a', 0, 0, X'00');",
  ])
  func otherDatabasesAreRejected(statements: String) throws {
    try Self.withMBTiles(statements) { path in
      #expect(throws: TileFileError.self) { try TileFile(path: path) }
    }
  }

  @Test(arguments: [
    Array("<svg xmlns=\"http://www.w3.org/2000/svg\"/>".utf8), Array("<script>alert(1)</script>".utf8),
    [0x1F, 0x8B, 8],
    [0xFF, 0xD8],
  ])
  func tilesThatAreNoImagesAreErrors(bytes: [UInt8]) throws {
    try Self.withMBTiles(Self.tables, [:], [(0, 0, 0, bytes)]) { path in
      let file = try TileFile(path: path)

      #expect(throws: TileFileError.self) { try file.image(of: Self.tile(0, 0, 0)) }
    }
  }

  @Test func aTileOfMoreThanFourMebibytesIsAnError() throws {
    let bytes = Self.png + [UInt8](repeating: 0, count: TileFile.maximumTileBytes)
    try Self.withMBTiles(Self.tables, [:], [(0, 0, 0, bytes)]) { path in
      let file = try TileFile(path: path)

      #expect(throws: TileFileError.self) { try file.image(of: Self.tile(0, 0, 0)) }
    }
  }

  @Test func aDatabaseThatIsCutOffIsAnError() throws {
    let tiles = (0..<200).map { (10, $0, 0, Self.image(UInt8($0)) + [UInt8](repeating: 7, count: 2000)) }
    let bytes = try Self.withMBTiles(Self.tables, ["minzoom": "10", "maxzoom": "10"], tiles) { path in
      Array(try #require(FileManager.default.contents(atPath: path)))
    }
    for length in [20, 100, 4096, bytes.count / 2, bytes.count * 3 / 4] {
      try Self.withFile(Array(bytes.prefix(length))) { path in
        #expect(throws: TileFileError.self) {
          let file = try TileFile(path: path)
          for x in 0..<200 { _ = try file.image(of: Self.tile(10, x, 1023)) }
        }
      }
    }
  }

  // MARK: PMTiles

  /// A writer of PMTiles 3, of directories with one entry for each tile.
  private struct Archive {
    var tiles: [(TileAddress, [UInt8])] = []
    var metadata = "{}"
    var type: UInt8 = 2
    var compression: UInt8 = 2
    var version: UInt8 = 3
    var zooms: (UInt8, UInt8) = (0, 14)
    /// The number of tiles of each directory below the root; `nil` for none.
    var leafSize: Int?

    private static func varint(_ number: Int) -> [UInt8] {
      number < 0x80 ? [UInt8(number)] : [UInt8(number & 0x7F | 0x80)] + varint(number >> 7)
    }

    private static func directory(_ entries: [(tile: Int, runLength: Int, length: Int, offset: Int)]) -> [UInt8] {
      var bytes = varint(entries.count)
      var last = 0
      for entry in entries {
        bytes += varint(entry.tile - last)
        last = entry.tile
      }
      bytes += entries.flatMap { varint($0.runLength) } + entries.flatMap { varint($0.length) }
      return bytes + entries.flatMap { varint($0.offset + 1) }
    }

    private func packed(_ bytes: [UInt8]) throws -> [UInt8] {
      guard compression == 2 else { return bytes }
      let encoder = try GzipEncoder()
      var output: [UInt8] = []
      bytes.withUnsafeBytes { encoder.encode($0, into: &output) }
      encoder.finish(into: &output)
      return output
    }

    func bytes() throws -> [UInt8] {
      var contents: [UInt8] = []
      var entries: [(tile: Int, runLength: Int, length: Int, offset: Int)] = []
      for (address, bytes) in tiles.sorted(by: { PMTiles.number(of: $0.0) < PMTiles.number(of: $1.0) }) {
        entries.append((Int(PMTiles.number(of: address)), 1, bytes.count, contents.count))
        contents += bytes
      }
      var leaves: [UInt8] = []
      if let leafSize {
        var roots: [(tile: Int, runLength: Int, length: Int, offset: Int)] = []
        for start in stride(from: 0, to: entries.count, by: leafSize) {
          let leaf = try packed(Self.directory(Array(entries[start..<min(start + leafSize, entries.count)])))
          roots.append((entries[start].tile, 0, leaf.count, leaves.count))
          leaves += leaf
        }
        entries = roots
      }
      let (root, metadata) = (try packed(Self.directory(entries)), try packed(Array(metadata.utf8)))
      func number(_ value: Int, _ count: Int = 8) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
      }
      let sections = [root, metadata, leaves, contents]
      var (offset, header) = (127, Array("PMTiles".utf8) + [version])
      for section in sections {
        header += number(offset) + number(section.count)
        offset += section.count
      }
      header += number(tiles.count) + number(tiles.count) + number(tiles.count)
      header += [1, compression, 1, type, zooms.0, zooms.1]
      for degrees in [16.1, 48.1, 16.6, 48.4] { header += number(Int(degrees * 1e7), 4) }
      header += [0] + number(0, 4) + number(0, 4)
      return header + sections.joined()
    }
  }

  /// Numbers of the specification.
  @Test(arguments: [
    ((0, 0, 0), 0), ((1, 0, 0), 1), ((1, 0, 1), 2), ((1, 1, 1), 3), ((1, 1, 0), 4), ((2, 0, 0), 5),
    ((12, 3423, 1763), 19_078_479),
  ])
  func tilesArePlacedAlongHilbertsCurve(address: (Int, Int, Int), number: UInt64) throws {
    #expect(PMTiles.number(of: try Self.tile(address.0, address.1, address.2)) == number)
  }

  @Test func eachTileOfALevelHasANumberOfItsOwn() throws {
    let numbers = try (0..<32).flatMap { x in try (0..<32).map { PMTiles.number(of: try Self.tile(5, x, $0)) } }

    #expect(Set(numbers) == Set(341..<1365))
  }

  @Test(arguments: [nil, 1, 7], [UInt8(1), 2])
  func tilesOfPMTilesAreFoundInDirectories(leafSize: Int?, compression: UInt8) throws {
    var archive = Archive(compression: compression, leafSize: leafSize)
    archive.metadata = #"{"attribution": "<a href=\"https://example.com/c\">&copy; Makers</a> &amp; others"}"#
    for index in 0..<40 {
      archive.tiles.append((try Self.tile(6, index, index / 2), Self.image(UInt8(index))))
    }
    try Self.withFile(archive.bytes()) { path in
      let file = try TileFile(path: path)

      #expect(file.zooms == 0...14)
      #expect(file.attribution == "© Makers https://example.com/c & others")
      #expect(file.bounds == Self.box)
      for index in 0..<40 {
        #expect(try file.image(of: Self.tile(6, index, index / 2))?.bytes == Self.image(UInt8(index)))
      }
      #expect(try file.image(of: Self.tile(6, 1, 9)) == nil)
      #expect(try file.image(of: Self.tile(15, 1, 9)) == nil)
    }
  }

  @Test func archivesOfOtherKindsAreRejected() throws {
    #expect(try Self.reason(Archive(type: 1).bytes()) == "has vector tiles, and must have raster tiles")
    #expect(try Self.reason(Archive(type: 5).bytes()) == "has tiles other than PNG, JPEG and WebP")
    #expect(try Self.reason(Archive(compression: 4).bytes()) == "has a compression other than gzip")
    #expect(try Self.reason(Archive(version: 2).bytes()) == "is PMTiles of version 2, and must be of version 3")
    #expect(try Self.reason(Archive(zooms: (30, 31)).bytes()) == "has no tiles of zoom levels from 0 to 22")
    #expect(try Self.reason(Archive(zooms: (5, 3)).bytes()) == "has no tiles of zoom levels from 0 to 22")
  }

  @Test(arguments: ["", "PMTiles", "SQLite format 3\0", "{\"type\":\"FeatureCollection\"}"])
  func filesOfOtherFormatsAreRejected(content: String) throws {
    #expect(try Self.reason(Array(content.utf8)) != nil)
    #expect(throws: TileFileError.self) { try TileFile(path: "/nonexistent") }
    #expect(throws: TileFileError.self) { try TileFile(path: "/") }
  }

  @Test func anArchiveThatIsCutOffOrChangedIsReadWithoutACrash() throws {
    var archive = Archive(leafSize: 3)
    for index in 0..<20 { archive.tiles.append((try Self.tile(5, index, index), Self.image(UInt8(index)))) }
    let bytes = try archive.bytes()
    func readAll(_ bytes: [UInt8]) throws -> Int {
      try Self.withFile(bytes) { path in
        guard let file = try? TileFile(path: path) else { return 0 }
        return try (0..<20).count { index in
          let tile = try Self.tile(5, index, index)
          return (try? file.image(of: tile))?.bytes == Self.image(UInt8(index))
        }
      }
    }
    #expect(try readAll(bytes) == 20)
    for length in stride(from: 0, to: bytes.count, by: 9) { #expect(try readAll(Array(bytes.prefix(length))) < 20) }
    var random = SystemRandomNumberGenerator()
    for position in 8..<127 {
      var changed = bytes
      changed[position] = UInt8.random(in: 0...255, using: &random)
      _ = try readAll(changed)
      changed[position] = 255
      _ = try readAll(changed)
    }
    for position in 127..<bytes.count {
      var changed = bytes
      changed[position] ^= 0xFF
      _ = try readAll(changed)
    }
  }

  // MARK: Attributions

  @Test(arguments: [
    ("© OpenStreetMap contributors", "© OpenStreetMap contributors"),
    (
      "<a href='https://www.openstreetmap.org/copyright' target=_blank>&copy; OpenStreetMap</a>",
      "© OpenStreetMap https://www.openstreetmap.org/copyright"
    ),
    ("<a href=\"javascript:alert(1)\">A</a><script>b</script>\n  C", "Ab C"), ("&lt;b&gt;", "<b>"), ("<b></b>", ""),
  ])
  func attributionsArePlainText(html: String, text: String) {
    #expect(TileFile.plainText(html) == text)
  }

  @Test func aLongAttributionIsCutOff() {
    #expect(TileFile.plainText(String(repeating: "<a href=", count: 100_000)).count <= 500)
  }
}
