import APIDescription
import HTTPServer
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /ogc/collections/{collection}/items`: a page of the features that match.
struct ItemsRoute: CallHandler {
  static let call = Call(
    .GET, "/ogc/collections/{collection}/items", scope: .read, joinsRestriction: true, id: "getItems", group: .features,
    summary: "List features",
    description: "The places of the collection that match all conditions, by id. A link leads to the next page.",
    parameters: [
      .box, .limit, .cursor, .format, .filter, .filterLanguage, .filterCRS, .crs, .boxCRS, .dateTime,
    ],
    // Those of tags have no description that is the same for all servers.
    otherParameters: FeatureProperties.queryablesOfPlaces.map { ($0.name, .property($0)) },
    describing: [
      "collection": .collection, "f": .pageFormat, "bbox": boxDescription,
      "limit": .init(
        "Maximum number of features of a page; more than \(FeatureArguments.maximumLimit) counts as"
          + " \(FeatureArguments.maximumLimit).",
        Schema(.integer, nil, ["minimum": 1, "default": .count(FeatureArguments.defaultLimit)]), statesStyle: true),
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(200, "A page of features.", headers: [.link, .contentCRS] + .ofPages, media: .features(.items))
    ])

  static let boxDescription = ParameterDescription(
    "Only places in the box: its minimum longitude and latitude and its maximum, in the order of the axes of"
      + " `bbox-crs`. The first longitude may be greater, across the antimeridian. Of six numbers the third and the last"
      + " are ignored.",
    Schema(.array(of: Schema(.number)), nil, ["minItems": 4, "maxItems": 4], example: [-122.5, 37.2, -121.5, 37.9]))

  let context: FeaturesContext

  static func endpoints(_ context: FeaturesContext, _ policy: CachePolicy, _ requiresIfMatch: Bool) -> [Endpoint] {
    let editing = ItemEditing(context: context, requiresIfMatch: requiresIfMatch)
    let handlers: [any CallHandler] = [
      ItemsRoute(context: context), ItemRoute(context: context, policy: policy),
      CreateItemRoute(editing: editing), ReplaceItemRoute(editing: editing), ChangeItemRoute(editing: editing),
      DeleteItemRoute(editing: editing),
    ]
    return handlers.map(\.endpoint)
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let collection = try context.collection(of: request)
    let values = try ParameterValues(
      request, allowing: Self.call.parameters, properties: context.properties.queryables.map(\.name))
    let arguments = try await request.compiling(values) { () throws(Problem) in
      try FeatureArguments(values, request, collection, context.filtering)
    }
    let isPage = arguments.format == .html
    return try await context.revalidation.respond(
      to: request, in: .geoJSON,
      languages: isPage ? LanguageNegotiation(parameter: nil, headers: request.headers) : .none,
      representation: isPage ? ".html" : ""
    ) { () async throws(Problem) in
      guard let query = arguments.query else { return response(of: FeaturePage(), arguments, collection, for: request) }
      return try await context.service.page(
        matching: query, countedIf: { arguments.isContinued || $0.hasMore }, for: request
      ) { page in
        response(
          of: FeaturePage(page, isContinued: arguments.isContinued), arguments, collection, for: request)
      }
    }
  }

  private func response(
    of found: FeaturePage, _ arguments: FeatureArguments, _ collection: PointCollection, for request: HTTPRequest
  ) -> ExpiringResponse {
    let links = FeatureLinks(context.address, for: request, inPage: arguments.format == .html)
    var page = found
    page.links = links.selfAndAlternate(arguments.format, json: .geoJSON)
    if let query = arguments.query, let next = found.next {
      let type = arguments.format == .html ? FeatureFormat.html : .geoJSON
      let target = links.next(cursor: Cursor.text(for: next, in: query, of: arguments.fingerprint))
      page.links.append(.init(relation: "next", mediaType: type.mediaType, target: target))
    }
    page.links.append(
      .init(
        relation: "collection", mediaType: PointFormat.json.mediaType, target: links.collection(collection)))
    var response: HTTPResponse
    if arguments.format == .html {
      response = FeaturePages(links, for: request, context.style).items(page, in: collection)
    } else {
      let text = FeatureText(properties: context.properties, system: arguments.system)
      response = HTTPResponse(contentType: arguments.format.mediaType, bytes: text.collection(page))
      response.headers.add(name: "content-crs", value: arguments.system.fieldValue)
    }
    if let next = page.links.first(where: { $0.relation == "next" }) {
      response.headers.add(name: "link", value: "<\(next.target)>; rel=\"next\"; type=\"\(next.mediaType)\"")
    }
    return ExpiringResponse(response)
  }
}

extension [MediaDescription] {
  /// The representations of features.
  static func features(_ schema: Schema) -> [MediaDescription] {
    [.init(.geoJSON, schema), .init(.json, schema), .page]
  }
}

struct FeaturePage {
  var points: [FoundPoint] = []

  /// The number of places that match, on this page and others; `nil` where it is not known.
  var numberMatched: Int? = 0

  /// The end of the page; `nil` where no other follows.
  var next: PointQuery.Position?

  var links: [PointGeoJSON.Link] = []
}

extension FeaturePage {
  /// Creates a page without links. The places of the only page are all that match.
  fileprivate init(_ page: PointPage, isContinued: Bool) {
    let numberMatched = isContinued || page.hasMore ? page.total : page.count
    self.init(points: page.points, numberMatched: numberMatched, next: page.next)
  }
}
