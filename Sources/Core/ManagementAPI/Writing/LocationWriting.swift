import APIDescription
package import HTTPServer
package import LocationsAPI
import NIOHTTP1
package import PointFormats
package import Points

/// `POST /locations`: creates a place with a new id. An id in the body is ignored, as are all fields that the service
/// sets.
struct CreateRoute: CallHandler {
  static let call = Call(
    .POST, "/locations", scope: .write, joinsRestriction: true, id: "createLocation", group: .write,
    summary: "Create a place",
    description: "The service gives the id; one in the body is ignored.", parameters: .presentation + [.author],
    body: .draft,
    responses: [.written(201, "The new place.", media: .place)])

  let service: PointsService
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request, allowing: Self.call.parameters)
    let (document, body) = try await PointBody.read(request)
    let author = presentation.author
    try author.check(document.draft)
    let key = try IdempotencyKey.read(
      request, of: request.principal, body: body, variant: author == .source ? "as source" : nil)

    let point = try await request.writeResult(of: await service.create(document.draft, once: key, as: author))

    let relative = "locations/\(point.id)"
    let location = address.target(path: "/" + relative, relative: relative, for: request)
    return HTTPResponse(written: point, createdAt: location, presentation)
  }
}

extension HTTPResponse {
  /// Creates the response to a write, with the place as it is now.
  ///
  /// - Parameter location: the value of `Location` for a place that was created.
  init(written point: PointOfInterest, createdAt location: String?, _ presentation: PresentationArguments) {
    self.init(point, presentation)
    addWritten(etag: EntityTag.of(version: point.version, format: presentation.format), createdAt: location)
  }
}

/// `PUT /locations/{id}`: replaces a place, or creates it with that id.
struct ReplaceRoute: CallHandler {
  static let call = Call(
    .PUT, "/locations/{id}", scope: .write, joinsRestriction: true, id: "replaceLocation", group: .write,
    summary: "Replace a place, or create it with this id", parameters: .presentation + [.author], body: .draft,
    responses: [
      .written(200, "The replaced place.", media: .place), .written(201, "The new place.", media: .place),
    ])

  let service: PointsService
  let address: PublicAddress
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request, allowing: Self.call.parameters)
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let document = try await PointBody.read(request).document
    try id.check(document.id, isForeign: document.hasForeignID)
    try presentation.author.check(document.draft)

    let (point, wasCreated) = try await request.writeResult(
      of: await service.put(document.draft, id: id, if: condition, as: presentation.author))

    let location = address.target(path: "/locations/\(point.id)", relative: "\(point.id)", for: request)
    return HTTPResponse(written: point, createdAt: wasCreated ? location : nil, presentation)
  }
}

extension WriteAuthor {
  /// Checks that a place that is written as its source has one.
  ///
  /// - Throws: `Problem` 422.
  fileprivate func check(_ draft: PointDraft) throws(Problem) {
    guard self == .client || draft.origin != nil else {
      throw Problem(InvalidPoint([.init(pointer: "/source", detail: "must be given, with sourceId, if as is source")]))
    }
  }
}

extension PointID {
  /// Checks that a body names no other id than this one, which is that of the path.
  ///
  /// - Parameter isForeign: a Boolean value that indicates whether the body has an id that is no UUID.
  /// - Throws: `Problem` 422.
  package func check(_ id: PointID?, isForeign: Bool) throws(Problem) {
    guard !isForeign, id == nil || id == self else {
      throw Problem(InvalidPoint([.init(pointer: "/id", detail: "must be that of the path, or left out")]))
    }
  }
}

/// `PATCH /locations/{id}`: changes fields of a place by a JSON merge patch (RFC 7396).
package struct ChangeRoute: CallHandler {
  package static let call = Call(
    .PATCH, "/locations/{id}", scope: .write, joinsRestriction: true, id: "changeLocation", group: .write,
    summary: "Change fields of a place",
    description: "A JSON merge patch (RFC 7396). Concurrent patches without a condition are all applied, except one "
      + "that a hundred others have come before: it gets 409 and can be repeated.",
    parameters: .presentation,
    body: .mergePatch(.placePatch),
    responses: [.written(200, "The changed place.", media: .place)])

  let service: PointsService
  let requiresIfMatch: Bool

  package func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let patch = PointPatch(try await PointBody.readPatch(request))

    let point = try await request.reportingUpdateErrors { () throws(PointUpdateError<Problem>) in
      try await service.update(id: id, if: condition) { point throws(Problem) in
        try Self.draft(of: point, changedBy: patch)
      }
    }

    return HTTPResponse(written: point, createdAt: nil, presentation)
  }

  /// Returns the place with the changes of a patch.
  ///
  /// - Throws: `Problem` 422, as also for another id.
  package static func draft(of point: PointOfInterest, changedBy patch: PointPatch) throws(Problem) -> PointDraft {
    let document = try Problem.reporting(document: patch.applied(to: point))
    try point.id.check(document.id, isForeign: document.hasForeignID)
    return document.draft
  }
}

/// `DELETE /locations/{id}`: removes a place.
struct DeleteRoute: CallHandler {
  static let call = Call(
    .DELETE, "/locations/{id}", scope: .write, joinsRestriction: true, id: "deleteLocation", group: .write,
    summary: "Delete a place",
    responses: [.init(204, "The place is deleted.")])

  let service: PointsService
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    return try await service.delete(id: id, if: condition, orThrow: .noPlace(id), for: request)
  }
}
