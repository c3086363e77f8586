import APIDescription
import Basics
import HTTPServer
import JSONText
import LocationsAPI
import NIOHTTP1
import PointFormats
import Points

/// `DELETE /locations?source=NAME&confirm=true`: removes all places of a data set, batch by batch.
struct DeleteSourceRoute: CallHandler {
  static let call = Call(
    .DELETE, "/locations", scope: .write, joinsRestriction: true, id: "deleteSource", group: .write,
    summary: "Delete all places of a data set",
    description:
      "In batches. If one fails, the problem's `deleted` is the number of places deleted before; repeating the"
      + " request deletes the rest.",
    parameters: [.source, .confirm], describing: ["source": Parameter.source.description.required],
    responses: [.init(200, "The number of deleted places.", media: .json(.deletion))],
    problems: [.init(412, .versionMismatch)])

  let service: PointsService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let source = try Self.source(of: request)
    do throws(IncompleteDeletion) {
      // Finding the places of each batch is work enough to hold up the other connections of this one's event loop.
      let count = try await withTaskExecutorPreference(request.transferExecutor) {
        () throws(IncompleteDeletion) -> Int in
        try await request.waitingForStore { () throws(IncompleteDeletion) in
          try await service.deletePlaces(ofSource: source)
        }
      }
      return HTTPResponse(.object { $0.write(member: "deleted", count) })
    } catch {
      var problem = request.problem(for: error.error)
      problem.counts.append(("deleted", error.count))
      let detail = "\(error.count) places were deleted; repeat the request to delete the rest"
      problem.detail = problem.detail.map { "\($0); \(detail)" } ?? detail
      throw problem
    }
  }

  private static func source(of request: HTTPRequest) throws(Problem) -> String {
    var values = try ParameterValues(request, allowing: Self.call.parameters)
    let source = values.source()
    if !values.has(.source) { values.note(.missing, Parameter.source.name, "must name the data set to delete") }
    if !values.has(.confirm) {
      values.note(.missing, Parameter.confirm.name, "must be true to delete all places of a data set")
    } else if !values.flag(.confirm), values[.confirm] == "false" {
      values.note(.invalid, Parameter.confirm.name, "must be true to delete all places of a data set, got 'false'")
    }
    try values.check()
    guard request.headers["if-match"].isEmpty, request.headers["if-none-match"].isEmpty else {
      throw Problem(
        .preconditionFailed, code: "version-mismatch",
        detail: "a data set has no version; its deletion takes neither If-Match nor If-None-Match")
    }
    guard let source = source?.name.text else { throw .internal }
    return source
  }
}

/// `DELETE /sources/{name}`: removes a data set without places and areas from the list.
struct RemoveSourceRoute: CallHandler {
  static let call = Call(
    .DELETE, "/sources/{name}", scope: .write, id: "removeSource", group: .write,
    summary: "Remove a data set without places and areas",
    description: "`DELETE /locations` removes its places, and `DELETE /areas/{id}` an area.",
    describing: [
      "name": .init("Name of the data set.", .rowOption(example: "demo"), isRequired: true)
    ],
    responses: [.init(204, "The data set is removed.")], problems: [.init(409, .conflict)])

  let service: PointsService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    let name = request.pathParameters["name"]
    let removal = try await request.writeResult(of: await service.removeSource(named: name))
    switch removal {
    case .removed: return HTTPResponse(status: .noContent)
    case .unknown: throw .notFound("there is no source '\(name.prefix(50))'")
    case .hasPlaces:
      throw Problem(
        .conflict, code: "conflict",
        detail: "the source '\(name.prefix(50))' has places; DELETE /locations?source=…&confirm=true removes them")
    case .hasAreas:
      throw Problem(
        .conflict, code: "conflict",
        detail: "the source '\(name.prefix(50))' has areas; DELETE /areas/{id} removes each of them")
    }
  }
}

extension Parameter {
  static let confirm = Parameter("confirm", .flag) {
    .init("Confirms the deletion of all places of the data set.", .oneOf(["true"]), isRequired: true)
  }
}

extension Schema {
  fileprivate static let deletion = Schema(
    .object([.required("deleted", count)], others: nil), "The number of deleted places.", example: ["deleted": 3]
  ).named("Deletion", order: 330)
}
