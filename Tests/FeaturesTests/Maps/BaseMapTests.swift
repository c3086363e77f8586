import Foundation
import GRDB
import Geo
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Testing
import TileFiles

@testable import LocationsAPI
@testable import Pages

/// The tiles of the base map: the built-in ones, and those of a file.
@Suite struct BaseMapTests {
  private static func driver(_ baseMap: BaseMap? = nil) -> ServiceDriver {
    ServiceDriver(
      LocationsAPI(.init(service: PointsService(store: MemoryStore()), version: "1")),
      features: FeatureCalls(baseMap: baseMap))
  }

  // MARK: The built-in tiles

  /// Returns the names of the layers of a tile.
  private static func layers(of tile: [UInt8]) throws -> [String] {
    var (names, position): ([String], Int) = ([], 0)
    func number() -> Int {
      var (value, shift) = (0, 0)
      while true {
        let byte = tile[position]
        position += 1
        value |= Int(byte & 0x7F) << shift
        if byte < 0x80 { return value }
        shift += 7
      }
    }
    while position < tile.count {
      try #require(number() == 3 << 3 | 2)
      let length = number()
      let end = position + length
      // The version, and the name.
      try #require(number() == 15 << 3 && number() == 2 && number() == 1 << 3 | 2)
      let nameLength = number()
      names.append(String(decoding: tile[position..<position + nameLength], as: UTF8.self))
      position = end
    }
    return names
  }

  @Test func theWorldHasLandLakesBordersAndCountries() async throws {
    let response = try await Self.driver().send(.GET, "/map/land/0/0/0.mvt")

    #expect(response.status == 200)
    #expect(response.headers["content-type"] == ["application/vnd.mapbox-vector-tile"])
    #expect(try Self.layers(of: Array(response.body)) == ["land", "lakes", "regions", "borders", "countries"])
    #expect(response.body.range(of: Data("Austria".utf8)) != nil)
  }

  @Test func theTileOfACityHasItsName() async throws {
    // Vienna, at 16.37° east and 48.21° north.
    let response = try await Self.driver().send(.GET, "/map/land/4/8/5.mvt")

    #expect(response.body.range(of: Data("Vienna".utf8)) != nil)
  }

  /// The addresses of all built-in tiles.
  private static let addresses = (0...LandTiles.maximumZoom).flatMap { zoom in
    (0..<1 << zoom).flatMap { x in (0..<1 << zoom).compactMap { TileAddress(zoom: zoom, x: x, y: $0) } }
  }

  @Test func everyBuiltInTileIsAVectorTile() throws {
    for address in Self.addresses {
      let compressed = try #require(LandTiles.tile(at: address))
      _ = try Self.layers(of: LandTiles.decompressed(compressed))
    }
  }

  @Test func theBuiltInTilesTakeAtMostSevenHundredKilobytes() throws {
    let count = try Self.addresses.reduce(0) { $0 + (try #require(LandTiles.tile(at: $1))).count }

    #expect((300_000..<700_000).contains(count))
  }

  @Test func aTileIsSentCompressedAsItIsAndRevalidated() async throws {
    let driver = Self.driver()
    let plain = try await driver.send(.GET, "/map/land/2/2/1.mvt")
    let compressed = try await driver.send(.GET, "/map/land/2/2/1.mvt", headers: ["accept-encoding": "gzip"])
    let tag = try #require(plain.headers.first(name: "etag"))
    let again = try await driver.send(.GET, "/map/land/2/2/1.mvt", headers: ["if-none-match": tag])

    #expect(plain.headers["content-encoding"].isEmpty && compressed.headers["content-encoding"] == ["gzip"])
    #expect(compressed.body.count < plain.body.count)
    #expect(compressed.headers.first(name: "etag") == tag)
    #expect(again.status == 304 && again.body.isEmpty)
    #expect(plain.headers["vary"] == ["accept-encoding"])
  }

  @Test func aTileOfTheOceanIsEmpty() async throws {
    let driver = Self.driver()
    for headers in [[:], ["accept-encoding": "gzip"]] as [HTTPHeaders] {
      let response = try await driver.send(.GET, "/map/land/4/1/9.mvt", headers: headers)

      #expect(response.status == 200 && response.body.isEmpty && response.headers["content-encoding"].isEmpty)
    }
  }

  @Test(arguments: [
    "/map/land/5/0/0.mvt", "/map/land/0/1/0.mvt", "/map/land/0/0/-1.mvt", "/map/land/00/0/0.mvt", "/map/land/a/b/c.mvt",
    "/map/land/99999999999999999999/0/0.mvt", "/map/land/0/0/0.png", "/map/tiles/0/0/0", "/map/tiles/a/0/0",
  ])
  func tilesThatAreNotThereAreNotFound(path: String) async throws {
    #expect(try await Self.driver().send(.GET, path).status == 404)
  }

  @Test func anUnknownParameterIsRejected() async throws {
    #expect(try await Self.driver().send(.GET, "/map/land/0/0/0.mvt?x=1").status == 400)
    #expect(try await Self.driver().send(.GET, "/map/tiles/0/0/0?x=1").status == 400)
  }

  // MARK: Tiles of a file

  private static let png = Data([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3])

  /// Returns a server with a file that has one image and one tile that is none.
  private static func driverOfFile(attribution: String? = nil) throws -> ServiceDriver {
    let path = FileManager.default.temporaryDirectory.appending(path: "tiles-\(UUID())").path
    // The open file stays readable.
    defer { try? FileManager.default.removeItem(atPath: path) }
    let database = try DatabaseQueue(path: path)
    try database.write { database in
      try database.execute(
        sql: """
          CREATE TABLE metadata (name TEXT, value TEXT);
          CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
          INSERT INTO metadata VALUES ('attribution', '<b>&copy; Makers</b>'), ('minzoom', '0'), ('maxzoom', '1'),
            ('bounds', '-180,-85,180,85');
          INSERT INTO tiles VALUES (1, 0, 0, CAST('<svg/>' AS BLOB));
          """)
      try database.execute(sql: "INSERT INTO tiles VALUES (0, 0, 0, ?)", arguments: [png])
    }
    try database.close()
    let file = try TileFile(path: path)
    let baseMap: BaseMap = try #require(BaseMap(file: file, attribution: attribution))
    return driver(baseMap)
  }

  @Test func anImageOfAFileIsServedAndRevalidated() async throws {
    let driver = try Self.driverOfFile()
    let image = try await driver.send(.GET, "/map/tiles/0/0/0")
    let tag = try #require(image.headers.first(name: "etag"))

    #expect(image.status == 200 && image.body == Self.png)
    #expect(image.headers["content-type"] == ["image/png"] && image.headers["x-content-type-options"] == ["nosniff"])
    #expect(try await driver.send(.GET, "/map/tiles/0/0/0", headers: ["if-none-match": tag]).status == 304)
    #expect(try await driver.send(.GET, "/map/tiles/1/1/1").status == 204)
    #expect(try await driver.send(.GET, "/map/tiles/22/1/1").status == 204)
  }

  @Test func aTileThatIsNoImageIsNotFound() async throws {
    let response = try await Self.driverOfFile().send(.GET, "/map/tiles/1/0/1")

    #expect(response.status == 404)
    #expect(response.text.contains("has a tile that is no PNG, JPEG or WebP image"))
  }

  @Test(arguments: [(nil, "© Makers"), ("Somebody", "Somebody")])
  func theImagesOfAFileAreAboveTheBuiltInMap(attribution: String?, shown: String) async throws {
    let settings = try await Self.driverOfFile(attribution: attribution).send(.GET, PageRoute.mapSettingsPath)
    let layers = try #require(settings.object["layers"] as? [[String: Any]])

    #expect(layers.map { $0["format"] as? String } == ["vector", "image"])
    #expect(layers.last?["tiles"] as? String == "map/tiles/{z}/{x}/{y}")
    #expect(layers.last?["attribution"] as? String == shown)
    #expect(layers.last?["maximumZoom"] as? Int == 1 && layers.last?["bounds"] as? [Double] == [-180, -85, 180, 85])
  }
}
