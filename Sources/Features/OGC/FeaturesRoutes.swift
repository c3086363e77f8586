import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// `GET` of the resources of OGC API Features that describe the service and its collections.
struct FeaturesRoute: RouteHandler {
  enum Resource: Sendable {
    case landing, conformance, collections, collection, queryables, schema
  }

  /// Returns the calls of all resources. Those without anything of the places are open to everyone, as the description
  /// of all calls is.
  static func endpoints(_ context: FeaturesContext, _ policy: CachePolicy) -> [Endpoint] {
    func resource(
      _ resource: Resource, _ path: String, scope: AccessScope? = nil, id: String, link: String? = nil,
      _ summary: String, media: [MediaDescription], format: ParameterDescription = .pageFormat
    ) -> Endpoint {
      call(path, scope: scope, id: id, link: link, summary, media: media, format: format)
        .handled(by: FeaturesRoute(resource: resource, context: context, policy: policy))
    }
    let collection = "/collections/{collection}"
    let landing = [MediaDescription].pages(.landing)
    return [
      resource(.landing, "", id: "getFeaturesLanding", link: "ogc", "Get the landing page", media: landing),
      // OWSLib adds a slash.
      resource(.landing, "/", id: "getFeaturesLandingFolder", "Get the landing page", media: landing),
      resource(
        .conformance, "/conformance", id: "getFeaturesConformance", "Get the conformance classes",
        media: .pages(.conformance)),
      resource(
        .collections, "/collections", scope: .read, id: "getCollections", "List the collections",
        media: .pages(.collections)),
      resource(
        .collection, collection, scope: .read, id: "getCollection", "Get a collection",
        media: .pages(.collection)),
      resource(
        .queryables, collection + "/queryables", scope: .read, id: "getQueryables",
        "Get the properties of conditions", media: .jsonSchema),
      resource(
        .schema, collection + "/schema", scope: .read, id: "getSchema", "Get the properties of features",
        media: .jsonSchema,
        format: .init(
          "Representation of the response: `geojson` is the schema of the features in GeoJSON.",
          .oneOf(["json", "html", "geojson"]))),
    ]
  }

  /// Returns the call of a resource that is described.
  static func call(
    _ path: String, scope: AccessScope?, id: String, link: String? = nil, _ summary: String, media: [MediaDescription],
    format: ParameterDescription
  ) -> Call {
    let path = FeatureLinks.root + path
    return Call(
      .GET, path, scope: scope, joinsRestriction: true, id: id, group: .features, link: link, summary: summary,
      parameters: [.format],
      describing: path.contains("{") ? ["f": format, "collection": .collection] : ["f": format],
      requestHeaders: [.acceptLanguage], caching: .timed,
      responses: [.init(200, "The description.", headers: .ofPages, media: media)])
  }

  /// The time for which a response may be used again, in seconds.
  private static let maximumAgeSeconds: Int64 = 60

  let resource: Resource
  let context: FeaturesContext
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: [.format])
    try values.check()
    let collection = hasCollection ? try context.collection(of: request) : context.collections.all[0]
    // GDAL takes its fields from the schema of the features in GeoJSON.
    let isGeoJSON = resource == .schema && values[.format] == "geojson"
    let format = try FeatureFormat.chosen(
      by: isGeoJSON ? "json" : values[.format], accept: request.headers, from: formats)
    let links = FeatureLinks(context.address, for: request, inPage: format == .html)
    let document =
      isGeoJSON
      ? context.properties.geoJSONSchema(of: collection) : try await json(collection, format, links, for: request)
    guard format == .html else {
      let response = HTTPResponse(contentType: format.mediaType, bytes: document.text)
      return try await Self.reusable(response, by: policy, for: request)
    }
    let pages = FeaturePages(links, for: request, context.style)
    var response = try await Self.reusable(page(of: document, collection, pages), by: policy, for: request)
    response.addVaryingLanguage()
    return response
  }

  /// Returns the response as it is sent: compressed where the request prefers that, and reusable for a minute.
  ///
  /// - Throws: `Problem` 406.
  static func reusable(
    _ response: HTTPResponse, by policy: CachePolicy, for request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    var response = response
    try await ContentCoding.apply(to: &response, of: request)
    response.addCaching(by: policy, maximumAgeSeconds: maximumAgeSeconds)
    return response
  }

  private var hasCollection: Bool {
    switch resource {
    case .landing, .conformance, .collections: false
    case .collection, .queryables, .schema: true
    }
  }

  private var formats: [FeatureFormat] {
    switch resource {
    case .landing, .conformance, .collections, .collection: FeatureFormat.ofPages
    case .queryables, .schema: FeatureFormat.ofSchemas
    }
  }

  // MARK: JSON

  private func json(
    _ collection: PointCollection, _ format: FeatureFormat, _ links: FeatureLinks, for request: HTTPRequest
  ) async throws(Problem) -> JSONValue {
    switch resource {
    case .landing: landing(links.selfAndAlternate(format), links)
    case .conformance: ["conformsTo": .array(context.conformance.map(JSONValue.string))]
    case .collections:
      [
        "links": links.selfAndAlternate(format).json,
        "crs": .array(ReferenceSystem.allCases.map { .string($0.rawValue) }),
        "collections": .array(
          zip(context.collections.all, try await context.extents(of: context.collections.all, for: request)).map {
            collection, extent in
            description(of: collection, in: extent, [], links)
          }),
      ]
    case .collection:
      description(
        of: collection, in: try await context.extents(of: [collection], for: request)[0],
        links.selfAndAlternate(format), links)
    case .queryables: context.properties.queryables(of: collection, id: links.collection(collection, "/queryables"))
    case .schema: context.properties.schema(of: collection, id: links.collection(collection, "/schema"))
    }
  }

  private func landing(_ own: [PointGeoJSON.Link], _ links: FeatureLinks) -> JSONValue {
    let json = PointFormat.json.mediaType
    var targets =
      own + [
        .init(relation: "service-desc", mediaType: OpenAPIVersion.v3_0.mediaType, target: links.target("/api")),
        .init(relation: "service-doc", mediaType: "text/html", target: links.service("/docs")),
        .init(relation: "conformance", mediaType: json, target: links.target("/conformance")),
        .init(relation: Self.relation("conformance"), mediaType: json, target: links.target("/conformance")),
        .init(relation: "data", mediaType: json, target: links.target("/collections")),
        .init(relation: Self.relation("data"), mediaType: json, target: links.target("/collections")),
        .init(relation: "license", mediaType: json, target: links.service("/sources")),
      ]
    if context.hasTiles {
      targets.append(
        .init(relation: Self.relation("tiling-schemes"), mediaType: json, target: links.target("/tileMatrixSets")))
    }
    return [
      "title": "Waymark", "description": "Points of interest.", "links": targets.json,
    ]
  }

  private func description(
    of collection: PointCollection, in extent: BoundingBox?, _ own: [PointGeoJSON.Link], _ links: FeatureLinks
  ) -> JSONValue {
    let box = extent.map { box -> JSONValue in
      .array([box.west, box.south, box.east, box.north].map { .number("\($0)") })
    }
    let items = links.collection(collection, "/items")
    let schema = FeatureFormat.schema.mediaType
    var targets = own
    if own.isEmpty {
      targets.append(
        .init(relation: "self", mediaType: PointFormat.json.mediaType, target: links.collection(collection)))
    }
    targets += [
      .init(relation: "items", mediaType: PointFormat.geoJSON.mediaType, target: items),
      .init(relation: "items", mediaType: "text/html", target: items + "?f=html"),
      .init(
        relation: Self.relation("queryables"), mediaType: schema, target: links.collection(collection, "/queryables")),
      .init(relation: Self.relation("schema"), mediaType: schema, target: links.collection(collection, "/schema")),
      .init(
        relation: "describedby", mediaType: schema, target: links.collection(collection, "/schema?f=geojson")),
      // The relation as GDAL spells it.
      .init(
        relation: "describedBy", mediaType: schema, target: links.collection(collection, "/schema?f=geojson")),
      .init(relation: "license", mediaType: PointFormat.json.mediaType, target: links.service("/sources")),
    ]
    if context.hasTiles {
      targets.append(
        .init(
          relation: Self.relation("tilesets-vector"), mediaType: PointFormat.json.mediaType,
          target: links.collection(collection, "/tiles")))
    }
    return [
      "id": .string(collection.id), "title": .string(collection.title),
      "description": .string(collection.description),
      "extent": [
        "spatial": [
          "bbox": [box ?? [-180, -90, 180, 90]], "crs": .string(ReferenceSystem.crs84.rawValue),
        ]
      ],
      "itemType": "feature",
      "crs": .array(ReferenceSystem.allCases.map { .string($0.rawValue) }),
      "storageCrs": .string(ReferenceSystem.crs84.rawValue),
      "links": targets.json,
    ]
  }

  /// Returns a relation type that the OGC has registered.
  static func relation(_ name: String) -> String { "http://www.opengis.net/def/rel/ogc/1.0/\(name)" }

  // MARK: Pages

  private func page(of document: JSONValue, _ collection: PointCollection, _ pages: FeaturePages) -> HTTPResponse {
    switch resource {
    case .landing: pages.landing()
    case .conformance: pages.conformance(context.conformance)
    case .collections: pages.collections(context.collections.all)
    case .collection: pages.collection(collection)
    case .queryables: pages.schema(document, "ogc.queryables", of: collection)
    case .schema: pages.schema(document, "ogc.schema", of: collection)
    }
  }
}

extension [MediaDescription] {
  /// The representations of a resource of OGC API Features.
  fileprivate static func pages(_ schema: Schema) -> [MediaDescription] {
    [.init(FeatureFormat.json.mediaType, schema), .page]
  }

  fileprivate static let jsonSchema: [MediaDescription] = {
    let schema = Schema.jsonSchema
    return [.init(FeatureFormat.schema.mediaType, schema), .init(.json, schema), .page]
  }()
}

extension MediaDescription {
  static let page = MediaDescription("text/html", Schema(.string, "A page."))
}

extension [HeaderDescription] {
  /// The header fields of responses that may be pages.
  static let ofPages: [HeaderDescription] = [.contentLanguage, .securityPolicy]
}

extension ParameterDescription {
  static let pageFormat = ParameterDescription(
    "Representation of the response; it takes precedence over `Accept`.", .oneOf(["json", "html"]))

  static let collection = ParameterDescription(
    "Id of the collection: `places`, or one that the operator defined.", Schema(.string, example: "places"),
    isRequired: true)
}

extension FeaturesContext {
  /// Returns the box of the places of each collection; `nil` where it has none, and where no index knows it.
  fileprivate func extents(
    of collections: [PointCollection], for request: HTTPRequest
  ) async throws(Problem) -> [BoundingBox?] {
    let view = try? await service.view(for: .page, isRequired: true, notBefore: request.minimumPosition)
    guard case .snapshot(let snapshot)? = view else {
      return collections.map { _ in nil }
    }
    return try await request.computing {
      collections.map { snapshot.extent(ofCategories: Set($0.categories.map { ExactText($0) })) }
    }
  }

  /// A Boolean value that indicates whether there are tiles of the collections.
  var hasTiles: Bool { service.hasIndex }

  /// The URIs of the conformance classes. Those of filters need an index in memory.
  var conformance: [String] {
    func classes(_ standard: String, _ names: [String]) -> [String] {
      names.map { "http://www.opengis.net/spec/\(standard)/conf/\($0)" }
    }
    var all =
      classes("ogcapi-features-1/1.0", ["core", "oas30", "html", "geojson"]) + classes("ogcapi-features-2/1.0", ["crs"])
      + classes("ogcapi-common-3/1.0", ["schemas", "returnables-and-receivables", "queryables"])
    if service.hasIndex {
      all += classes(
        "ogcapi-features-3/1.0", ["queryables", "queryables-query-parameters", "filter", "features-filter"])
      all += classes(
        "cql2/1.0",
        [
          "cql2-text", "cql2-json", "basic-cql2", "advanced-comparison-operators", "case-insensitive-comparison",
          "accent-insensitive-comparison", "basic-spatial-functions", "basic-spatial-functions-plus",
          "spatial-functions", "temporal-functions", "array-functions", "arithmetic",
        ])
    }
    if hasTiles {
      all += classes("ogcapi-tiles-1/1.0", ["core", "tileset", "tilesets-list", "geodata-tilesets", "mvt", "oas30"])
      all += classes(
        "tms/2.0", ["tilematrixset", "json-tilematrixset", "tilesetmetadata", "json-tilesetmetadata"])
    }
    return all
      + classes("ogcapi-features-4/1.0", ["create-replace-delete", "update", "features", "optimistic-locking-etags"])
  }
}

/// A representation of a resource of OGC API Features.
enum FeatureFormat: Hashable {
  case geoJSON
  case json
  case schema
  case html

  /// The media type, for `Content-Type`.
  var mediaType: String {
    switch self {
    case .geoJSON: PointFormat.geoJSON.mediaType
    case .json: PointFormat.json.mediaType
    case .schema: "application/schema+json"
    case .html: "text/html; charset=utf-8"
    }
  }

  /// The representations of features.
  static let ofItems: [FeatureFormat] = [.geoJSON, .json, .html]

  /// The representations of schemas.
  static let ofSchemas: [FeatureFormat] = [.schema, .json, .html]

  /// The representations of all other resources.
  static let ofPages: [FeatureFormat] = [.json, .html]

  /// Returns the representation that `f` names, `json` or `html`, or else the one that `Accept` prefers.
  ///
  /// - Throws: `Problem` 400 for an unknown `f`, 406 when nothing offered is acceptable.
  static func chosen(
    by parameter: String?, accept headers: RequestFields, from offered: [FeatureFormat]
  ) throws(Problem) -> FeatureFormat {
    switch parameter {
    case nil:
      return try MediaRange.preferred(offered, mediaType: \.mediaType, accept: headers[canonicalForm: "accept"])
    case "json"?: return offered[0]
    case "html"?: return .html
    case let name?: throw .invalidParameter("f", "must be json or html, got '\(name.prefix(50))'")
    }
  }
}

extension CallGroup {
  static let features = CallGroup(
    name: "OGC API Features", order: 50, description: "The places as features, for GIS tools (OGC 17-069r4).")
}
