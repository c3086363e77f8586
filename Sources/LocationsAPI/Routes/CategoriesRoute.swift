import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import Points

/// `GET /categories`: the categories and how many places have each, most frequent first; with `bbox`, of the
/// places in it.
struct CategoriesRoute {
  let service: PointsService
  let revalidation: Revalidation

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: [.box, .format])
    let box = values.box()
    try values.check()
    _ = try ResponseFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    return try await revalidation.respond(to: request, in: .json) { () async throws(Problem) in
      try await count(in: box, for: request)
    }
  }

  private func count(in box: BoundingBox?, for request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let counts = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.categoryCounts(in: box)
    }
    var json = Array("[".utf8)
    for (index, count) in counts.enumerated() {
      json.append(contentsOf: (index > 0 ? ",{\"category\":" : "{\"category\":").utf8)
      JSONString.append(count.category, to: &json)
      json.append(contentsOf: ",\"count\":\(count.count)}".utf8)
    }
    json.append(UInt8(ascii: "]"))
    return HTTPResponse(contentType: ResponseFormat.json.contentType, bytes: json)
  }
}
