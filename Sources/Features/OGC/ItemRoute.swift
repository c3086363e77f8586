import APIDescription
import HTTPServer
import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// `GET /ogc/collections/{collection}/items/{id}`: one feature, with an entity tag made from its version and, as it has
/// links and declared tags, from the settings.
struct ItemRoute: CallHandler {
  static let call = Call(
    .GET, "/ogc/collections/{collection}/items/{id}", scope: .read, joinsRestriction: true, id: "getItem",
    group: .features,
    summary: "Get a feature", parameters: [.format, .crs],
    describing: ["collection": .collection, "f": .pageFormat], requestHeaders: [.acceptLanguage],
    caching: .tagged(),
    responses: [.init(200, "The feature.", headers: [.contentCRS] + .ofPages, media: .features(.item))])

  let context: FeaturesContext
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let collection = try context.collection(of: request)
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let system = values.choice(.crs, default: ReferenceSystem.crs84)
    try values.check()
    let format = try FeatureFormat.chosen(
      by: values[.format], accept: request.headers, from: FeatureFormat.ofItems)
    let id = try PointID(ofItem: request)
    guard let point = try await context.point(id, in: collection, for: request) else { throw .noItem(id) }

    let links = FeatureLinks(context.address, for: request, inPage: format == .html)
    if format == .html {
      let pages = FeaturePages(links, for: request, context.style)
      var response = pages.item(point, in: collection)
      try await ContentCoding.apply(to: &response, of: request)
      // No change is accepted with the tag of a page.
      let etag = "W/\"\(point.version)\(context.program.suffix).html.\(pages.texts.language)\""
      response.addCaching(by: policy, etag: etag)
      response.addVaryingLanguage()
      return response
    }
    return try await request.response(version: point.version, in: .geoJSON, context.program, caching: policy) {
      context.response(point, in: collection, system, format, links)
    }
  }
}

extension FeaturesContext {
  /// Returns the place of an id in a collection; `nil` where there is none.
  func point(
    _ id: PointID, in collection: PointCollection, for request: HTTPRequest
  ) async throws(Problem) -> PointOfInterest? {
    let point = try await request.result(of: await service.point(id: id, notBefore: request.minimumPosition))
    return point.flatMap { collection.contains(category: $0.draft.category) ? $0 : nil }
  }

  /// Returns the response of a feature, without an entity tag.
  func response(
    _ point: PointOfInterest, in collection: PointCollection, _ system: ReferenceSystem, _ format: FeatureFormat,
    _ links: FeatureLinks
  ) -> HTTPResponse {
    let own = links.collection(collection, "/items/\(point.id)")
    let query = system == .crs84 ? "" : "?crs=\(system.rawValue)"
    let targets: [PointGeoJSON.Link] = [
      .init(relation: "self", mediaType: PointFormat.geoJSON.mediaType, target: own + query),
      .init(relation: "alternate", mediaType: "text/html", target: own + "?f=html"),
      .init(relation: "collection", mediaType: PointFormat.json.mediaType, target: links.collection(collection)),
    ]
    let text = FeatureText(properties: properties, system: system)
    var response = HTTPResponse(contentType: format.mediaType, bytes: text.feature(point, links: targets))
    response.headers.add(name: "content-crs", value: system.fieldValue)
    return response
  }
}

extension Problem {
  /// Status 404 for the id of no item of a collection.
  static func noItem(_ id: PointID) -> Problem { .notFound("the collection has no item with the id \(id)") }
}

extension PointID {
  /// Creates the id of an item from the path of a request.
  ///
  /// - Throws: `Problem` 404 where it is not a UUID, as no item has such an id.
  init(ofItem request: HTTPRequest) throws(Problem) {
    let text = request.pathParameters["id"]
    guard let id = PointID(text) else { throw .notFound("the collection has no item with the id '\(text.prefix(50))'") }
    self = id
  }
}
