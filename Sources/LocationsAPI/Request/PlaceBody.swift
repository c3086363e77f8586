import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PlaceFormats
import Points

/// Reads the place that is a request's body.
enum PlaceBody {
  /// What a place may be sent as, for `Accept-Post`.
  static let mediaTypes = "application/json, application/geo+json"

  /// What a change of a place may be sent as, for `Accept-Patch`.
  static let patchMediaTypes = "application/merge-patch+json, application/json"

  /// The place that the body describes, and the bytes it was read from.
  ///
  /// - Throws: `Problem` 415, 400 `malformed-body`, 422 `invalid-place`, or why the body did not arrive.
  static func read(_ request: HTTPRequest) async throws(Problem) -> (document: PlaceDocument, bytes: ByteBuffer) {
    let form: PlaceDocument.Form
    switch request.mediaType {
    case "application/json": form = .object
    case "application/geo+json": form = .feature
    default: throw .unsupportedMediaType(request, accepted: mediaTypes, header: "accept-post")
    }
    let bytes = try await collect(request)
    return (try document(bytes.readableBytesView, form: form), bytes)
  }

  /// The merge patch that the body is.
  ///
  /// - Throws: `Problem` 415, 400 `malformed-body`, or why the body did not arrive.
  static func readPatch(_ request: HTTPRequest) async throws(Problem) -> JSONValue {
    switch request.mediaType {
    case "application/merge-patch+json", "application/json": break
    default: throw .unsupportedMediaType(request, accepted: patchMediaTypes, header: "accept-patch")
    }
    let bytes = try await collect(request)
    do {
      return try JSONReader.value(of: bytes.readableBytesView)
    } catch {
      throw .malformedBody(error)
    }
  }

  /// The place that a text describes.
  ///
  /// - Throws: `Problem` 400 `malformed-body` or 422 `invalid-place`.
  static func document(
    _ bytes: some Collection<UInt8>, form: PlaceDocument.Form = .object
  ) throws(Problem) -> PlaceDocument {
    do {
      return try PlaceDocument(bytes, form: form)
    } catch {
      switch error {
      case .malformed(let error): throw .malformedBody(error)
      case .invalid(let invalid): throw Problem(invalid)
      }
    }
  }

  private static func collect(_ request: HTTPRequest) async throws(Problem) -> ByteBuffer {
    if let coding = request.headers.first(name: "content-encoding"), coding.lowercased() != "identity" {
      throw Problem(
        .unsupportedMediaType, code: "unsupported-media-type",
        detail: "a single place must be sent without Content-Encoding", headers: ["accept-encoding": "identity"])
    }
    do {
      return try await request.body.collect()
    } catch {
      throw error.problem
    }
  }
}

extension HTTPRequest {
  /// The media type of the body in lower case, without parameters; `nil` where the request names none.
  var mediaType: String? {
    guard let value = headers.first(name: "content-type") else { return nil }
    let essence = value.prefix { $0 != ";" }.lowercased()
    return essence.split(whereSeparator: { $0 == " " || $0 == "\t" }).first.map(String.init)
  }
}

extension Problem {
  /// 415 with what is accepted.
  static func unsupportedMediaType(_ request: HTTPRequest, accepted: String, header: String) -> Problem {
    let got = request.headers.first(name: "content-type").map { "'\($0.prefix(100))'" } ?? "none"
    return Problem(
      .unsupportedMediaType, code: "unsupported-media-type",
      detail: "Content-Type must be one of \(accepted); got \(got)", headers: [header: accepted])
  }

  /// 400 for a body that is not JSON.
  static func malformedBody(_ error: JSONError) -> Problem {
    Problem(.badRequest, code: "malformed-body", detail: "the body is \(error)")
  }
}
