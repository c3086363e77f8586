import JSONText
import CQL2
import HTTPServer
import Basics
import NIOHTTP1
import PointFormats
import Synchronization

/// `GET /ogc/api`: the description of the calls of OGC API Features, in OpenAPI 3.0.
///
/// It has the path of each collection, relative to the landing page, and the limits and properties where QGIS and GDAL
/// look for them.
final class FeaturesAPIRoute: RouteHandler {
  private let document: OpenAPIDocument
  private let context: FeaturesContext

  /// The document for the server's address of the last request.
  private let last = Mutex<(server: ExactText, document: StaticFile)?>(nil)

  /// Creates the route.
  ///
  /// - Parameter routes: the routes that are described.
  init(describing routes: [Route], _ context: FeaturesContext, version: String, openScopes: Set<AccessScope>) {
    self.context = context
    let own = DescribedRoute(.GET, FeatureLinks.root + "/api")
    let named = routes.filter { $0.template.utf8.last != UInt8(ascii: "/") }.map { DescribedRoute($0) }
    let described = (named + [own]).flatMap { route in
      route.path.contains("{collection}")
        ? context.collections.all.map { Self.describe(route, of: $0, context.properties) } : [Self.describe(route)]
    }
    document = OpenAPIDocument(
      openAPI: .v3_0, routes: described, version: version, openScopes: openScopes, server: "")
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let mediaType = try MediaRange.preferred(
      [OpenAPIVersion.v3_0.mediaType, PointFormat.json.mediaType], mediaType: { $0 },
      accept: request.headers[canonicalForm: "accept"])
    let file = file(at: FeatureLinks(context.address, for: request).target(""))
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

  /// Returns a route with its path below the landing page.
  private static func describe(_ route: DescribedRoute) -> DescribedRoute {
    var described = route
    let path = String(route.path.dropFirst(FeatureLinks.root.count))
    described.path = path.isEmpty ? "/" : path
    return described
  }

  /// Returns a route with the path of a collection.
  private static func describe(
    _ route: DescribedRoute, of collection: PointCollection, _ properties: FeatureProperties
  ) -> DescribedRoute {
    var described = describe(route)
    described.path = described.path.replacing("{collection}", with: collection.id)
    described.suffix = "_" + collection.id
    guard route.parameters.contains(Parameter.limit.name) else { return described }
    described.shared = [
      (
        Parameter.limit.name,
        .init(
          "Maximum number of features of a page; a greater number counts as the maximum.",
          Schema(
            .integer, nil,
            [
              "minimum": 1, "maximum": .count(FeatureArguments.maximumLimit),
              "default": .count(FeatureArguments.defaultLimit),
            ]),
          statesStyle: true)
      ),
      (
        Parameter.box.name,
        .init(
          CallDescription.featureBox.description,
          Schema(.array(of: Schema(.number)), nil, ["minItems": 4, "maxItems": 6]))
      ),
    ]
    for property in properties.tags {
      described.parameters.append(property.name)
      described.shared.append((property.name, .property(property)))
    }
    return described
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
