package import APIDescription
import Basics
import Crypto
package import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Synchronization

/// `GET` of a description of calls: `/openapi.json` and `/openapi-3.0.json` describe all.
///
/// It is open to everyone, as `GET /` is: it contains no places, and states how clients authenticate.
package final class OpenAPIRoute: RouteHandler {
  private static func call(_ path: String, _ version: OpenAPIVersion, id: String, link: String) -> Call {
    Call(
      .GET, path, id: id, group: .description, link: link, summary: "Get this document in OpenAPI \(version.rawValue)",
      caching: .tagged(), responses: [.init(200, "The document.", media: .openAPI(version))])
  }

  /// The documents.
  static let calls: [(version: OpenAPIVersion, call: Call)] = [
    (.v3_1, call("/openapi.json", .v3_1, id: "getOpenAPI31", link: "openapi")),
    (.v3_0, call("/openapi-3.0.json", .v3_0, id: "getOpenAPI30", link: "openapi30")),
  ]

  private let document: OpenAPIDocument
  private let server: @Sendable (HTTPRequest) -> String

  /// The document for the server's address of the last request.
  private let last = Mutex<(server: ExactText, document: StaticFile)?>(nil)

  /// Creates the route.
  ///
  /// - Parameters:
  ///   - document: the document without its server.
  ///   - server: returns the address of the service, or a reference to it from the document's.
  package init(_ document: OpenAPIDocument, server: @escaping @Sendable (HTTPRequest) -> String) {
    self.document = document
    self.server = server
  }

  package func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let mediaType = try MediaRange.preferred(
      [document.openAPI.mediaType, PointFormat.json.mediaType], mediaType: { $0 },
      accept: request.headers[canonicalForm: "accept"])
    let file = file(at: server(request))
    return try await file.response(to: request, mediaType: mediaType)
  }

  /// Returns the document, which is written again only where the address of the service differs.
  private func file(at server: String) -> StaticFile {
    if let last = last.withLock({ $0 }), last.server == ExactText(server) { return last.document }
    var document = document
    document.server = server
    let file = StaticFile(document.json.text)
    last.withLock { $0 = (ExactText(server), file) }
    return file
  }
}

/// A file in memory.
package struct StaticFile: Sendable {
  let bytes: ByteBuffer
  private let digest: String

  package init(_ bytes: [UInt8]) {
    self.bytes = ByteBuffer(bytes: bytes)
    digest = Hexadecimal.encode(Array(SHA256.hash(data: bytes).prefix(8)))
  }

  /// Returns the file, or 304 where the client has it.
  ///
  /// - Throws: `Problem` 406 where the request excludes every content coding.
  package func response(to request: HTTPRequest, mediaType: String) async throws(Problem) -> HTTPResponse {
    // It differs by the media type; the tag is weak, because the codings share it.
    let tag = "\"\(digest)\(mediaType == PointFormat.json.mediaType ? ".json" : "")\""
    let caching: HTTPHeaders = [
      "etag": "W/\(tag)", "cache-control": "public, max-age=60", "vary": "accept, accept-encoding",
    ]
    if let response = request.notModified(tag, caching) { return response }
    var response = HTTPResponse(contentType: mediaType, bytes: bytes)
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(contentsOf: caching)
    return response
  }
}
