import APIDescription
import AccessControl
import CQL2
import HTTPServer
import JSONText
package import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// OGC API Features and Tiles to the places of an interface.
package struct FeaturesAPI: Sendable {
  package let endpoints: [Endpoint]

  package init(_ locations: LocationsAPI, collections: PointCollections = PointCollections()) {
    let configuration = locations.configuration
    let context = FeaturesContext(
      service: configuration.service, revalidation: locations.revalidation,
      program: locations.program, address: configuration.address, filtering: configuration.filtering,
      collections: collections, properties: FeatureProperties(configuration.filtering.queryables),
      style: configuration.pageStyle)
    let described =
      FeaturesRoute.endpoints(context, configuration.caching)
      + ItemsRoute.endpoints(context, configuration.caching, configuration.requiresIfMatch)
      + TilesetRoute.endpoints(context, locations.tiles, configuration.areas)
    endpoints =
      described + [
        FeaturesDescription.endpoint(
          describing: described.map(\.call), context, version: configuration.version,
          access: configuration.access)
      ]
  }
}

/// The dependencies of the routes of OGC API Features.
struct FeaturesContext: Sendable {
  let service: PointsService
  let revalidation: Revalidation
  let program: ProgramTag
  let address: PublicAddress
  let filtering: Filtering
  let collections: PointCollections
  let properties: FeatureProperties
  let style: PageStyle

  /// Returns the collection in the path of a request.
  ///
  /// - Throws: `Problem` 404.
  func collection(of request: HTTPRequest) throws(Problem) -> PointCollection {
    let id = request.pathParameters["collection"]
    guard let collection = collections[id] else {
      throw .notFound("there is no collection '\(id.prefix(50))'")
    }
    return collection
  }
}

/// `GET /ogc/api`: the description of the calls of OGC API Features, in OpenAPI 3.0.
///
/// It has the path of each collection, relative to the landing page, and the limits and properties where QGIS and GDAL
/// look for them.
enum FeaturesDescription {
  private static let call = Call(
    .GET, FeatureLinks.root + "/api", id: "getFeaturesAPI", group: .features,
    summary: "Get the description of the calls of OGC API Features",
    description: "OpenAPI 3.0, with the paths of each collection and the limits where GIS tools look for them.",
    caching: .tagged(), responses: [.init(200, "The document.", media: .openAPI(.v3_0))])

  /// Returns the call.
  ///
  /// - Parameter calls: the calls that are described beside this one.
  static func endpoint(
    describing calls: [Call], _ context: FeaturesContext, version: String, access: AccessControl
  ) -> Endpoint {
    let named = calls.filter { $0.path.utf8.last != UInt8(ascii: "/") }
    let described = (named + [call]).flatMap { call in
      call.path.contains("{collection}")
        ? context.collections.all.map { describe(call, of: $0, context.properties) } : [describe(call)]
    }
    return call.handled { calls in
      let document = OpenAPIDocument(
        openAPI: .v3_0, calls: described, serviceCalls: calls.map(\.documented), version: version, access: access)
      return OpenAPIRoute(document) { FeatureLinks(context.address, for: $0).target("") }
    }
  }

  /// Returns the description of a call with its path below the landing page.
  private static func describe(_ call: Call) -> CallDescription {
    var described = call.documented
    let path = String(call.path.dropFirst(FeatureLinks.root.count))
    described.path = path.isEmpty ? "/" : path
    return described
  }

  /// Returns the description of a call with the path of a collection.
  private static func describe(
    _ call: Call, of collection: PointCollection, _ properties: FeatureProperties
  ) -> CallDescription {
    var described = describe(call)
    described.path = described.path.replacing("{collection}", with: collection.id)
    described.id += "_" + collection.id
    guard call.parameters.contains(.limit) else { return described }
    described.share(
      Parameter.limit.name,
      .init(
        "Maximum number of features of a page; a greater number counts as the maximum.",
        Schema(
          .integer, nil,
          [
            "minimum": 1, "maximum": .count(FeatureArguments.maximumLimit),
            "default": .count(FeatureArguments.defaultLimit),
          ]),
        statesStyle: true))
    described.share(
      Parameter.box.name,
      .init(
        ItemsRoute.boxDescription.description,
        Schema(.array(of: Schema(.number)), nil, ["minItems": 4, "maxItems": 6])))
    for property in properties.tags {
      described.parameters.append(
        .init(property.name, in: .query, .property(property), isShared: true))
    }
    return described
  }
}

extension CallDescription {
  /// Makes a parameter of the query a component of the document, with a description.
  fileprivate mutating func share(_ name: String, _ description: ParameterDescription) {
    for index in parameters.indices where parameters[index].place == .query && parameters[index].name == name {
      parameters[index].description = description
      parameters[index].isShared = true
    }
  }
}

extension ParameterDescription {
  /// The condition that a property has a value.
  static func property(_ property: FeatureProperties.Property) -> ParameterDescription {
    var schema: Schema
    switch property.type {
    case .integer: schema = Schema(.integer)
    case .number: schema = Schema(.number)
    case .boolean: schema = Schema(.boolean)
    case .date: schema = Schema(.string, nil, ["format": "date"])
    case .timestamp: schema = Schema(.string, nil, ["format": "date-time"])
    case .string, .stringArray, .geometry: schema = Schema(.string)
    }
    schema.description = nil
    return ParameterDescription("Only features whose `\(property.name)` has this value.", schema, statesStyle: true)
  }
}
