import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/{id}`: one place, with an entity tag made from its version.
struct LocationRoute: RouteHandler {
  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request)
    let id = try PointID(inPathOf: request)
    let point = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.store.point(id: id)
    }
    guard let point else { throw .notFound("there is no place with the id \(id)") }
    let known = EntityTag.known(
      of: point, format: arguments.format, ifNoneMatch: request.headers[canonicalForm: "if-none-match"])
    // An attribution changes without a change of the place.
    let hasAttribution = arguments.fields.contains(.attribution)
    if let known, !hasAttribution {
      var response = HTTPResponse(status: .notModified)
      name(&response, etag: known)
      return response
    }
    var found = [FoundPoint(point: point, distanceMetres: nil)]
    if hasAttribution {
      found = try await request.reportingStoreErrors { () throws(PointStoreError) in
        var points = found
        try await service.addAttribution(to: &points)
        return points
      }
    }
    var response = HTTPResponse(found[0], arguments)
    try await ContentCoding.apply(to: &response, of: request)
    let coding: ContentCoding = response.headers.contains(name: "content-encoding") ? .gzip : .identity
    name(&response, etag: EntityTag.of(version: point.version, format: arguments.format, coding: coding))
    return response
  }

  /// Adds the fields for caches.
  private func name(_ response: inout HTTPResponse, etag: String) {
    response.headers.add(name: "etag", value: etag)
    response.headers.add(name: "cache-control", value: policy.cacheControl)
    response.headers.add(name: "vary", value: policy.vary)
  }
}

/// The arguments that select the representation of one place.
struct PresentationArguments {
  static let parameters: Set = .presentation

  let fields: FieldSet
  let format: PointFormat

  /// Creates the arguments from a request.
  ///
  /// - Parameter fallback: the fields where the request names none: all, so that what was read can be edited and put
  ///   back.
  /// - Throws: `Problem` 400 or 406.
  init(_ request: HTTPRequest, fields fallback: FieldSet = .all) throws(Problem) {
    var values = try ParameterValues(request, allowing: Self.parameters)
    fields = values.fields(default: fallback)
    try values.check()
    format = try .chosen(by: values[.format], accept: request.headers)
  }
}
