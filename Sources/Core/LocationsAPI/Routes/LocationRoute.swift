import APIDescription
import AccessControl
import Basics
package import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointDetails
package import PointFormats
package import Points

/// `GET /locations/{id}`: one place, with an entity tag made from its version.
///
/// Its name is translated only where `lang` asks for that, never by `Accept-Language`: what was read may be edited and
/// put back, and browsers send `Accept-Language` with every request. The entity tag of a translation is weak, so that
/// no `If-Match` accepts it.
///
/// The place as it is stored has a tag of its version alone; a translation or an attribution depends on more.
///
/// The values of a data set that were edited may have been removed on purpose, so that only those who may write see
/// them.
struct LocationRoute: CallHandler {
  static let call = Call(
    .GET, "/locations/{id}", scope: .read, joinsRestriction: true, id: "getLocation", group: .search, link: "location",
    summary: "Get a place",
    description: "With `lang` the entity tag is weak, and `If-Match` does not accept it.",
    parameters: .translation + [.view],
    describing: [
      "fields": .fields(
        "Fields of the place, separated by commas; all of its own by default.", additional: .opening)
    ],
    caching: .tagged(), responses: [.init(200, "The place.", headers: [.contentLanguage], media: .place)])

  let service: PointsService
  let policy: CachePolicy
  let program: ProgramTag
  let clock: any WallClock

  /// The access by which a sender may see the edits of a place; `nil` if nobody sees them.
  var access: AccessControl?

  /// Returns the response with a place as it is stored in an index.
  func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse? {
    // First, since most indexes of databases have none at once.
    guard let snapshot = service.snapshotAtOnce(), !ContentCoding.isAsked(by: request) else { return nil }
    let arguments = try PresentationArguments(request, additional: .opening, allowing: Self.call.parameters)
    guard arguments.languages.languages == nil, !arguments.changeByThemselves else { return nil }
    let id = try PointID(inPathOf: request)
    guard let point = try request.searchResult(of: service.point(id: id, in: snapshot)) else { throw .noPlace(id) }
    return request.uncompressedResponse(version: point.version, in: arguments.format, caching: policy) {
      HTTPResponse(point, arguments)
    }
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try PresentationArguments(request, additional: .opening, allowing: Self.call.parameters)
    let point = try await service.place(try PointID(inPathOf: request), for: request)
    let isTranslated = arguments.languages.languages != nil
    let changes = arguments.changeByThemselves
    var (policy, seesEdits) = (policy, false)
    if arguments.view == .details, let access {
      seesEdits = await access.grants(.write, to: request)
      policy = seesEdits ? policy.madePrivate : policy.madeVaryingBySender
    }
    var expiry: Int64?
    var response = try await request.response(
      version: point.version, in: arguments.format, isTranslated || changes ? program : .none, isWeak: isTranslated,
      isIdentified: !changes, caching: policy
    ) { () async throws(Problem) in
      var found = [FoundPoint(point: point, distanceMetres: nil)]
      try await service.attributions(for: arguments.fields, request)?.add(to: &found)
      expiry = found.addStates(in: arguments.fields, by: clock)
      let language = arguments.languages.translate(&found)
      var response = HTTPResponse(found[0], arguments)
      if arguments.view == .details {
        try await addDetails(to: &response, of: point, withEdits: seesEdits, for: request)
      }
      response.addContentLanguage(language)
      return response
    }
    policy.expire(&response.headers, at: expiry, now: clock.now())
    return response
  }
}

extension PointID {
  /// Creates the id from the path of a request.
  ///
  /// - Throws: `Problem` 400 where it is not a UUID.
  package init(inPathOf request: HTTPRequest) throws(Problem) {
    let text = request.pathParameters["id"]
    guard let id = PointID(text) else { throw .invalidParameter("id", "must be a UUID, got '\(text.prefix(50))'") }
    self = id
  }
}

extension PresentationArguments {
  /// A Boolean value that indicates whether the response changes without a change of the place: an attribution and the
  /// state of the opening hours do.
  fileprivate var changeByThemselves: Bool {
    view == .details || !fields.isDisjoint(with: FieldSet.opening.union(.attribution))
  }
}

extension LocationRoute {
  /// Adds the members `details` and, if there are some that the sender sees, `edits` to the JSON of a place.
  ///
  /// - Throws: `Problem` of the store's error.
  private func addDetails(
    to response: inout HTTPResponse, of point: PointOfInterest, withEdits: Bool, for request: HTTPRequest
  ) async throws(Problem) {
    guard case .bytes(var bytes) = response.body, bytes.readableBytes >= 2 else { return }
    let sources = try await request.result(of: await service.sources())
    let source = point.draft.origin.flatMap { origin in sources.first { $0.name.hasSameBytes(as: origin.source) } }
    let mayHaveEdits = withEdits && point.draft.origin != nil
    let edits = mayHaveEdits ? try await request.result(of: await service.edits(of: point.id)) : nil
    var json = JSONWriter()
    json.write(name: "details")
    PlaceDetails(point.draft).write(source, to: &json)
    if let edits {
      json.write(name: "edits")
      EditJSON.write(edits, to: &json)
    }
    // Before the brace at the end.
    let isEmpty = bytes.readableBytes == 2
    bytes.moveWriterIndex(to: bytes.writerIndex - 1)
    if !isEmpty { bytes.writeString(",") }
    bytes.writeBytes(json.sink)
    bytes.writeString("}")
    response.body = .bytes(bytes)
  }
}

extension PlaceDetails {
  /// Writes the details as a JSON object.
  ///
  /// - Parameter source: the data set of the place.
  fileprivate func write(_ source: DataSource?, to json: inout JSONWriter<[UInt8]>) {
    func write(_ texts: [String], as name: StaticString, to json: inout JSONWriter<[UInt8]>) {
      guard !texts.isEmpty else { return }
      json.write(name: name)
      json.beginArray()
      for text in texts { json.write(string: text) }
      json.endArray()
    }
    func write(_ text: String?, as name: StaticString, to json: inout JSONWriter<[UInt8]>) {
      if let text { json.write(member: name, text) }
    }
    json.beginObject()
    json.write(member: "status", status.rawValue)
    if !address.lines.isEmpty {
      json.write(name: "address")
      json.beginObject()
      write(address.lines, as: "lines", to: &json)
      write(address.houseNumber, as: "houseNumber", to: &json)
      write(address.street, as: "street", to: &json)
      write(address.neighbourhood, as: "neighbourhood", to: &json)
      write(address.district, as: "district", to: &json)
      write(address.city, as: "city", to: &json)
      write(address.postcode, as: "postcode", to: &json)
      write(address.county, as: "county", to: &json)
      write(address.state, as: "state", to: &json)
      write(address.countryCode, as: "country", to: &json)
      json.endObject()
    }
    write(phones, as: "phones", to: &json)
    write(websites, as: "websites", to: &json)
    write(emails, as: "emails", to: &json)
    if !social.isEmpty {
      json.write(name: "social")
      json.writeArray(of: social) { page, json in
        json.write(member: "network", page.network)
        json.write(member: "url", page.url)
      }
    }
    if brand.name != nil || brand.wikidata != nil {
      json.write(name: "brand")
      json.beginObject()
      write(brand.name, as: "name", to: &json)
      write(brand.wikidata, as: "wikidata", to: &json)
      json.endObject()
    }
    write(self.operator, as: "operator", to: &json)
    write(wheelchair?.rawValue, as: "wheelchair", to: &json)
    write(payment, as: "payment", to: &json)
    write(diet, as: "diet", to: &json)
    write(entrance, as: "entrance", to: &json)
    write(source?.licence, as: "licence", to: &json)
    write(source?.attribution, as: "attribution", to: &json)
    json.endObject()
  }
}

extension Parameter {
  package static let view = Parameter("view", mayDifferBetweenPages: true) {
    .init(
      "`details` adds the member `details`: the typed values of the tags, in one form whatever the data set; and, for"
        + " senders that may write, `edits` if fields differ from the data set because they were edited. Needs JSON.",
      .placeView)
  }
}

/// The views of a place: the values of `view`.
package enum PlaceView: String, CaseIterable {
  case standard, details
}

/// The arguments that select the representation of one place.
package struct PresentationArguments {
  package let fields: FieldSet
  package let format: PointFormat
  let languages: LanguageNegotiation
  let view: PlaceView

  /// The author of what a write changes.
  package let author: WriteAuthor

  /// Creates the arguments from a request.
  ///
  /// - Parameters:
  ///   - fallback: the fields where the request names none: all, so that what was read can be edited and put back.
  ///   - additional: the fields that the call has beside those of every place.
  ///   - parameters: the parameters of the call.
  /// - Throws: `Problem` 400 or 406.
  package init(
    _ request: HTTPRequest, fields fallback: FieldSet = .all, additional: FieldSet = [],
    allowing parameters: [Parameter] = .presentation
  ) throws(Problem) {
    var values = try ParameterValues(request, allowing: parameters)
    fields = values.fields(default: fallback, additional: additional)
    languages = LanguageNegotiation(parameter: values.languages())
    view = values.choice(.view, default: .standard)
    author = values.choice(.author, default: .client)
    try values.check()
    format = try .chosen(
      by: values[.format], accept: request.headers, from: view == .details ? [.json] : PointFormat.responses)
  }
}

extension Parameter {
  package static let author = Parameter("as") {
    .init(
      "`source` for a write by which a data set is kept up to date: it changes the fields that were not edited, as an"
        + " import does, and is no edit itself. The body needs `source` and `sourceId`. `client` is the default.",
      .writeAuthor)
  }
}

extension Schema {
  fileprivate static let writeAuthor = enumeration(WriteAuthor.allCases.map(\.rawValue))
    .named("WriteAuthor", order: 1000)
  fileprivate static let placeView = enumeration(PlaceView.allCases.map(\.rawValue)).named("PlaceView", order: 870)
}
