import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `PUT /locations/{id}`: replaces a place, or creates it with that id.
struct ReplaceRoute: CallHandler {
  static let call = Call(
    .PUT, "/locations/{id}", scope: .write, joinsRestriction: true, id: "replaceLocation", group: .write,
    summary: "Replace a place, or create it with this id", parameters: .presentation, body: .draft,
    responses: [
      .written(200, "The replaced place.", media: .place), .written(201, "The new place.", media: .place),
    ])

  let service: PointsService
  let address: PublicAddress
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let document = try await PointBody.read(request).document
    try id.check(document.id, isForeign: document.hasForeignID)

    let (point, wasCreated) = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await service.put(document.draft, id: id, if: condition)
    }

    let location = address.target(path: "/locations/\(point.id)", relative: "\(point.id)", for: request)
    return HTTPResponse(written: point, createdAt: wasCreated ? location : nil, presentation)
  }
}

extension PointID {
  /// Checks that a body names no other id than this one, which is that of the path.
  ///
  /// - Parameter isForeign: a Boolean value that indicates whether the body has an id that is no UUID.
  /// - Throws: `Problem` 422.
  func check(_ id: PointID?, isForeign: Bool) throws(Problem) {
    guard !isForeign, id == nil || id == self else {
      throw Problem(InvalidPoint([.init(pointer: "/id", detail: "must be that of the path, or left out")]))
    }
  }

  /// Creates the id from the path of a request.
  ///
  /// - Throws: `Problem` 400 where it is not a UUID.
  init(inPathOf request: HTTPRequest) throws(Problem) {
    let text = request.pathParameters["id"]
    guard let id = PointID(text) else { throw .invalidParameter("id", "must be a UUID, got '\(text.prefix(50))'") }
    self = id
  }
}
