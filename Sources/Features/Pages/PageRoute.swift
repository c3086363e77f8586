import APIDescription
import AccessControl
import CPages
import HTTPServer
import JSONText
package import LocationsAPI
import NIOHTTP1

/// A file of a web page: `/docs`, `/map`, `/status`, and what they load.
///
/// The pages load nothing from elsewhere but the images of a base map of the operator's choice. Their references are
/// relative, so that they work under a path prefix. They are open to everyone, since they have nothing of the places:
/// their scripts call the service with the key of the caller.
struct PageFile: Sendable {
  let path: String
  /// The name of the call for programs, and its summary.
  let id, summary: String
  let bytes: [UInt8]

  /// The bytes, or those for each language of ``PageStyle``.
  let versions: [[UInt8]]

  static let all: [PageFile] = {
    let pages = waymark_pages()
    return UnsafeBufferPointer(start: pages.files, count: pages.count).map { file in
      PageFile(
        path: String(cString: file.path), id: String(cString: file.id), summary: String(cString: file.summary),
        bytes: Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    }
  }()

  private init(path: String, id: String, summary: String, bytes: [UInt8]) {
    (self.path, self.id, self.summary, self.bytes) = (path, id, summary, bytes)
    let isPage = Self.mediaType(of: path).hasPrefix("text/html")
    versions = isPage ? PageStyle.translated.texts.map { $0.filling(bytes) } : [bytes]
  }

  var mediaType: String { Self.mediaType(of: path) }

  private static func mediaType(of path: String) -> String {
    let type =
      if path.hasSuffix(".css") { "text/css" } else if path.hasSuffix(".js") { "text/javascript" } else { "text/html" }
    return type + "; charset=utf-8"
  }
}

/// The pages of the service, what they load, and the metrics that the status page shows.
package struct PageCalls: Sendable {
  package let endpoints: [Endpoint]

  /// Creates the calls.
  ///
  /// - Parameters:
  ///   - baseMap: the base map of the operator; `nil` for the built-in one.
  ///   - history: the metrics of the last hour; `nil` if there are none.
  ///   - hasSearches: a Boolean value that indicates whether there is a report on searches, which the status page shows.
  package init(
    _ api: LocationsAPI, baseMap: BaseMap? = nil, history: StatusHistory? = nil, hasSearches: Bool = false
  ) {
    let history = history.map { [StatusHistoryRoute(history: $0).endpoint] } ?? []
    // Open calls have no sender, so that no key with a filter reaches its own.
    guard api.configuration.restriction == nil else {
      endpoints = history
      return
    }
    let tiles: [any CallHandler] = [LandRoute(), ImageTileRoute(file: baseMap?.file)]
    endpoints =
      tiles.map(\.endpoint) + history
      + PageRoute.endpoints(
        baseMap: baseMap, access: api.configuration.access, hasSearches: hasSearches)
  }
}

extension PageStyle {
  /// The texts of all pages in their languages.
  package static let translated: PageStyle = {
    var all: [PageTexts] = []
    while let language = waymark_texts(all.count).language {
      let texts = waymark_texts(all.count)
      all.append(
        PageTexts(
          language: String(cString: language),
          file: Array(UnsafeBufferPointer(start: texts.bytes, count: texts.count))))
    }
    return PageStyle(texts: all)
  }()
}

/// `GET` of a file of a page, or of a page's settings.
struct PageRoute: RouteHandler {
  /// The path of the settings that the map page reads.
  static let mapSettingsPath = "/map/settings.json"

  /// The path of the settings that the status page reads.
  static let statusSettingsPath = "/status/settings.json"

  /// The path of the texts that the scripts of all pages read.
  static let textsPath = "/pages/texts.json"

  /// The file, or one for each language of ``PageStyle``.
  private let files: [StaticFile]
  private let mediaType: String
  private let imageOrigin: String?

  private init(_ files: [[UInt8]], mediaType: String, imageOrigin: String? = nil) {
    self.files = files.map { StaticFile($0) }
    self.mediaType = mediaType
    self.imageOrigin = imageOrigin
  }

  /// Returns the calls of all files.
  ///
  /// - Parameters:
  ///   - baseMap: the base map of the operator; `nil` for the built-in one.
  ///   - hasSearches: a Boolean value that indicates whether there is a report on searches.
  static func endpoints(baseMap: BaseMap?, access: AccessControl, hasSearches: Bool) -> [Endpoint] {
    func json(_ path: String, id: String, _ summary: String, _ schema: Schema, _ files: [[UInt8]]) -> Endpoint {
      call(path, id: id, summary, media: .init("application/json", schema), isTranslated: files.count > 1)
        .handled(by: PageRoute(files, mediaType: "application/json"))
    }
    return [
      json(
        mapSettingsPath, id: "getMapSettings", "Get the map page's settings", .mapSettings,
        [mapSettings(baseMap).text]),
      json(
        statusSettingsPath, id: "getStatusSettings", "Get the status page's settings",
        .statusSettings(access.scopes), [statusSettings(access.openScopes, hasSearches: hasSearches).text]),
      json(
        textsPath, id: "getPageTexts", "Get the texts of the pages", Schema(.object([], others: Schema(.any))),
        PageStyle.translated.texts.map(\.file)),
    ]
      + PageFile.all.map { file in
        let isPage = file.mediaType.hasPrefix("text/html")
        return call(
          file.path, id: file.id, link: isPage ? String(file.path.dropFirst()) : nil, file.summary,
          media: .init(String(file.mediaType.prefix { $0 != ";" }), Schema(.string)), isTranslated: isPage
        ).handled(
          by: PageRoute(
            file.versions, mediaType: file.mediaType,
            imageOrigin: file.path.hasPrefix("/map") ? baseMap?.origin : nil))
      }
  }

  private static func call(
    _ path: String, id: String, link: String? = nil, _ summary: String, media: MediaDescription, isTranslated: Bool
  ) -> Call {
    Call(
      .GET, path, id: id, group: .pages, link: link, summary: summary,
      requestHeaders: isTranslated ? [.acceptLanguage] : [], caching: .tagged(),
      responses: [
        .init(
          200, "The file.", headers: [.securityPolicy.required] + (isTranslated ? [.contentLanguage.required] : []),
          media: [media])
      ])
  }

  private static func mapSettings(_ baseMap: BaseMap?) -> JSONValue {
    // Tiles of a file may be those of a town alone.
    let layers = (baseMap?.hidesLand == true ? [] : [LandTiles.layer]) + (baseMap.map { [$0.layer] } ?? [])
    return ["layers": .array(layers.map { $0.json })]
  }

  /// Returns the settings with which the status page makes no calls that would be rejected.
  private static func statusSettings(_ openScopes: Set<AccessScope>, hasSearches: Bool) -> JSONValue {
    ["openScopes": .array(openScopes.sorted().map { .string($0.description) }), "hasSearches": .bool(hasSearches)]
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let isTranslated = files.count > 1
    let index = isTranslated ? PageStyle.translated.index(preferredBy: request.headers) : 0
    var response = try await files[index].response(to: request, mediaType: mediaType)
    response.addPageFields(
      isTranslated ? PageStyle.translated.texts[index] : nil, imageOrigin: imageOrigin)
    if isTranslated { response.addVaryingLanguage() }
    return response
  }
}

extension Schema {
  private static let mapLayerExample: JSONValue = [
    "tiles": "/basemap/{z}/{x}/{y}.png", "format": "image", "attribution": "© OpenStreetMap contributors",
  ]

  fileprivate static let mapLayer = Schema(
    .object(
      [
        .required(
          "tiles",
          Schema(.string, "The address of a tile, relative to the service or absolute, with `{z}`, `{x}` and `{y}`.")),
        .required(
          "format",
          Schema(
            .string, "`vector` for the built-in base map.",
            ["enum": .array(MapLayer.Format.allCases.map { .string($0.rawValue) })])),
        .optional("minimumZoom", Schema(.integer, "The lowest zoom level of the tiles.", ["minimum": 0])),
        .optional("maximumZoom", Schema(.integer, "The highest zoom level of the tiles.", ["minimum": 0])),
        .optional(
          "bounds",
          Schema(
            .array(of: Schema(.number)), "The box that has tiles: west, south, east, north.",
            ["minItems": 4, "maxItems": 4])),
        .required("attribution", Schema(.string, "The attribution, as plain text.")),
      ], others: nil),
    nil, example: mapLayerExample
  ).named("MapLayer", order: 410)

  fileprivate static let mapSettings = Schema(
    .object(
      [.required("layers", Schema(.array(of: .mapLayer), "The tiles that are drawn, the lowest first."))],
      others: nil),
    nil, example: ["layers": [mapLayerExample]]
  ).named("MapSettings", order: 420)

  fileprivate static func statusSettings(_ scopes: [AccessScope]) -> Schema {
    Schema(
      .object(
        [
          .required(
            "openScopes",
            Schema(
              .array(of: .oneOf(scopes.map(\.description))),
              "The scopes of the calls that need neither a key nor a token.")),
          .required("hasSearches", Schema(.boolean, "Whether there is a report on searches.")),
        ], others: nil),
      nil, example: ["openScopes": ["read"], "hasSearches": false]
    ).named("StatusSettings", order: 430)
  }
}

extension CallGroup {
  static let pages = CallGroup(
    name: "Pages", order: 140,
    description: "The web pages, in English, Korean and German, and the files that they load.")
}
