import JSONText
import NIOHTTP1
import PointFormats

extension CallDescription {
  static let operations: [CallDescription] = [
    CallDescription(
      method: .GET, path: "/health/live", id: "isLive", group: .operations,
      summary: "Check that the process responds",
      responses: [.init(200, "It does.", headers: [.cacheControl], media: .json(.component("Health")))]),
    CallDescription(
      method: .GET, path: "/health/ready", id: "isReady", group: .operations,
      summary: "Check that the store responds and its schema is current",
      responses: [.init(200, "It does.", headers: [.cacheControl], media: .json(.component("Health")))],
      problems: [.init(503, .storeUnavailable), .init(503, .storeMisconfigured), .init(503, .overloaded)]),
    CallDescription(
      method: .GET, path: "/metrics", id: "getMetrics", group: .operations, summary: "Get the metrics",
      responses: [
        .init(
          200, "The current values for Prometheus.", headers: [.cacheControl, .age],
          media: [.init("text/plain", Schema(.string))])
      ],
      problems: ProblemDescription.store),
    CallDescription(
      method: .GET, path: "/analytics/searches", id: "getSearchReport", group: .operations,
      summary: "Get a report of the searches in a period",
      parameters: ["f": .format([.json])],
      responses: [.init(200, "The report.", headers: [.cacheControl], media: .json(.component("SearchReport")))],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union([.notFound])),
    CallDescription(
      method: .POST, path: "/backup", id: "backUp", group: .operations, summary: "Download a copy of the store's file",
      responses: [
        .init(
          200, "An SQLite file.", headers: [.contentDisposition.required, .cacheControl],
          media: [.init("application/vnd.sqlite3", Schema(.string, nil, ["format": "binary"]))])
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store)
        .union([.init(409, .conflict), .init(501, .notImplemented)])),
  ]

  static let descriptions: [CallDescription] =
    [
      CallDescription(
        method: .GET, path: "/", id: "getIndex", group: .description,
        summary: "Get the service's name, version and links",
        responses: [.init(200, "Name, version and links.", media: .json(.component("Index")))]),
      document(path: "/openapi.json", id: "getOpenAPI31", .v3_1),
      document(path: "/openapi-3.0.json", id: "getOpenAPI30", .v3_0),
      page(
        path: PageRoute.mapSettingsPath, id: "getMapSettings", summary: "Get the map page's settings",
        media: .init("application/json", .component("MapSettings"))),
      page(
        path: PageRoute.statusSettingsPath, id: "getStatusSettings", summary: "Get the status page's settings",
        media: .init("application/json", .component("StatusSettings"))),
    ]
    + PageFile.all.map { file in
      page(
        path: file.path, id: file.id, summary: file.summary,
        media: .init(String(file.mediaType.prefix { $0 != ";" }), Schema(.string)))
    }

  private static let cached = [HeaderDescription.entityTag.required] + HeaderDescription.caching

  private static func document(path: String, id: String, _ version: OpenAPIVersion) -> CallDescription {
    CallDescription(
      method: .GET, path: path, id: id, group: .description,
      summary: "Get this document in OpenAPI \(version.rawValue)",
      requestHeaders: [.ifNoneMatch],
      responses: [
        .init(
          200, "The document.", headers: cached,
          media: [version.mediaType, "application/json"].map {
            .init($0, Schema(.object([.required("openapi", Schema(.string))], others: Schema(.any))))
          }),
        .notModified(cached),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.acceptance))
  }

  private static func page(path: String, id: String, summary: String, media: MediaDescription) -> CallDescription {
    CallDescription(
      method: .GET, path: path, id: id, group: .description, summary: summary, requestHeaders: [.ifNoneMatch],
      responses: [
        .init(200, "The file.", headers: cached + [.securityPolicy.required], media: [media]),
        .notModified(cached),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.acceptance))
  }
}
