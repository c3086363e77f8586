import APIDescription
import Geo
import HTTPServer
import NIOHTTP1
import PointFormats
import Points
import SearchWords

/// `GET /locations/reverse`: the nearest place to a coordinate, with its name and address as a label.
struct ReverseRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations/reverse", scope: .read, joinsRestriction: true, id: "reverse", group: .search, link: "reverse",
    summary: "Get the nearest place with its address",
    parameters: [.latitude, .longitude, .radius, .category, .fields, .format, .languages], areas: .addressed,
    describing: [
      "lat": Parameter.latitude.description.required, "long": Parameter.longitude.description.required,
      "fields": .fields(
        "Fields of the place, separated by commas; those of lists and `label` by default.",
        additional: FieldSet.opening.union(.label)),
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [.init(200, "The place.", headers: [.contentLanguage], media: .place)],
    problems: [.notFound, .init(503, .filterTimeout)])

  let service: PointsService
  let revalidation: Revalidation
  let categories: CategoryTree
  let clock: any WallClock
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    let areas = values.areas
    let center = values.coordinate(requiredFor: "the nearest place")
    let radius = values.radius()
    var query = PointQuery(limit: 1)
    values.setCategories(of: &query, in: categories)
    let fields = values.fields(
      default: FieldSet.standard.union(.label), additional: FieldSet.opening.union(.label))
    let languages = LanguageNegotiation(parameter: values.languages(), headers: request.headers)
    try values.check()
    let format = try PointFormat.chosen(by: values[.format], accept: request.headers)
    guard let center else { throw .internal }
    query.proximity = .init(center: center, radiusMetres: radius)
    let found = query
    let hasVersion = !fields.contains(.attribution)
    return try await revalidation.respond(
      to: request, in: format, languages: languages, areas: areas, hasVersion: hasVersion,
      expires: !fields.isDisjoint(with: .opening)
    ) { () async throws(Problem) in
      let attributions = try await service.attributions(for: fields, request)
      return try await service.page(matching: found, in: areas, for: request) { page throws(Problem) in
        var points = page.points
        guard !points.isEmpty else {
          throw .notFound("there is no such place" + (radius.map { " within \($0) m" } ?? ""))
        }
        attributions?.add(to: &points)
        let expiry = points.addStates(in: fields, by: clock)
        let language = languages.translate(&points)
        try points.addLabels(in: fields, areas)
        var response = HTTPResponse(points[0], fields: fields, format: format)
        response.addContentLanguage(language)
        return ExpiringResponse(response, expiry: expiry)
      }
    }
  }
}
