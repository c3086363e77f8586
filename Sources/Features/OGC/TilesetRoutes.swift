import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import PointFormats
import Points
import VectorTiles

/// `GET` of the resources of OGC API Tiles (OGC 20-057) that describe the tiles of the collections.
struct TilesetRoute: RouteHandler {
  enum Resource: Sendable {
    case matrixSets, matrixSet, tilesets, tileset
  }

  /// Returns the calls of all resources, and that of the tiles.
  static func endpoints(
    _ context: FeaturesContext, _ responder: TileResponder, _ areas: any AreaStore
  ) -> [Endpoint] {
    func resource(
      _ resource: Resource, _ path: String, scope: AccessScope? = nil, id: String, _ summary: String,
      members: [String]
    ) -> Endpoint {
      let schema = Schema(.object(members.map { .required($0, Schema(.any)) }, others: Schema(.any)))
      return FeaturesRoute.call(
        path, scope: scope, id: id, summary, media: [.init(.json, schema)],
        format: .init("Representation of the response.", .oneOf(["json"]))
      ).handled(by: TilesetRoute(resource: resource, context: context, policy: responder.policy))
    }
    return [
      resource(
        .matrixSets, "/tileMatrixSets", id: "getTileMatrixSets", "List the tile matrix sets",
        members: ["tileMatrixSets"]),
      resource(
        .matrixSet, "/tileMatrixSets/\(TileMatrixSet.id)", id: "getTileMatrixSet",
        "Get the tile matrix set of the tiles", members: ["id", "crs", "tileMatrices"]),
      resource(
        .tilesets, "/collections/{collection}/tiles", scope: .read, id: "getTilesets",
        "List the tilesets of a collection", members: ["tilesets"]),
      resource(
        .tileset, "/collections/{collection}/tiles/\(TileMatrixSet.id)", scope: .read, id: "getTileset",
        "Get the description of a tileset", members: ["dataType", "crs", "tileMatrixSetURI", "links"]),
      CollectionTileRoute(context: context, responder: responder, areas: areas).endpoint,
    ]
  }

  let resource: Resource
  let context: FeaturesContext
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: [.format])
    try values.check()
    guard values[.format] == nil || values[.format] == "json" else {
      throw .invalidParameter("f", "must be json, got '\(values[.format]?.prefix(50) ?? "")'")
    }
    var mediaType = PointFormat.json.mediaType
    if values[.format] == nil {
      mediaType = try MediaRange.preferred(
        [mediaType], mediaType: { $0 }, accept: request.headers[canonicalForm: "accept"])
    }
    let links = FeatureLinks(context.address, for: request)
    let document: JSONValue
    switch resource {
    case .matrixSets: document = Self.matrixSets(links)
    case .matrixSet: document = TileMatrixSet.definition
    case .tilesets:
      let tileset = Self.summary(of: try context.collection(of: request), links)
      document = ["links": Self.own(links).json, "tilesets": [.object(tileset)]]
    case .tileset: document = Self.tileset(of: try context.collection(of: request), links)
    }
    return try await FeaturesRoute.reusable(
      HTTPResponse(contentType: mediaType, bytes: document.text), by: policy, for: request)
  }

  private static func own(_ links: FeatureLinks) -> [PointGeoJSON.Link] {
    [.init(relation: "self", mediaType: PointFormat.json.mediaType, target: links.own())]
  }

  private static func matrixSets(_ links: FeatureLinks) -> JSONValue {
    let definition = PointGeoJSON.Link(
      relation: "self", mediaType: PointFormat.json.mediaType,
      target: links.target("/tileMatrixSets/\(TileMatrixSet.id)"))
    return [
      "links": own(links).json,
      "tileMatrixSets": [
        [
          "id": .string(TileMatrixSet.id), "title": .string(TileMatrixSet.title), "uri": .string(TileMatrixSet.uri),
          "crs": .string(TileMatrixSet.crs), "links": [definition].json,
        ]
      ],
    ]
  }

  /// Returns the members of a tileset that lists have too.
  ///
  /// - Parameter others: further links.
  private static func summary(
    of collection: PointCollection, _ links: FeatureLinks, others: [JSONValue] = []
  ) -> [JSONValue.Member] {
    let json = PointFormat.json.mediaType
    let own = links.collection(collection, "/tiles/\(TileMatrixSet.id)")
    let related = [
      PointGeoJSON.Link(relation: "self", mediaType: json, target: own),
      PointGeoJSON.Link(
        relation: FeaturesRoute.relation("tiling-scheme"), mediaType: json,
        target: links.target("/tileMatrixSets/\(TileMatrixSet.id)")),
    ]
    return [
      .init(name: "title", value: .string(collection.title)), .init(name: "dataType", value: "vector"),
      .init(name: "crs", value: .string(TileMatrixSet.crs)),
      .init(name: "tileMatrixSetURI", value: .string(TileMatrixSet.uri)),
      .init(name: "links", value: .array(related.map(\.json) + others)),
    ]
  }

  /// Returns the tileset metadata of a collection.
  private static func tileset(of collection: PointCollection, _ links: FeatureLinks) -> JSONValue {
    let path = "/tiles/\(TileMatrixSet.id)/{tileMatrix}/{tileRow}/{tileCol}"
    let item: JSONValue = [
      "rel": "item", "type": .string(VectorTile.mediaType), "href": .string(links.collection(collection, path)),
      "templated": true,
    ]
    var members = summary(of: collection, links, others: [item])
    members.append(.init(name: "tileMatrixSetLimits", value: TileMatrixSet.limits))
    members.append(
      .init(
        name: "layers",
        value: [
          layer(.places), layer(.clusters),
        ]))
    return .object(members)
  }

  private static func layer(_ layer: TileLayer) -> JSONValue {
    [
      "id": .string(layer.id), "title": .string(layer.title), "dataType": "vector", "geometryDimension": 0,
      "propertiesSchema": [
        "type": "object",
        "properties": .object(
          layer.fields.map { .init(name: $0.name, value: ["type": $0.type == .number ? "integer" : "string"]) }),
      ],
    ]
  }
}

/// `GET /ogc/collections/{collection}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}`: a vector tile of the
/// places of a collection that match.
struct CollectionTileRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/ogc/collections/{collection}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}", scope: .read,
    joinsRestriction: true, id: "getCollectionTile", group: .features, summary: "Get a vector tile of a collection",
    description: "The same tile as that of `/tiles`, of the places of the collection.",
    parameters: TileResponder.parameters.union([.format]),
    describing: [
      "collection": .collection,
      "tileMatrix": .init("Zoom level, 0 to 22.", Schema(.string, example: "11"), isRequired: true),
      "tileRow": .init("Row, from the north.", Schema(.integer, nil, ["minimum": 0]), isRequired: true),
      "tileCol": .init("Column, from the west.", Schema(.integer, nil, ["minimum": 0]), isRequired: true),
      "f": .init("Representation of the response.", .oneOf(["mvt"])),
    ],
    caching: .tagged(isAlwaysTagged: false), responses: [TileResponder.description])

  let context: FeaturesContext
  let responder: TileResponder
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    var arguments = try await request.compiling(values) { () throws(Problem) in
      values.tileArguments(by: responder.filtering)
    }
    if let format = values[.format], format != "mvt" {
      values.note(.invalid, Parameter.format.name, "must be mvt, got '\(format.prefix(50))'")
    }
    try values.check()
    arguments.confine(to: try context.collection(of: request))
    let path = request.pathParameters
    return try await responder.respond(
      with: TileAddress(zoom: path["tileMatrix"], x: path["tileCol"], y: path["tileRow"]), arguments, to: request)
  }
}

extension TileArguments {
  /// Confines the places to those of a collection.
  fileprivate mutating func confine(to collection: PointCollection) {
    guard !collection.categories.isEmpty else { return }
    let categories = Set(collection.categories.map { ExactText($0) })
    filters.categories = filters.categories.isEmpty ? categories : filters.categories.intersection(categories)
    canMatch = !filters.categories.isEmpty
    var hash = FNV1a()
    for category in categories.sorted() {
      hash.combine(bytes: category.text.utf8)
      hash.combine(bytes: [0])
    }
    variant = hash.tagSuffix
  }
}

/// The tile matrix set `WebMercatorQuad` (OGC 17-083r4, annex D.1): the squares of the map that `/tiles` has too.
enum TileMatrixSet {
  static let id = "WebMercatorQuad"
  static let title = "Google Maps Compatible for the World"
  static let uri = "http://www.opengis.net/def/tilematrixset/OGC/1.0/\(id)"
  static let crs = ReferenceSystem.epsg3857.rawValue

  /// The levels of the standard, more than those of the tiles.
  private static let levels = 0...24

  /// Half of the side of the map, in metres.
  private static let halfSide = 6_378_137 * Double.pi

  /// The number of pixels of the side of a tile.
  private static let tilePixels = 256

  /// The size of a pixel to which scales are related, in metres.
  private static let pixelMetres = 0.00028

  static let definition: JSONValue = [
    "id": .string(id), "title": .string(title), "uri": .string(uri), "crs": .string(crs),
    "orderedAxes": ["X", "Y"], "wellKnownScaleSet": "http://www.opengis.net/def/wkss/OGC/1.0/GoogleMapsCompatible",
    "tileMatrices": .array(levels.map(matrix)),
  ]

  private static func matrix(_ level: Int) -> JSONValue {
    let cellSize = 2 * halfSide / Double(tilePixels << level)
    return [
      "id": .string("\(level)"), "scaleDenominator": number(cellSize / pixelMetres), "cellSize": number(cellSize),
      "cornerOfOrigin": "topLeft", "pointOfOrigin": [number(-halfSide), number(halfSide)],
      "tileWidth": .count(tilePixels), "tileHeight": .count(tilePixels), "matrixWidth": .count(1 << level),
      "matrixHeight": .count(1 << level),
    ]
  }

  private static func number(_ value: Double) -> JSONValue { .number("\(value)") }

  /// The limits of the levels that there are tiles of.
  static let limits = JSONValue.array(
    TileAddress.zooms.map { level in
      let last = JSONValue.count(1 << level - 1)
      return [
        "tileMatrix": .string("\(level)"), "minTileRow": 0, "maxTileRow": last, "minTileCol": 0, "maxTileCol": last,
      ]
    })
}
