import HTTPServer
import NIOHTTP1
import PlaceFormats
import Points

/// `POST /locations`: creates a place under a new id; one that the body names is ignored, as is all that the service sets.
struct CreateRoute {
  let editor: PlaceEditor
  let address: PublicAddress

  func respond(to request: HTTPRequest, from principal: Principal) async throws(Problem) -> HTTPResponse {
    let presentation = try PresentationArguments(request)
    let (document, body) = try await PlaceBody.read(request)
    let key = try IdempotencyKey.read(request, of: principal, body: body)

    let point = try await request.reportingWriteErrors { () throws(PointWriteError) in
      try await editor.create(document.place, once: key)
    }

    let relative = Self.relativePath(of: point.id)
    let location = address.target(path: "/" + relative, relative: relative, for: request)
    return HTTPResponse(written: point, createdAt: location, presentation)
  }

  private static func relativePath(of id: PointID) -> String {
    let folder: StaticString = "locations/"
    let length = folder.utf8CodeUnitCount + PointID.textLength
    return String(unsafeUninitializedCapacity: length) { buffer in
      var writer = ByteWriter(at: buffer.baseAddress.unsafelyUnwrapped)
      writer.write(folder)
      writer.write(id)
      return length
    }
  }
}

extension HTTPResponse {
  /// Creates the response to a write: the place as it is now.
  ///
  /// - Parameter location: where the place is, if it was created.
  init(written point: PointOfInterest, createdAt location: String?, _ presentation: PresentationArguments) {
    self.init(
      FoundPoint(point: point, distanceMetres: nil), fields: presentation.fields, format: presentation.format)
    headers.add(name: "etag", value: EntityTag.of(point, format: presentation.format))
    guard let location else { return }
    status = .created
    headers.add(name: "location", value: location)
  }
}
