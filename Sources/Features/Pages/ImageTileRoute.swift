import APIDescription
import Basics
import Crypto
import Geo
import HTTPServer
import LocationsAPI
import NIOCore
import NIOHTTP1
import TileFiles

/// `GET /map/tiles/{z}/{x}/{y}`: an image of the file of tiles that the operator has set.
///
/// It is open to everyone, as the map page is: it has nothing of the places.
struct ImageTileRoute: CallHandler {
  static let call = Call(
    .GET, "/map/tiles/{z}/{x}/{y}", id: "getImageTile", group: .map,
    summary: "Get an image of the base map",
    description: "The tiles of `MAP_TILES_FILE`, in Web Mercator.",
    describing: TileResponder.addressParameters(), caching: .tagged(isAlwaysTagged: false),
    responses: [
      .init(
        200, "The image.",
        media: ["image/png", "image/jpeg", "image/webp"].map {
          .init($0, Schema(.string, nil, ["format": "binary"]))
        }),
      .init(204, "The file has no such tile."),
    ],
    problems: [.notFound])

  let file: TileFile?

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    guard let file else { throw .notFound("the server has no file of tiles; MAP_TILES_FILE sets one") }
    let path = request.pathParameters
    guard let tile = TileAddress(zoom: path["z"], x: path["x"], y: path["y"]) else { throw .noSuchTile() }
    let image = try await request.computing { () throws(Problem) in
      do throws(TileFileError) {
        return try file.image(of: tile)
      } catch {
        throw .notFound("there is no such tile: the file \(error)")
      }
    }
    guard let image else { return HTTPResponse(status: .noContent, headers: ["cache-control": Self.caching]) }
    let tag = "\"i\(Hexadecimal.encode(Array(SHA256.hash(data: image.bytes).prefix(8))))\""
    var response = request.notModified(tag) ?? HTTPResponse(contentType: image.mediaType, bytes: image.bytes)
    response.headers.add(contentsOf: [
      "etag": "W/\(tag)", "cache-control": Self.caching, "x-content-type-options": "nosniff",
    ])
    return response
  }

  private static let caching = "public, max-age=3600"
}
