import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `PATCH /locations/{id}`: changes fields of a place by a JSON merge patch (RFC 7396).
struct ChangeRoute: CallHandler {
  static let call = Call(
    .PATCH, "/locations/{id}", scope: .write, joinsRestriction: true, id: "changeLocation", group: .write,
    summary: "Change fields of a place",
    description: "A JSON merge patch (RFC 7396). Concurrent patches without a condition are all applied, except one "
      + "that a hundred others have come before: it gets 409 and can be repeated.",
    parameters: .presentation,
    body: BodyDescription(
      description: "The fields to change.",
      media: [
        .init("application/merge-patch+json", .placePatch), .init(.json, .placePatch),
      ]),
    responses: [.written(200, "The changed place.", media: .place)])

  let service: PointsService
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let id = try PointID(inPathOf: request)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let patch = PointPatch(try await PointBody.readPatch(request))

    let point: PointOfInterest
    do {
      point = try await request.waitingForStore { () throws(PointUpdateError<Problem>) in
        try await service.update(id: id, if: condition) { point throws(Problem) in
          try Self.draft(of: point, changedBy: patch)
        }
      }
    } catch {
      throw request.problem(for: error)
    }

    return HTTPResponse(written: point, createdAt: nil, presentation)
  }

  /// Returns the place with the changes of a patch.
  ///
  /// - Throws: `Problem` 422, as also for another id.
  static func draft(of point: PointOfInterest, changedBy patch: PointPatch) throws(Problem) -> PointDraft {
    let document: PointDocument
    do {
      document = try patch.applied(to: point)
    } catch {
      throw Problem(error)
    }
    try point.id.check(document.id, isForeign: document.hasForeignID)
    return document.draft
  }
}

extension HTTPRequest {
  /// Returns the problem of an update's error, which is logged where operators need it.
  func problem(for error: PointUpdateError<Problem>) -> Problem {
    switch error {
    case .write(let error): problem(for: error)
    case .change(let problem): problem
    case .contended:
      Problem(
        .conflict, code: "conflict", detail: "other requests keep changing the place; repeat the request",
        headers: ["retry-after": "1"])
    }
  }
}
