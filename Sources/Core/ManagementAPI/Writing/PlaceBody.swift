package import APIDescription
package import HTTPServer
package import JSONText
import LocationsAPI
package import NIOCore
package import PointFormats

extension BodyDescription {
  /// A place.
  package static let draft = BodyDescription(
    description: "The place. Fields that the service sets are ignored.",
    media: [
      .init(.json, .placeDraft, example: Examples.draft),
      .init(.geoJSON, .featureDraft, example: Examples.newFeature),
    ])

  /// A JSON merge patch (RFC 7396).
  ///
  /// - Parameter parts: the noun for what it changes.
  package static func mergePatch(_ schema: Schema, of parts: String = "fields") -> BodyDescription {
    BodyDescription(
      description: "The \(parts) to change.",
      media: [.init("application/merge-patch+json", schema), .init(.json, schema)])
  }
}

extension PointBody {
  /// The media types of a place, for `Accept-Post`.
  package static let mediaTypes = "application/json, application/geo+json"

  /// The media types of a patch, for `Accept-Patch`.
  static let patchMediaTypes = "application/merge-patch+json, application/json"

  /// Reads a place, and returns it with the bytes of the body. A long body is parsed beside the event loop.
  ///
  /// - Throws: `Problem` 415, 400 `malformed-body`, 422 `invalid-place`, or that of a body that did not arrive.
  package static func read(_ request: HTTPRequest) async throws(Problem) -> (document: PointDocument, bytes: ByteBuffer)
  {
    let form: PointDocument.Form
    switch request.mediaType {
    case "application/json": form = .object
    case "application/geo+json": form = .feature
    default: throw .unsupportedMediaType(request, accepted: mediaTypes, header: "accept-post")
    }
    let bytes = try await collect(request)
    func document() throws(Problem) -> PointDocument {
      try Problem.reporting(document: PointDocument(bytes.readableBytesView, form: form))
    }
    guard bytes.readableBytes > shortBytes else { return (try document(), bytes) }
    return (try await request.computing(document), bytes)
  }

  /// Reads a merge patch. A long one is parsed beside the event loop.
  ///
  /// - Throws: `Problem` 415, 400 `malformed-body`, or that of a body that did not arrive.
  package static func readPatch(_ request: HTTPRequest) async throws(Problem) -> JSONValue {
    switch request.mediaType {
    case "application/merge-patch+json", "application/json": break
    default: throw .unsupportedMediaType(request, accepted: patchMediaTypes, header: "accept-patch")
    }
    let bytes = try await collect(request)
    guard bytes.readableBytes > shortBytes else { return try patch(bytes.readableBytesView) }
    return try await request.computing { () throws(Problem) in try patch(bytes.readableBytesView) }
  }

  private static func patch(_ bytes: ByteBufferView) throws(Problem) -> JSONValue {
    try Problem.reporting(json: JSONReader.value(of: bytes))
  }
}
