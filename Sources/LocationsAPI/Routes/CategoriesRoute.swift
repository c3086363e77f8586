import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /categories`: the categories with the number of places of each, most frequent first; with `bbox`, of the places
/// in the box.
struct CategoriesRoute: CallHandler {
  static let call = Call(
    .GET, "/categories", scope: .read, id: "listCategories", group: .search, link: "categories",
    summary: "List the categories", description: "The number of places of each category, most frequent first.",
    parameters: [.box, .format], describing: ["f": .format([.json])], caching: .versioned,
    responses: [.init(200, "The categories.", media: .json(Schema(.array(of: .component("CategoryCount")))))])

  let service: PointsService
  let revalidation: Revalidation

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let box = values.box()
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    return try await revalidation.respond(to: request, in: .json) { () async throws(Problem) in
      ExpiringResponse(try await count(in: box, for: request))
    }
  }

  private func count(in box: BoundingBox?, for request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    // There may be as many categories as places.
    try await service.searching(
      PointQuery(box: box), as: .categories, isLong: true, for: request
    ) { snapshot throws(PointStoreError) in
      try service.categoryCounts(in: box, of: snapshot)
    } inStore: { _ throws(PointStoreError) in
      try await service.categoryCounts(in: box)
    } response: { counts in
      Self.response(counts)
    }
  }

  private static func response(_ counts: [CategoryCount]) -> HTTPResponse {
    var json = JSONWriter()
    json.writeArray(of: counts) { count, json in
      json.write(member: "category", count.category)
      json.write(member: "count", count.count)
    }
    return HTTPResponse(json)
  }
}
