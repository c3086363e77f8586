import HTTPServer
import NIOHTTP1
import Points

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

    do {
      try await request.waitingForStore { () throws(PointWriteError) in
        try await service.delete(id: id, if: condition)
      }
    } catch .conditionFailed(nil) {
      // Without the condition it would be 404 too, and that comes first (RFC 9110, section 13.2.1).
      throw .notFound("there is no place with the id \(id)")
    } catch {
      throw request.problem(for: error)
    }

    return HTTPResponse(status: .noContent)
  }
}
