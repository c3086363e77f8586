import APIDescription
import Basics
import HTTPServer
import JSONText
package import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// The calls of the edits that imports keep.
package struct EditCalls: Sendable {
  private let api: LocationsAPI

  package init(_ api: LocationsAPI) { self.api = api }

  package var endpoints: [Endpoint] {
    let configuration = api.configuration
    let handlers: [any CallHandler] = [
      ListEditsRoute(service: configuration.service, address: configuration.address),
      ForgetEditsRoute(service: configuration.service),
    ]
    return handlers.map(\.endpoint)
  }
}

/// `GET /edits`: the places with edits, by id.
struct ListEditsRoute: CallHandler {
  static let call = Call(
    .GET, "/edits", scope: .write, joinsRestriction: true, id: "listEdits", group: .edits, link: "edits",
    summary: "List places with edits",
    description:
      "The places of data sets of which calls have changed fields, by id, each with its `edits`, whose `source` is the"
      + " value of the data set. Of a place that was deleted by a call there are the id, `source`, `sourceId` and"
      + " `edits`. A page ends early, but not without a place, where its places have more than"
      + " \(PointPage.maximumTextBytes >> 20) MiB of names and tags. A `Link` leads to the next. For keys"
      + " with a filter or areas a page ends after the time that a filter may take, also without a place.",
    parameters: [.limit, .cursor, .format, .source, .conflict],
    describing: ["limit": .limit(limits, default: PointQuery.defaultLimit), "f": .format([.json])],
    caching: .forbidden,
    responses: [
      .init(200, "A page of places.", headers: [.link], media: .json(Schema(.array(of: .editedPlace))))
    ],
    problems: ProblemDescription.index)

  private static let limits = 1...PointQuery.maximumIDs

  /// The number of times that the texts of a page are in memory: in the response, which grows by doubling, and as it is
  /// sent.
  private static let copies = 3

  /// The estimated number of bytes of a place beside the texts.
  private static let placeBytes = 1024

  let service: PointsService
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let limit = values.limit(in: Self.limits)
    let source = values.source()?.name
    let onlyConflicts = values.flag(.conflict)
    let last = values.position { PointID($0) }
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    let query = EditQuery(source: source, onlyConflicts: onlyConflicts, after: last, limit: limit)
    let found = try await request.result(of: await service.edits(matching: query))
    let page = try await EditedPlaces(found, of: service, for: request)
    let reservation = try await request.reserveMemory(
      bytes: Self.copies * (page.textBytes + page.edits.count * Self.placeBytes))
    defer { extendLifetime(reservation) }
    let json = try await request.computing { page.json }
    var response = HTTPResponse(json).uncacheable
    if let next = page.next {
      response.addLink(toNext: address.nextPage(of: "/edits", cursor: next.description, for: request))
    }
    return response
  }
}

/// A page of edits with their places.
private struct EditedPlaces {
  private(set) var edits: [PlaceEdits]

  /// The id after which the next page begins; `nil` if no places follow.
  private(set) var next: PointID?

  /// The places, those that were deleted left out.
  private var places: [PointID: PointOfInterest] = [:]

  /// Creates a page, which ends where that of its places does.
  ///
  /// - Throws: `Problem` of the store's error.
  init(_ page: EditPage, of service: PointsService, for request: HTTPRequest) async throws(Problem) {
    (edits, next) = (page.places, page.next)
    guard !edits.isEmpty else { return }
    var query = PointQuery(limit: edits.count)
    query.ids = edits.map(\.id)
    let found = try await service.page(matching: query, isRecorded: false, for: request) { page in
      (points: page.points.map(\.point), hasMore: page.hasMore)
    }
    for point in found.points { places[point.id] = point }
    if found.hasMore, let last = found.points.last, let end = edits.firstIndex(where: { $0.id == last.id }),
      end + 1 < edits.count
    {
      edits.removeSubrange((end + 1)...)
      next = last.id
    }
  }

  /// The number of bytes of the names and tags of the places and of the values of their data sets.
  var textBytes: Int {
    edits.reduce(0) { sum, place in
      let values = place.edits.reduce(0) { $0 + $1.field.text.utf8.count + $1.base.byteCount }
      return sum + values + (places[place.id]?.draft.textBytes ?? 0)
    }
  }

  /// An array of the places, each with its edits.
  var json: JSONWriter<[UInt8]> {
    var json = JSONWriter()
    json.beginArray()
    for place in edits {
      var text: [UInt8] = []
      if let point = places[place.id] {
        PointJSON.append(FoundPoint(point: point, distanceMetres: nil), fields: .all, to: &text)
      } else {
        text =
          JSONWriter.object { json in
            json.write(member: "id", "\(place.id)")
            json.write(member: "source", place.origin.source)
            json.write(member: "sourceId", place.origin.sourceID)
          }.sink
      }
      // Before the brace at the end.
      text.removeLast()
      var members = JSONWriter(text, continuesList: true)
      members.write(name: "edits")
      EditJSON.write(place, to: &members)
      members.endObject()
      members.sink.withUnsafeBufferPointer { json.write(json: $0) }
    }
    json.endArray()
    return json
  }
}

extension FieldValue {
  /// The number of bytes of the text.
  fileprivate var byteCount: Int {
    switch self {
    case .none, .position: 0
    case .text(let text): text.text.utf8.count
    }
  }
}

/// `DELETE /edits/{id}`: gives a place back to its data set.
struct ForgetEditsRoute: CallHandler {
  static let call = Call(
    .DELETE, "/edits/{id}", scope: .write, joinsRestriction: true, id: "forgetEdits", group: .edits,
    summary: "Give a place back to its data set",
    description:
      "Each edited field gets the value of the data set, and later imports change it. The deletion of a place is"
      + " forgotten: the next import that has the place creates it with its id.",
    describing: ["id": .init("Id of the place.", Schema.uuid, isRequired: true, example: .string(Examples.id))],
    responses: [
      .written(200, "The place as it is now.", media: .json(.place, example: Examples.place)),
      .init(204, "The deletion of the place is forgotten."),
    ],
    problems: [.init(412, .versionMismatch)])

  let service: PointsService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let id = try PointID(inPathOf: request)
    guard request.headers["if-match"].isEmpty, request.headers["if-none-match"].isEmpty else {
      throw Problem(
        .preconditionFailed, code: "version-mismatch",
        detail: "edits have no version; their removal takes neither If-Match nor If-None-Match")
    }
    let place: PointOfInterest?
    do throws(PointWriteError) {
      place = try await request.waitingForStore { () throws(PointWriteError) in try await service.forgetEdits(of: id) }
    } catch .notFound {
      throw .notFound("there are no edits of a place with the id \(id)")
    } catch {
      throw request.problem(for: error)
    }
    guard let place else { return HTTPResponse(status: .noContent) }
    var json: [UInt8] = []
    PointJSON.append(FoundPoint(point: place, distanceMetres: nil), fields: .all, to: &json)
    var response = HTTPResponse(JSONWriter(json))
    response.addWritten(etag: EntityTag.of(version: place.version, format: .json), createdAt: nil)
    return response
  }
}

// MARK: Descriptions

extension Parameter {
  static let conflict = Parameter("conflict", .flag) {
    .init(
      "`true` for the places of which the data set has changed an edited field to another value.",
      Schema(.boolean, nil, ["default": false]))
  }
}

extension Schema {
  /// A place with edits, or what is known of one that was deleted.
  fileprivate static let editedPlace = Schema(
    .object(
      members(
        PointField.members.filter { [.client, .service].contains($0.giver) }, required: [.id, .source, .sourceID])
        + [.required("edits", .placeEdits)], others: nil),
    "A place with edits. One that was deleted has only `id`, `source`, `sourceId` and `edits`."
  ).named("EditedPlace", order: 980)
}

extension CallGroup {
  static let edits = CallGroup(
    name: "Edits", order: 75, description: "Changes of places of data sets that imports keep.")
}
