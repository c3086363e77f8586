import JSONText
import NIOHTTP1
import PointFormats
import Points

extension [MediaDescription] {
  /// The representations of a resource of OGC API Features.
  fileprivate static func features(_ schema: Schema, example: JSONValue? = nil) -> [MediaDescription] {
    [.init(FeatureFormat.json.mediaType, schema, example: example), page]
  }

  fileprivate static let page = MediaDescription("text/html", Schema(.string, "A page."))

  fileprivate static func schema(example: JSONValue? = nil) -> [MediaDescription] {
    let schema = Schema(.object([.required("type", .oneOf(["object"]))], others: Schema(.any)))
    return [.init(FeatureFormat.schema.mediaType, schema, example: example), .init(.json, schema), page]
  }

  /// The representations of features.
  fileprivate static func items(_ name: String) -> [MediaDescription] {
    [.init(.geoJSON, .component(name)), .init(.json, .component(name)), page]
  }
}

extension BodyDescription {
  fileprivate static let feature = BodyDescription(
    description: "The feature. Properties that the service sets are ignored.",
    media: [
      .init(.geoJSON, .component("FeatureDraft"), example: Examples.newFeature),
      .init(.json, .component("FeatureDraft"), example: Examples.newFeature),
    ])

  fileprivate static let featurePatch = BodyDescription(
    description: "The members to change.",
    media: ["application/merge-patch+json", "application/geo+json", "application/json"].map {
      .init($0, .component("FeaturePatch"))
    })
}

extension ParameterDescription {
  fileprivate static let format = ParameterDescription(
    "Representation of the response; it takes precedence over `Accept`.", .oneOf(["json", "html"]))

  fileprivate static let jsonFormat = ParameterDescription("Representation of the response.", .oneOf(["json"]))

  fileprivate static let collection = ParameterDescription(
    "Id of the collection: `places`, or one that the operator defined.", Schema(.string, example: "places"),
    isRequired: true)
}

extension CallDescription {
  static let featureBox = ParameterDescription(
    "Only places in the box: its least longitude and latitude and its greatest, in the order of the axes of `bbox-crs`."
      + " The first longitude may be greater, across the antimeridian. Of six numbers the third and the last are ignored.",
    Schema(.array(of: Schema(.number)), nil, ["minItems": 4, "maxItems": 4], example: [-122.5, 37.2, -121.5, 37.9]))

  private static let cached = HeaderDescription.caching

  private static let pageProblems = ProblemDescription.parameters.union(ProblemDescription.acceptance)

  private static func resource(
    _ path: String, id: String, _ summary: String, media: [MediaDescription],
    parameters: KeyValuePairs<String, ParameterDescription> = ["f": .format],
    isCollection: Bool = false
  ) -> CallDescription {
    CallDescription(
      method: .GET, path: FeatureLinks.root + path, id: id, group: .features, summary: summary, parameters: parameters,
      responses: [.init(200, "The description.", headers: cached, media: media)],
      problems: isCollection ? pageProblems.union([.notFound]) : pageProblems)
  }

  /// The properties of places that are parameters of a call for features.
  private static func property(_ property: PointProperty) -> ParameterDescription {
    .property(.init(name: property.name, type: property.type))
  }

  private static let writeProblems = ProblemDescription.parameters.union(ProblemDescription.change)
    .union(ProblemDescription.body).union([.notFound])

  private static let written: [HeaderDescription] = [.entityTag.required, .contentCRS.required, .position]

  private static let item: [MediaDescription] = [.init(.geoJSON, .component("FeatureItem"))]

  /// Returns the schema of a document with at least some members.
  private static func document(_ members: [String]) -> Schema {
    Schema(.object(members.map { .required($0, Schema(.any)) }, others: Schema(.any)))
  }

  static let features: [CallDescription] = [
    resource("", id: "getFeaturesLanding", "Get the landing page", media: .features(.component("FeaturesLanding"))),
    resource(
      "/", id: "getFeaturesLandingFolder", "Get the landing page", media: .features(.component("FeaturesLanding"))),
    resource(
      "/conformance", id: "getFeaturesConformance", "Get the conformance classes",
      media: .features(.component("FeaturesConformance"))),
    resource(
      "/collections", id: "getCollections", "List the collections", media: .features(.component("Collections"))),
    resource(
      "/collections/{collection}", id: "getCollection", "Get a collection", media: .features(.component("Collection")),
      parameters: ["f": .format, "collection": .collection], isCollection: true),
    resource(
      "/collections/{collection}/queryables", id: "getQueryables", "Get the properties of conditions",
      media: .schema(), parameters: ["f": .format, "collection": .collection], isCollection: true),
    resource(
      "/collections/{collection}/schema", id: "getSchema", "Get the properties of features", media: .schema(),
      parameters: [
        "f": .init(
          "Representation of the response: `geojson` is the schema of the features in GeoJSON.",
          .oneOf(["json", "html", "geojson"])),
        "collection": .collection,
      ],
      isCollection: true),
    CallDescription(
      method: .GET, path: "/ogc/collections/{collection}/items", id: "getItems", group: .features,
      summary: "List features",
      description: "The places of the collection that match all conditions, by id. A link leads to the next page.",
      parameters: [
        "collection": .collection, "f": .format, "bbox": featureBox,
        "limit": .init(
          "Maximum number of features of a page; more than \(FeatureArguments.maximumLimit) counts as"
            + " \(FeatureArguments.maximumLimit).",
          Schema(.integer, nil, ["minimum": 1, "default": .count(FeatureArguments.defaultLimit)]), statesStyle: true),
        "id": property(.id), "name": property(.name), "category": property(.category), "lat": property(.latitude),
        "long": property(.longitude), "createdAt": property(.createdAt), "updatedAt": property(.updatedAt),
        "source": property(.source), "sourceId": property(.sourceID), "version": property(.version),
      ],
      requestHeaders: HeaderDescription.revalidation,
      responses: [
        .init(200, "A page of features.", headers: .list + [.link, .contentCRS], media: .items("FeatureItems")),
        .notModified(.list),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union(ProblemDescription.filter).union([.notFound])),
    CallDescription(
      method: .GET, path: "/ogc/collections/{collection}/items/{id}", id: "getItem", group: .features,
      summary: "Get a feature",
      parameters: ["collection": .collection, "f": .format],
      requestHeaders: [.ifNoneMatch, .minimumPosition],
      responses: [
        .init(
          200, "The feature.", headers: [.entityTag.required] + cached + [.age, .contentCRS],
          media: .items("FeatureItem")),
        .notModified([.entityTag.required] + cached),
      ],
      problems: ProblemDescription.parameters.union(ProblemDescription.store).union(ProblemDescription.acceptance)
        .union([.notFound])),
    CallDescription(
      method: .POST, path: "/ogc/collections/{collection}/items", id: "createItem", group: .features,
      summary: "Create a feature", description: "The service gives the id; one in the body is ignored.",
      parameters: ["collection": .collection], requestHeaders: [.featureCRS, .idempotencyKey], body: .feature,
      responses: [.init(201, "The new feature.", headers: [.location.required] + written, media: item)],
      problems: writeProblems.union(ProblemDescription.idempotency)),
    CallDescription(
      method: .PUT, path: "/ogc/collections/{collection}/items/{id}", id: "replaceItem", group: .features,
      summary: "Replace a feature, or create it with this id",
      parameters: ["collection": .collection], requestHeaders: [.featureCRS, .ifMatch, .ifAbsent], body: .feature,
      responses: [
        .init(200, "The replaced feature.", headers: written, media: item),
        .init(201, "The new feature.", headers: [.location.required] + written, media: item),
      ],
      problems: writeProblems.union(ProblemDescription.preconditions).union([.init(409, .conflict)])),
    CallDescription(
      method: .PATCH, path: "/ogc/collections/{collection}/items/{id}", id: "changeItem", group: .features,
      summary: "Change members of a feature", description: "A JSON merge patch (RFC 7396).",
      parameters: ["collection": .collection], requestHeaders: [.featureCRS, .ifMatch, .ifAbsent], body: .featurePatch,
      responses: [.init(200, "The changed feature.", headers: written, media: item)],
      problems: writeProblems.union(ProblemDescription.preconditions).union([.init(409, .conflict)])),
    CallDescription(
      method: .DELETE, path: "/ogc/collections/{collection}/items/{id}", id: "deleteItem", group: .features,
      summary: "Delete a feature", parameters: ["collection": .collection], requestHeaders: [.ifMatch, .ifAbsent],
      responses: [.init(204, "The feature is deleted.", headers: [.position])],
      problems: ProblemDescription.parameters.union(ProblemDescription.change).union(ProblemDescription.preconditions)
        .union([.notFound])),
    resource(
      "/tileMatrixSets", id: "getTileMatrixSets", "List the tile matrix sets",
      media: [.init(.json, document(["tileMatrixSets"]))], parameters: ["f": .jsonFormat]),
    resource(
      "/tileMatrixSets/WebMercatorQuad", id: "getTileMatrixSet", "Get the tile matrix set of the tiles",
      media: [.init(.json, document(["id", "crs", "tileMatrices"]))], parameters: ["f": .jsonFormat]),
    resource(
      "/collections/{collection}/tiles", id: "getTilesets", "List the tilesets of a collection",
      media: [.init(.json, document(["tilesets"]))], parameters: ["f": .jsonFormat, "collection": .collection],
      isCollection: true),
    resource(
      "/collections/{collection}/tiles/WebMercatorQuad", id: "getTileset", "Get the description of a tileset",
      media: [.init(.json, document(["dataType", "crs", "tileMatrixSetURI", "links"]))],
      parameters: ["f": .jsonFormat, "collection": .collection], isCollection: true),
    CallDescription(
      method: .GET, path: "/ogc/collections/{collection}/tiles/WebMercatorQuad/{tileMatrix}/{tileRow}/{tileCol}",
      id: "getCollectionTile", group: .features, summary: "Get a vector tile of a collection",
      description: "The same tile as that of `/tiles`, of the places of the collection.",
      parameters: [
        "collection": .collection,
        "tileMatrix": .init("Zoom level, 0 to 22.", Schema(.string, example: "11"), isRequired: true),
        "tileRow": .init("Row, from the north.", Schema(.integer, nil, ["minimum": 0]), isRequired: true),
        "tileCol": .init("Column, from the west.", Schema(.integer, nil, ["minimum": 0]), isRequired: true),
        "f": .init("Representation of the response.", .oneOf(["mvt"])),
      ],
      requestHeaders: [.ifNoneMatch, .minimumPosition],
      responses: tileResponses, problems: mapProblems.union([.notFound])),
    CallDescription(
      method: .GET, path: "/ogc/api", id: "getFeaturesAPI", group: .features,
      summary: "Get the description of the calls of OGC API Features",
      description: "OpenAPI 3.0, with the paths of each collection and the limits where GIS tools look for them.",
      requestHeaders: [.ifNoneMatch],
      responses: [
        .init(
          200, "The document.", headers: [.entityTag.required] + cached,
          media: [OpenAPIVersion.v3_0.mediaType, "application/json"].map {
            .init($0, Schema(.object([.required("openapi", Schema(.string))], others: Schema(.any))))
          }),
        .notModified([.entityTag.required] + cached),
      ],
      problems: pageProblems),
  ]
}
