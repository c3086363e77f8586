import HTTPServer
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// The dependencies of the routes of OGC API Features.
struct FeaturesContext: Sendable {
  let service: PointsService
  let editor: PointEditor?
  let revalidation: Revalidation
  let program: ProgramTag
  let address: PublicAddress
  let filtering: Filtering
  let collections: PointCollections
  let properties: FeatureProperties

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

/// `GET /ogc/collections/{collection}/items`: a page of the features that match.
struct ItemsRoute: RouteHandler {
  static let parameters: Set<Parameter> = [
    .box, .boxCRS, .crs, .dateTime, .filter, .filterLanguage, .filterCRS, .limit, .cursor, .format,
  ]

  let context: FeaturesContext

  /// Returns the routes of items, and those that change them where there is an editor.
  static func routes(_ context: FeaturesContext, _ policy: CachePolicy, _ requiresIfMatch: Bool) -> [Route] {
    let items = FeatureLinks.root + "/collections/{collection}/items"
    let item = items + "/{id}"
    let names = Parameter.allCases.filter(parameters.contains).map(\.name)
    // Those of tags have no description that is the same for all servers.
    let properties = context.properties.queryables.filter { $0.tag == nil }.map(\.name)
    let reading = [
      Route(.GET, items, scope: .read, parameters: names + properties, handler: ItemsRoute(context: context)),
      Route(
        .GET, item, scope: .read, parameters: ItemRoute.parameters,
        handler: ItemRoute(context: context, policy: policy)),
    ]
    guard let editor = context.editor else { return reading }
    let editing = ItemEditing(context: context, editor: editor, requiresIfMatch: requiresIfMatch)
    return reading + [
      Route(.POST, items, scope: .write, handler: CreateItemRoute(editing: editing)),
      Route(.PUT, item, scope: .write, handler: ReplaceItemRoute(editing: editing)),
      Route(.PATCH, item, scope: .write, handler: ChangeItemRoute(editing: editing)),
      Route(.DELETE, item, scope: .write, handler: DeleteItemRoute(editing: editing)),
    ]
  }

  /// The estimated number of bytes of each feature of a long page.
  private static let featureBytes = 1024

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let collection = try context.collection(of: request)
    let arguments = try FeatureArguments(request, collection, context.properties, context.filtering)
    return try await context.revalidation.respond(
      to: request, in: .geoJSON, representation: arguments.format == .html ? ".html" : ""
    ) { () async throws(Problem) in
      guard let query = arguments.query else { return response(of: FeaturePage(), arguments, collection, for: request) }
      let limit = query.limit
      let reservation =
        limit > PointQuery.shortLimit ? try await request.reserveMemory(bytes: limit * Self.featureBytes) : nil
      defer { extendLifetime(reservation) }
      guard query.isLong else {
        let page = try await request.reportingStoreErrors { () throws(PointStoreError) -> FeaturePage in
          try await self.page(query, isContinued: arguments.isContinued)
        }
        return response(of: page, arguments, collection, for: request)
      }
      return try await context.service.searching(
        of: request, needsIndex: query.needsIndex
      ) { snapshot throws(PointStoreError) in
        try page(query, isContinued: arguments.isContinued, in: snapshot)
      } inStore: { () throws(PointStoreError) in
        try await page(query, isContinued: arguments.isContinued)
      } response: { page in
        response(of: page, arguments, collection, for: request)
      }
    }
  }

  private func page(_ query: PointQuery, isContinued: Bool) async throws(PointStoreError) -> FeaturePage {
    let page = try await context.service.page(matching: query)
    var result = FeaturePage(page)
    if isContinued || page.hasMore {
      // The number is not known where a filter does not find it out in its time.
      do throws(PointStoreError) {
        result.numberMatched = try await context.service.store.count(matching: query)
      } catch .filterTimeout {
        result.numberMatched = nil
      }
    }
    return result
  }

  private func page(
    _ query: PointQuery, isContinued: Bool, in snapshot: any MapSnapshot
  ) throws(PointStoreError) -> FeaturePage {
    let page = try context.service.page(matching: query, in: snapshot)
    var result = FeaturePage(page)
    if isContinued || page.hasMore {
      do throws(PointStoreError) {
        result.numberMatched = try snapshot.count(matching: query)
      } catch .filterTimeout {
        result.numberMatched = nil
      }
    }
    return result
  }

  private func response(
    of found: FeaturePage, _ arguments: FeatureArguments, _ collection: PointCollection, for request: HTTPRequest
  ) -> HTTPResponse {
    let links = FeatureLinks(context.address, for: request, inPage: arguments.format == .html)
    var page = found
    page.links = links.selfAndAlternate(arguments.format, json: .geoJSON)
    if let query = arguments.query, let next = found.next {
      let type = arguments.format == .html ? FeatureFormat.html : .geoJSON
      let target = links.next(cursor: Cursor.text(for: next, in: query))
      page.links.append(.init(relation: "next", mediaType: type.mediaType, target: target))
    }
    page.links.append(
      .init(
        relation: "collection", mediaType: PointFormat.json.mediaType, target: links.collection(collection)))
    var response: HTTPResponse
    if arguments.format == .html {
      response = HTTPResponse(FeaturePages.items(page, in: collection, links))
    } else {
      let text = FeatureText(properties: context.properties, system: arguments.system)
      response = HTTPResponse(contentType: arguments.format.mediaType, bytes: text.collection(page))
      response.headers.add(name: "content-crs", value: arguments.system.fieldValue)
    }
    if let next = page.links.first(where: { $0.relation == "next" }) {
      response.headers.add(name: "link", value: "<\(next.target)>; rel=\"next\"; type=\"\(next.mediaType)\"")
    }
    return response
  }
}

/// A page of features.
struct FeaturePage {
  var points: [FoundPoint] = []

  /// The number of places that match, on this page and others; `nil` where it is not known.
  var numberMatched: Int? = 0

  /// The end of the page; `nil` where no other follows.
  var next: PointQuery.Position?

  var links: [PointGeoJSON.Link] = []
}

extension FeaturePage {
  /// Creates a page without links, whose places are all that match.
  fileprivate init(_ page: PointPage) {
    self.init(points: page.points, numberMatched: page.points.count, next: page.next)
  }
}
