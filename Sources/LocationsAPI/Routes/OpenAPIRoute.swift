import JSONText
import Basics
import Crypto
import HTTPServer
import NIOCore
import NIOHTTP1
import PointFormats
import Synchronization

/// `GET /openapi.json` and `GET /openapi-3.0.json`: the description of all calls.
///
/// It is open to everyone, as `GET /` is: it has nothing of the places, and tells clients how to authenticate.
final class OpenAPIRoute: RouteHandler {
  /// The paths of the documents.
  private static let paths: [(path: String, version: OpenAPIVersion)] = [
    ("/openapi.json", .v3_1), ("/openapi-3.0.json", .v3_0),
  ]

  private let openAPI: OpenAPIVersion
  private let routes: [DescribedRoute]
  private let version: String
  private let openScopes: Set<AccessScope>
  private let address: PublicAddress

  /// The document for the server's address of the last request.
  private let last = Mutex<(server: ExactText, document: StaticFile)?>(nil)

  private init(_ openAPI: OpenAPIVersion, _ routes: [DescribedRoute], _ api: LocationsAPI) {
    self.openAPI = openAPI
    self.routes = routes
    version = api.version
    openScopes = api.access.openScopes
    address = api.address
  }

  /// Returns the routes of the documents, which describe these routes, themselves and the pages.
  static func routes(describing routes: [Route], api: LocationsAPI) -> [Route] {
    let all =
      routes.map { DescribedRoute($0) } + paths.map { DescribedRoute(.GET, $0.path) }
      + api.pageRoutes.map { DescribedRoute($0) }
    return paths.map { Route(.GET, $0.path, handler: OpenAPIRoute($0.version, all, api)) }
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let mediaType = try MediaRange.preferred(
      [openAPI.mediaType, PointFormat.json.mediaType], mediaType: { $0 },
      accept: request.headers[canonicalForm: "accept"])
    let file = document(at: address.target(path: "", relative: ".", for: request))
    return try await file.response(to: request, mediaType: mediaType)
  }

  /// Returns the document, which is written again only where the address of the service differs.
  private func document(at server: String) -> StaticFile {
    if let last = last.withLock({ $0 }), last.server == ExactText(server) { return last.document }
    let document = OpenAPIDocument(
      openAPI: openAPI, routes: routes, version: version, openScopes: openScopes, server: server)
    let file = StaticFile(document.json.text)
    last.withLock { $0 = (ExactText(server), file) }
    return file
  }
}

/// A file in memory.
struct StaticFile: Sendable {
  let bytes: ByteBuffer
  private let digest: String

  init(_ bytes: [UInt8]) {
    self.bytes = ByteBuffer(bytes: bytes)
    digest = Hexadecimal.encode(Array(SHA256.hash(data: bytes).prefix(8)))
  }

  /// Returns the file, or 304 where the client has it.
  ///
  /// - Throws: `Problem` 406 where the request excludes every content coding.
  func response(to request: HTTPRequest, mediaType: String) async throws(Problem) -> HTTPResponse {
    // It differs by the media type; the tag is weak, because the codings share it.
    let tag = "\"\(digest)\(mediaType == PointFormat.json.mediaType ? ".json" : "")\""
    let caching: HTTPHeaders = [
      "etag": "W/\(tag)", "cache-control": "public, max-age=60", "vary": "accept, accept-encoding",
    ]
    if EntityTag.matches(tag, ifNoneMatch: request.headers.entityTags("if-none-match")) {
      return HTTPResponse(status: .notModified, headers: caching)
    }
    var response = HTTPResponse(contentType: mediaType, bytes: bytes)
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(contentsOf: caching)
    return response
  }
}
