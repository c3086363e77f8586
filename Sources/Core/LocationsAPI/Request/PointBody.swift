import APIDescription
package import HTTPServer
package import JSONText
package import NIOCore
import NIOHTTP1
package import PointFormats
import Points
package import TextFiles

/// The bodies of requests.
package enum PointBody {
  /// The length up to which the body of a place or patch is parsed on the event loop, in bytes. One of 1 MiB takes
  /// milliseconds.
  package static let shortBytes = 64 * 1024

  /// The maximum number of arrays and objects within each other in the body of a search: those of a filter, each of
  /// whose expressions is an object in an array, and of its geometries.
  package static let queryDepth = 2 * 64 + 12

  /// The length up to which the body of a search is parsed on the event loop, in bytes.
  private static let shortQueryBytes = 2048

  /// Reads the conditions of a search, and returns the arguments that a closure makes of them. A long body is parsed
  /// beside the event loop, and conditions that take longer than a millisecond are compiled there.
  ///
  /// - Throws: `Problem` 415, 400 `malformed-body`, that of a body that did not arrive, or that of the closure.
  package static func readQuery<Arguments>(
    _ request: HTTPRequest, _ arguments: (JSONValue) throws(Problem) -> Arguments
  ) async throws(Problem) -> (arguments: Arguments, bytes: ByteBuffer) {
    guard request.mediaType == "application/json" else {
      throw .unsupportedMediaType(request, accepted: "application/json", header: "accept-post")
    }
    let bytes = try await collect(request)
    guard bytes.readableBytes <= shortQueryBytes else {
      return (try await request.computing { () throws(Problem) in try arguments(query(of: bytes)) }, bytes)
    }
    let body = try query(of: bytes)
    guard hasLongConditions(body) else { return (try arguments(body), bytes) }
    return (try await request.computing { () throws(Problem) in try arguments(body) }, bytes)
  }

  /// Returns a Boolean value that indicates whether compiling the conditions of a body may take longer than a
  /// millisecond: those with a shape, whose edges are divided, objects, which may have one, and long filters.
  package static func hasLongConditions(_ body: JSONValue) -> Bool {
    if body[Parameter.within.name] != nil || body[Parameter.route.name] != nil { return true }
    switch body[Parameter.filter.name] {
    case .object?: return true
    case .string(let text)?: return text.utf8.count > ParameterValues.shortFilterBytes
    default: return false
    }
  }

  private static func query(of bytes: ByteBuffer) throws(Problem) -> JSONValue {
    try Problem.reporting(json: JSONReader.value(of: bytes.readableBytesView, maximumDepth: queryDepth))
  }

  /// Returns the bytes of a body that is not compressed.
  ///
  /// - Throws: `Problem` 415, or that of a body that did not arrive or had to give way to others.
  @inline(__always)
  package static func collect(_ request: HTTPRequest) async throws(Problem) -> ByteBuffer {
    try checkCoding(request)
    // The frames of asynchronous functions take memory.
    if let bytes = try request.shortBody() { return bytes }
    return try await request.collectBody()
  }

  @inline(never)
  private static func checkCoding(_ request: HTTPRequest) throws(Problem) {
    if let coding = request.headers.first(name: "content-encoding"), coding.lowercased() != "identity" {
      throw Problem(
        .unsupportedMediaType, code: "unsupported-media-type",
        detail: "the body must be sent without Content-Encoding", headers: ["accept-encoding": "identity"])
    }
  }
}

extension HTTPRequest {
  /// The media type of the body in lower case; `nil` if the request names none. An encoding other than UTF-8 belongs to
  /// it, and no other parameter.
  package var mediaType: String? {
    guard let value = headers.first(name: "content-type"), !value.isEmpty else { return nil }
    // Most have neither parameters nor upper-case letters.
    if value.utf8.allSatisfy(Self.isOfLowercaseEssence) { return value }
    guard let essence = Self.mediaTypeEssence(of: value) else { return nil }
    guard let charset = Self.charsetName(of: value), TextCharset(named: charset) != .utf8 else { return essence }
    return "\(essence); charset=\(charset)"
  }

  private static func isOfLowercaseEssence(_ byte: UInt8) -> Bool {
    byte > 0x20 && byte < 0x7F && byte != UInt8(ascii: ";") && byte &- UInt8(ascii: "A") >= 26
  }

  /// The encoding of the body that the media type names; `nil` if it names none.
  ///
  /// - Throws: `Problem` 415 if it is unknown.
  package func charset(accepted: String) throws(Problem) -> TextCharset? {
    guard let name = headers.first(name: "content-type").flatMap(Self.charsetName) else { return nil }
    guard let charset = TextCharset(named: name) else {
      throw Problem(
        .unsupportedMediaType, code: "unsupported-media-type",
        detail: "the charset of Content-Type must be one of \(TextCharset.names), got '\(name.prefix(100))'",
        headers: ["accept-post": accepted])
    }
    return charset
  }

  /// Returns the value of the parameter `charset` of a media type; `nil` if there is none.
  private static func charsetName(of value: String) -> String? {
    guard value.utf8.contains(UInt8(ascii: ";")) else { return nil }
    for parameter in value.split(separator: ";").dropFirst() {
      let parts = parameter.split(separator: "=", maxSplits: 1)
      guard parts.count == 2, parts[0].trimmed.lowercased() == "charset" else { continue }
      return parts[1].trimmed.filter { $0 != "\"" }
    }
    return nil
  }

  private static func mediaTypeEssence(of value: String) -> String? {
    let isBlank = { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let essence = value.utf8.drop(while: isBlank).prefix { $0 != UInt8(ascii: ";") && !isBlank($0) }
    return essence.isEmpty ? nil : Substring(essence).lowercased()
  }
}

extension Substring {
  fileprivate var trimmed: Substring {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" }
    var rest = drop(while: isBlank)
    while let last = rest.last, isBlank(last) { rest.removeLast() }
    return rest
  }
}

extension Problem {
  /// 400 `malformed-body` or 422 `invalid-place` for a body that describes no place.
  package init(_ failure: PointDocument.Failure) {
    switch failure {
    case .malformed(let error): self = .malformedBody(error)
    case .invalid(let invalid): self.init(invalid)
    }
  }

  /// Returns the value of a body as JSON, or of a part of it.
  ///
  /// - Throws: 400 `malformed-body`.
  package static func reporting<Value>(json value: @autoclosure () throws(JSONError) -> Value) throws(Problem) -> Value
  {
    do {
      return try value()
    } catch {
      throw malformedBody(error)
    }
  }

  /// Returns the place that a body describes.
  ///
  /// - Throws: 400 `malformed-body` or 422 `invalid-place`.
  package static func reporting(
    document: @autoclosure () throws(PointDocument.Failure) -> PointDocument
  ) throws(Problem) -> PointDocument {
    do {
      return try document()
    } catch {
      throw Problem(error)
    }
  }

  /// 415 with the accepted media types.
  package static func unsupportedMediaType(_ request: HTTPRequest, accepted: String, header: String) -> Problem {
    let got = request.headers.first(name: "content-type").map { "'\($0.prefix(100))'" } ?? "none"
    return Problem(
      .unsupportedMediaType, code: "unsupported-media-type",
      detail: "Content-Type must be one of \(accepted), got \(got)", headers: [header: accepted])
  }

  /// 400 for a body that is not JSON, with the pointer to a duplicate member, if that is the reason.
  package static func malformedBody(_ error: JSONError) -> Problem {
    Problem(
      .badRequest, code: "malformed-body", detail: "the body is \(error)",
      errors: error.pointer.map { [ProblemError(.pointer($0), "is a duplicate member")] } ?? [])
  }
}
