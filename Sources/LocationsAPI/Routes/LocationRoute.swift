import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/{id}`: one place, with an entity tag made from its version.
///
/// Its name is translated only where `lang` asks for that, never by `Accept-Language`: what was read may be edited and
/// put back, and browsers send `Accept-Language` with every request. The entity tag of a translation is weak, so that
/// no `If-Match` accepts it.
///
/// The place as it is stored has a tag of its version alone; a translation or an attribution depends on more.
struct LocationRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/{id}", scope: .read, id: "getLocation", group: .search, link: "location", summary: "Get a place",
    description: "With `lang` the entity tag is weak, and `If-Match` does not accept it.", parameters: .translation,
    describing: [
      "fields": .fields(
        "Fields of the place, separated by commas; all of its own by default.", additional: .opening)
    ],
    caching: .tagged(), responses: [.init(200, "The place.", headers: [.contentLanguage], media: .place)])

  let service: PointsService
  let policy: CachePolicy
  let program: ProgramTag
  let clock: any WallClock

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request, additional: .opening, allowing: .translation)
    let id = try PointID(inPathOf: request)
    let point = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.point(id: id)
    }
    guard let point else { throw .notFound("there is no place with the id \(id)") }
    if arguments.languages.languages != nil { return try await translation(of: point, arguments, for: request) }
    let known = EntityTag.known(
      of: point, format: arguments.format, ifNoneMatch: request.headers.entityTags("if-none-match"))
    // An attribution and the state of the opening hours change without a change of the place.
    let changes = arguments.fields.changeByThemselves
    if let known, !changes {
      var response = HTTPResponse(status: .notModified)
      response.addCaching(by: policy, etag: known)
      return response
    }
    let (found, expiry) = try await found(point, arguments, for: request)
    var response = HTTPResponse(found[0], arguments)
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    let coding: ContentCoding = response.headers.contains(name: "content-encoding") ? .gzip : .identity
    let etag = EntityTag.of(
      version: point.version, format: arguments.format, coding: coding, program: changes ? program : .none)
    response.addCaching(by: policy, etag: etag)
    if let expiry { policy.expire(&response.headers, at: expiry, now: clock.now()) }
    return response
  }

  private func found(
    _ point: PointOfInterest, _ arguments: PresentationArguments, for request: HTTPRequest
  ) async throws(Problem) -> (found: [FoundPoint], expiry: Int64?) {
    var found = [FoundPoint(point: point, distanceMetres: nil)]
    try await service.attributions(for: arguments.fields, request)?.add(to: &found)
    let end = found.addStates(in: arguments.fields, by: clock)
    return (found, end.flatMap { $0 < Expiry.never && !policy.isOff ? $0 : nil })
  }

  private func translation(
    of point: PointOfInterest, _ arguments: PresentationArguments, for request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    let known = EntityTag.known(
      of: point, format: arguments.format, program: program,
      ifNoneMatch: request.headers.entityTags("if-none-match"))
    if let known, !arguments.fields.changeByThemselves {
      var response = HTTPResponse(status: .notModified)
      response.addCaching(by: policy, etag: "W/\(known)")
      return response
    }
    var (found, expiry) = try await found(point, arguments, for: request)
    let language = arguments.languages.translate(&found)
    var response = HTTPResponse(found[0], arguments)
    response.addContentLanguage(language)
    if ContentCoding.isAsked(by: request) { try await ContentCoding.apply(to: &response, of: request) }
    let etag = EntityTag.of(version: point.version, format: arguments.format, program: program)
    response.addCaching(by: policy, etag: "W/\(etag)")
    if let expiry { policy.expire(&response.headers, at: expiry, now: clock.now()) }
    return response
  }
}

extension FieldSet {
  /// A Boolean value that indicates whether a field changes without a change of the place.
  fileprivate var changeByThemselves: Bool { !isDisjoint(with: FieldSet.opening.union(.attribution)) }
}

/// The arguments that select the representation of one place.
struct PresentationArguments {
  let fields: FieldSet
  let format: PointFormat
  let languages: LanguageNegotiation

  /// Creates the arguments from a request.
  ///
  /// - Parameters:
  ///   - fallback: the fields where the request names none: all, so that what was read can be edited and put back.
  ///   - additional: the fields that the call has beside those of every place.
  ///   - parameters: the parameters of the call.
  /// - Throws: `Problem` 400 or 406.
  init(
    _ request: HTTPRequest, fields fallback: FieldSet = .all, additional: FieldSet = [],
    allowing parameters: Set<Parameter> = .presentation
  ) throws(Problem) {
    var values = try ParameterValues(request, allowing: parameters)
    fields = values.fields(default: fallback, additional: additional)
    languages = LanguageNegotiation(parameter: values.languages())
    try values.check()
    format = try .chosen(by: values[.format], accept: request.headers)
  }
}
