import HTTPServer
import NIOHTTP1
import PlaceFormats
import Points

/// `PUT /locations/{id}`: replaces a place, or creates it under that id.
struct ReplaceRoute {
  let editor: PlaceEditor
  let address: PublicAddress
  let requiresIfMatch: Bool

  func respond(to request: HTTPRequest, id text: String) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let id = try PointID(pathText: text)
    let condition = try Preconditions.read(request.headers, isRequired: requiresIfMatch)
    let document = try await PlaceBody.read(request).document
    try document.checkID(is: id)

    let (point, wasCreated) = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await editor.put(document.place, id: id, if: condition)
    }

    let location = address.target(path: "/locations/\(point.id)", relative: "\(point.id)", for: request)
    return HTTPResponse(written: point, createdAt: wasCreated ? location : nil, presentation)
  }
}

extension PlaceDocument {
  /// Throws where the body says that it is another place than the path does.
  func checkID(is id: PointID) throws(Problem) {
    guard self.id == nil || self.id == id else {
      throw Problem(InvalidPlace([.init(pointer: "/id", detail: "must be that of the path, or left out")]))
    }
  }
}

extension PointID {
  /// The id that stands in a path.
  ///
  /// - Throws: `Problem` 400 where it is no UUID.
  init(pathText text: String) throws(Problem) {
    guard let id = PointID(text) else { throw .invalidParameter("id", "must be a UUID, got '\(text.prefix(50))'") }
    self = id
  }
}
