import HTTPServer
import NIOHTTP1
import PointFormats
import Points

/// `POST /locations`: creates a place with a new id. An id in the body is ignored, as are all fields that the service
/// sets.
struct CreateRoute: CallHandler {
  static let call = Call(
    .POST, "/locations", scope: .write, joinsRestriction: true, id: "createLocation", group: .write,
    summary: "Create a place",
    description: "The service gives the id; one in the body is ignored.", parameters: .presentation, body: .draft,
    responses: [.written(201, "The new place.", media: .place)])

  let service: PointsService
  let address: PublicAddress

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let (document, body) = try await PointBody.read(request)
    let key = try IdempotencyKey.read(request, of: request.principal, body: body)

    let point = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await service.create(document.draft, once: key)
    }

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
    headers.add(name: "etag", value: EntityTag.of(version: point.version, format: presentation.format))
    guard let location else { return }
    status = .created
    headers.add(name: "location", value: location)
  }
}
