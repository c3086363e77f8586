import CPages
import HTTPServer
import JSONText
import NIOHTTP1

/// A file of a web page: `/docs`, `/map`, `/status`, and what they load.
///
/// The pages load nothing from elsewhere but the images of a base map of the operator's choice. Their references are relative, so that they work
/// under a path prefix. They are open to everyone, since they have nothing of the places: their scripts call the
/// service with the key of the caller.
struct PageFile: Sendable {
  let path: String
  /// The name of the call for programs, and its summary.
  let id, summary: String
  let bytes: [UInt8]

  static let all: [PageFile] = {
    let pages = waymark_pages()
    return UnsafeBufferPointer(start: pages.files, count: pages.count).map { file in
      PageFile(
        path: String(cString: file.path), id: String(cString: file.id), summary: String(cString: file.summary),
        bytes: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }
  }()

  var mediaType: String {
    let type =
      if path.hasSuffix(".css") { "text/css" } else if path.hasSuffix(".js") { "text/javascript" } else { "text/html" }
    return type + "; charset=utf-8"
  }
}

/// `GET` of a file of a page, or of a page's settings.
struct PageRoute: RouteHandler {
  /// The path of the settings that the map page reads.
  static let mapSettingsPath = "/map/settings.json"

  /// The path of the settings that the status page reads.
  static let statusSettingsPath = "/status/settings.json"

  private let file: StaticFile
  private let mediaType: String
  private let securityPolicy: String
  private let referrerPolicy: String

  private init(_ bytes: [UInt8], mediaType: String, baseMap: BaseMap? = nil) {
    file = StaticFile(bytes)
    self.mediaType = mediaType
    // Scripts, styles and requests to this origin alone, none in the page itself, and no frame around it.
    securityPolicy =
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:"
      + (baseMap?.origin.map { " \($0)" } ?? "") + "; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    // Public tile servers reject requests that do not tell which site they are for.
    referrerPolicy = baseMap?.origin == nil ? "no-referrer" : "strict-origin"
  }

  /// Returns the calls of all files.
  ///
  /// - Parameters:
  ///   - baseMap: the base map of the operator; `nil` for the built-in one.
  ///   - openScopes: the scopes of the calls that need neither a key nor a token.
  ///   - hasSearches: a Boolean value that indicates whether there is a report on searches.
  static func endpoints(baseMap: BaseMap?, openScopes: Set<AccessScope>, hasSearches: Bool) -> [Endpoint] {
    [
      call(
        mapSettingsPath, id: "getMapSettings", "Get the map page's settings",
        media: .init("application/json", .component("MapSettings"))
      ).handled(by: PageRoute(mapSettings(baseMap).text, mediaType: "application/json", baseMap: baseMap)),
      call(
        statusSettingsPath, id: "getStatusSettings", "Get the status page's settings",
        media: .init("application/json", .component("StatusSettings"))
      ).handled(
        by: PageRoute(statusSettings(openScopes, hasSearches: hasSearches).text, mediaType: "application/json")),
    ]
      + PageFile.all.map { file in
        call(
          file.path, id: file.id, link: file.path.contains(".") ? nil : String(file.path.dropFirst()), file.summary,
          media: .init(String(file.mediaType.prefix { $0 != ";" }), Schema(.string))
        ).handled(
          by: PageRoute(
            file.bytes, mediaType: file.mediaType, baseMap: file.path.hasPrefix("/map") ? baseMap : nil))
      }
  }

  private static func call(
    _ path: String, id: String, link: String? = nil, _ summary: String, media: MediaDescription
  ) -> Call {
    Call(
      .GET, path, id: id, group: .description, link: link, summary: summary, caching: .tagged(),
      responses: [.init(200, "The file.", headers: [.securityPolicy.required], media: [media])])
  }

  private static func mapSettings(_ baseMap: BaseMap?) -> JSONValue {
    // Tiles of a file may be those of a town alone.
    let layers = (baseMap?.hidesLand == true ? [] : [LandTiles.layer]) + (baseMap.map { [$0.layer] } ?? [])
    return ["layers": .array(layers.map { $0.json })]
  }

  /// Returns the settings with which the status page makes no calls that would be rejected.
  private static func statusSettings(_ openScopes: Set<AccessScope>, hasSearches: Bool) -> JSONValue {
    ["openScopes": .array(openScopes.sorted().map { .string($0.rawValue) }), "hasSearches": .bool(hasSearches)]
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    var response = try await file.response(to: request, mediaType: mediaType)
    response.headers.add(name: "content-security-policy", value: securityPolicy)
    response.headers.add(name: "x-content-type-options", value: "nosniff")
    response.headers.add(name: "referrer-policy", value: referrerPolicy)
    return response
  }
}
