import Geo
import HTTPServer
import NIOCore
import NIOHTTP1
import Points

/// `GET /locations/check`: whether a coordinate is at a place, and the nearest one.
struct CheckRoute {
  /// How far a place may be where the request says nothing, in metres.
  static let defaultRadiusMetres = 50.0

  let service: PointsService
  let revalidation: Revalidation

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: .check)
    let coordinate = values.coordinate(requiredFor: "a check")
    let radius = values.radius() ?? Self.defaultRadiusMetres
    let fields = values.fields()
    try values.check()
    _ = try ResponseFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    guard let coordinate else { throw .internal }
    return try await revalidation.respond(to: request, in: .json) { () async throws(Problem) in
      try await check(coordinate, withinMetres: radius, fields: fields, for: request)
    }
  }

  private func check(
    _ coordinate: Coordinate, withinMetres radius: Double, fields: FieldSet, for request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    let found = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.nearestPoint(to: coordinate, withinMetres: radius)
    }
    var body = ByteBuffer()
    if let found {
      body.writeStaticString("{\"isPointOfInterest\":true,\"location\":")
      PlaceJSON.writeObject(of: found, fields: fields, to: &body)
      body.writeStaticString("}")
    } else {
      body.writeStaticString("{\"isPointOfInterest\":false}")
    }
    return HTTPResponse(contentType: ResponseFormat.json.contentType, bytes: body)
  }
}
