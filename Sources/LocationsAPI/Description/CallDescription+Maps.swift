import JSONText
import NIOHTTP1
import PointFormats
import Points
import VectorTiles

extension CallDescription {
  static let mapProblems = ProblemDescription.parameters.union(ProblemDescription.store)
    .union(ProblemDescription.acceptance).union(ProblemDescription.filter)

  private static func number(_ description: String, _ maximum: Int) -> ParameterDescription {
    .init(
      description, Schema(.integer, nil, ["minimum": 0, "maximum": .count(maximum)]), isRequired: true)
  }

  private static let count = Schema(.integer, nil, ["minimum": 0])

  static let tileResponses: [ResponseDescription] = [
    .init(
      200, "The tile.", headers: [.entityTag] + HeaderDescription.caching + [.age],
      media: [.init(VectorTile.mediaType, Schema(.string, nil, ["format": "binary"]))]),
    .notModified([.entityTag.required] + HeaderDescription.caching),
  ]

  /// The calls for maps.
  static let maps: [CallDescription] = [
    CallDescription(
      method: .GET, path: "/tiles/{z}/{x}/{y}.mvt", id: "getTile", group: .map, summary: "Get a vector tile",
      description:
        "A Mapbox Vector Tile 2.1 with the layers `places` and `clusters`. The entity tag stays valid until a place in"
        + " the tile changes.",
      parameters: [
        "z": number("Zoom level.", 22), "x": number("Column, from the west.", 4_194_303),
        "y": number("Row, from the north.", 4_194_303),
      ],
      requestHeaders: [.ifNoneMatch, .minimumPosition],
      responses: tileResponses, problems: mapProblems.union([.notFound])),
    CallDescription(
      method: .GET, path: "/tiles.json", id: "getTileSet", group: .map, summary: "Get the description of the tiles",
      description: "TileJSON 3.0. Parameters of tiles become those of the tiles' address.",
      requestHeaders: [.minimumPosition],
      responses: [
        .init(200, "The description.", headers: HeaderDescription.caching + [.age], media: .json(tileSet))
      ],
      problems: mapProblems),
    CallDescription(
      method: .GET, path: "/locations/clusters", id: "getClusters", group: .map, summary: "Get clusters of places",
      description:
        "The clusters of the tiles of a zoom level as GeoJSON. Cells that touch the box are whole; above the zoom"
        + " levels with clusters there are the places in the box themselves. More than"
        + " \(ClustersRoute.maximumCount) features are a 400 that names `zoom`.",
      parameters: ["zoom": Parameter.zoom.description.required],
      requestHeaders: HeaderDescription.revalidation,
      responses: [
        .init(200, "The clusters.", headers: .list, media: [.init(.geoJSON, clusters)]), .notModified(.list),
      ],
      problems: mapProblems),
    CallDescription(
      method: .GET, path: "/locations/facets", id: "getFacets", group: .map, summary: "Count categories and tags",
      description: "The most frequent values of each property among the places that match.",
      parameters: [
        "by": Parameter.facets.description.required,
        "limit": .limit(FacetQuery.limits, default: FacetQuery.defaultLimit),
      ],
      requestHeaders: HeaderDescription.revalidation,
      responses: [.init(200, "The counts.", headers: .list, media: .json(facets)), .notModified(.list)],
      problems: mapProblems),
  ]

  private static let tileSet = Schema(
    .object(
      [
        .required("tilejson", .oneOf(["3.0.0"])), .required("name", Schema(.string)),
        .required("scheme", .oneOf(["xyz"])),
        .required("tiles", Schema(.array(of: Schema(.string)), "Template of the tiles' addresses.")),
        .required("minzoom", count), .required("maxzoom", count),
        .optional(
          "bounds",
          Schema(
            .array(of: Schema(.number)), "The least box of all places; absent without places.",
            ["minItems": 4, "maxItems": 4])),
        .optional("attribution", Schema(.string, "Attributions of the data sets, in HTML.")),
        .required(
          "vector_layers",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("id", Schema(.string)), .required("description", Schema(.string)),
                    .required("fields", Schema(.object([], others: Schema(.string)))),
                  ], others: nil))))),
      ], others: nil))

  private static let clusters = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required(
          "features",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("type", .oneOf(["Feature"])),
                    .required("id", Schema(.string, "`level/x/y` of a cell, or the id of its only place.")),
                    .required("geometry", Schema(.any, "The centre of mass: a Point.")),
                    .required(
                      "properties",
                      Schema(
                        .object(
                          [
                            .required("count", Schema(.integer, nil, ["minimum": 1])),
                            .required("name", Schema(.string, "Name of a sample place.")),
                            .optional("category", Schema(.string, "Most frequent category.")),
                          ], others: nil))),
                  ], others: nil))))),
      ], others: nil))

  private static let facets = Schema(
    .object(
      [
        .required("count", Schema(.integer, "Number of places that match.", ["minimum": 0])),
        .required(
          "facets",
          Schema(
            .object(
              [],
              others: Schema(
                .array(
                  of: Schema(
                    .object([.required("value", Schema(.string)), .required("count", count)], others: nil))))),
            "The most frequent values by property, ties by value.")),
        .required(
          "missing", Schema(.object([], others: count), "Numbers of places without a value, by property.")),
      ], others: nil),
    example: [
      "count": 1234, "facets": ["category": [["value": "cafe", "count": 12]]], "missing": ["category": 7],
    ])
}
