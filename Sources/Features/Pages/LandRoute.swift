import APIDescription
import Basics
import CBaseMap
import Geo
import Gzip
import HTTPServer
import LocationsAPI
import NIOCore
import NIOHTTP1
import VectorTiles

/// `GET /map/land/{z}/{x}/{y}.mvt`: a vector tile of the built-in base map.
///
/// It is open to everyone, as the map page is: it has nothing of the places.
struct LandRoute: CallHandler {
  static let call = Call(
    .GET, "/map/land/{z}/{x}/{y}.mvt", id: "getLandTile", group: .map, summary: "Get a vector tile of the base map",
    description:
      "A Mapbox Vector Tile 2.1 with the layers `land`, `lakes`, `regions`, `borders`, `countries` and `cities`, from"
      + " Natural Earth, GSHHG and GeoNames. Tiles of higher zoom levels are drawn from those of level"
      + " \(LandTiles.maximumZoom).",
    describing: TileResponder.addressParameters(maximumZoom: LandTiles.maximumZoom),
    caching: .tagged(), responses: [TileResponder.description])

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let path = request.pathParameters
    guard let tile = TileAddress(zoom: path["z"], x: path["x"], y: path["y"]),
      let compressed = LandTiles.tile(at: tile)
    else { throw .noSuchTile(maximumZoom: LandTiles.maximumZoom) }
    // The end of a gzip stream is the checksum and the length of its contents.
    let tag = "\"l\(Hexadecimal.encode(Array(compressed.suffix(8))))\""
    let caching: HTTPHeaders = [
      "etag": "W/\(tag)", "cache-control": "public, max-age=3600", "vary": "accept-encoding",
    ]
    if let response = request.notModified(tag, caching) { return response }
    let coding = try ContentCoding.accepted(by: request.headers)
    var response: HTTPResponse
    if coding.coding == .gzip, !compressed.isEmpty {
      response = HTTPResponse(contentType: VectorTile.mediaType, bytes: ByteBuffer(bytes: compressed))
      response.headers.add(name: "content-encoding", value: "gzip")
    } else {
      // Without memory for the contents.
      guard let tile = try? LandTiles.decompressed(compressed) else { throw .internal }
      response = HTTPResponse(contentType: VectorTile.mediaType, bytes: tile)
    }
    response.headers.add(contentsOf: caching)
    return response
  }
}

/// The vector tiles of the built-in base map.
///
/// The built-in file has the highest zoom level in its first byte; for each tile the end of its bytes among those of all
/// tiles, four bytes each, level by level and row by row from the north-west; the tiles, each compressed by gzip. A tile
/// without features has no bytes.
enum LandTiles {
  private struct File {
    let maximumZoom: Int
    let ends: UnsafeRawPointer
    let tiles: UnsafePointer<UInt8>
  }

  // The bytes are constants of the program.
  private nonisolated(unsafe) static let file: File = {
    var count = 0
    let bytes = waymark_base_map(&count)!
    let maximumZoom = Int(bytes[0])
    let tileCount = LandTiles.count(below: maximumZoom + 1)
    return File(
      maximumZoom: maximumZoom, ends: UnsafeRawPointer(bytes + 1), tiles: bytes + 1 + 4 * tileCount)
  }()

  static var maximumZoom: Int { file.maximumZoom }

  /// The tiles for the map page.
  static let layer = MapLayer(
    tiles: String(LandRoute.call.path.dropFirst()), format: .vector, zooms: 0...maximumZoom, bounds: nil,
    attribution: "Natural Earth, GSHHG, © GeoNames (CC BY 4.0)")

  /// Returns the number of tiles of all levels below a zoom level.
  private static func count(below zoom: Int) -> Int { (1 << (2 * zoom) - 1) / 3 }

  /// Returns a tile as a gzip stream, which is empty if the tile has no features; `nil` beyond the last zoom level.
  static func tile(at address: TileAddress) -> UnsafeBufferPointer<UInt8>? {
    guard address.zoom <= file.maximumZoom else { return nil }
    let index = count(below: address.zoom) + address.y << address.zoom + address.x
    func end(_ index: Int) -> Int {
      Int(UInt32(littleEndian: file.ends.loadUnaligned(fromByteOffset: 4 * index, as: UInt32.self)))
    }
    let start = index == 0 ? 0 : end(index - 1)
    return UnsafeBufferPointer(start: file.tiles + start, count: end(index) - start)
  }

  /// Returns the contents of a tile's gzip stream.
  static func decompressed(_ compressed: UnsafeBufferPointer<UInt8>) throws(GzipError) -> [UInt8] {
    guard !compressed.isEmpty else { return [] }
    let end = UnsafeRawBufferPointer(UnsafeBufferPointer(rebasing: compressed.suffix(4)))
    let length = Int(UInt32(littleEndian: end.loadUnaligned(as: UInt32.self)))
    return try GzipDecoder().decode(UnsafeRawBufferPointer(compressed), atMost: length).output
  }
}
