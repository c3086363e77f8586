import HTTPServer
import NIOHTTP1
import Points

/// `GET /locations/{id}`: one place, with the ETag that its version makes.
struct LocationRoute {
  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest, id text: String) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request)
    let id = try PointID(pathText: text)
    let point = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.point(id: id)
    }
    guard let point else { throw .notFound("there is no place of id \(id)") }
    let etag = EntityTag.of(point, format: arguments.format)
    let naming: HTTPHeaders = [
      "etag": etag, "cache-control": policy.cacheControl, "vary": policy.vary(by: "accept"),
    ]
    guard !EntityTag.matches(etag, ifNoneMatch: request.headers[canonicalForm: "if-none-match"]) else {
      return HTTPResponse(status: .notModified, headers: naming)
    }
    var response = HTTPResponse(
      FoundPoint(point: point, distanceMetres: nil), fields: arguments.fields, format: arguments.format)
    response.headers.add(contentsOf: naming)
    return response
  }
}

/// How one place is to be written.
struct PresentationArguments {
  let fields: FieldSet
  let format: ResponseFormat

  /// Reads the request.
  ///
  /// - Throws: `Problem` 400 or 406.
  init(_ request: HTTPRequest) throws(Problem) {
    var values = try ParameterValues(request, allowing: .presentation)
    fields = values.fields()
    try values.check()
    format = try .chosen(by: values[.format], accept: request.headers)
  }
}
