import HTTPServer
import NIOHTTP1
import Points

/// `DELETE /locations/{id}`: removes a place.
struct DeleteRoute {
  let editor: PlaceEditor
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest, id text: String) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let id = try PointID(pathText: text)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)

    do {
      try await editor.delete(id: id, if: condition)
    } catch .conditionFailed(nil) {
      // Without the condition it would be 404 too, and that comes first (RFC 9110, section 13.2.1).
      throw .notFound("there is no place of id \(id)")
    } catch {
      throw request.problem(for: error)
    }

    return HTTPResponse(status: .noContent)
  }
}
