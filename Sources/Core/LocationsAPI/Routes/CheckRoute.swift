import APIDescription
import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/check`: whether a coordinate is at a place, and the nearest one.
struct CheckRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/check", scope: .read, joinsRestriction: true, id: "checkLocation", group: .search, link: "check",
    summary: "Check whether there is a place at a position",
    description: "The nearest place within the radius, if there is one.",
    parameters: [.latitude, .longitude, .radius, .fields, .format, .languages],
    describing: [
      "lat": Parameter.latitude.description.required, "long": Parameter.longitude.description.required,
      "radius": .init(
        Parameter.radius.description.description,
        Schema(.number, nil, ["minimum": 0, "default": .number("\(defaultRadiusMetres)")], example: 50)),
      "f": .format([.json]),
    ],
    caching: .versioned,
    responses: [
      .init(
        200, "Whether there is one, and the nearest.", headers: [.contentLanguage],
        media: .json(.check))
    ])

  static let defaultRadiusMetres = 50.0

  let service: PointsService
  let revalidation: Revalidation

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let coordinate = values.coordinate(requiredFor: "a check")
    let radius = values.radius() ?? Self.defaultRadiusMetres
    let fields = values.fields()
    let languages = LanguageNegotiation(parameter: values.languages())
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    guard let coordinate else { throw .internal }
    return try await revalidation.respond(to: request, in: .json) { () async throws(Problem) in
      ExpiringResponse(
        try await check(coordinate, withinMetres: radius, fields: fields, languages, for: request))
    }
  }

  private func check(
    _ coordinate: Coordinate, withinMetres radius: Double, fields: FieldSet, _ languages: LanguageNegotiation,
    for request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    let proximity = PointQuery.Proximity(center: coordinate, radiusMetres: radius)
    var found = try await service.page(matching: PointQuery(proximity: proximity, limit: 1), for: request) { $0.points }
    let language = languages.translate(&found)
    var json = JSONWriter(ByteBuffer())
    json.beginObject()
    json.write(member: "isPointOfInterest", !found.isEmpty)
    if let found = found.first {
      json.write(name: "location")
      PointJSON.append(found, fields: fields, to: &json.sink)
    }
    json.endObject()
    var response = HTTPResponse(contentType: PointFormat.json.mediaType, bytes: json.sink)
    response.addContentLanguage(language)
    return response
  }
}

extension Schema {
  fileprivate static let check = Schema(
    .object(
      [.required("isPointOfInterest", Schema(.boolean)), .optional("location", .place)], others: nil),
    nil, example: ["isPointOfInterest": true, "location": Examples.found]
  ).named("CheckResult", order: 160)
}
