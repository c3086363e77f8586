package import JSONText
public import NIOCore
public import NIOHTTP1

/// A problem with a request, for its sender: the problem details of RFC 9457.
///
/// It contains nothing secret: what is for operators belongs in the log.
public struct Problem: Error, Sendable {
  /// The status of the response.
  public var status: HTTPResponseStatus

  /// A stable slug that programs tell problems apart by, such as `not-found`.
  public var code: String

  /// The kind of the problem, in words that are the same for every problem of the code.
  public var title: String

  /// The explanation of this occurrence.
  public var detail: String?

  /// The errors in parts of the input.
  public var errors: [ProblemError]

  /// The extension members that are numbers (RFC 9457, section 3.2), each name once, in the order in which they are
  /// sent.
  public var counts: [(name: String, value: Int)] = []

  /// The extension members with other values, each name once.
  package var members: [JSONValue.Member] = []

  /// The header fields of the response beside `Content-Type`, such as `Allow` and `Retry-After`.
  public var headers: HTTPHeaders

  /// Creates a problem.
  ///
  /// - Parameter title: by default the status's reason phrase.
  public init(
    _ status: HTTPResponseStatus,
    code: String,
    title: String? = nil,
    detail: String? = nil,
    errors: [ProblemError] = [],
    headers: HTTPHeaders = [:]
  ) {
    self.status = status
    self.code = code
    self.title = title ?? status.reasonPhrase
    self.detail = detail
    self.errors = errors
    self.headers = headers
  }

  /// A parameter of the query or the path whose value breaks a rule: 400 `invalid-parameter`.
  public static func invalidParameter(_ name: String, _ detail: String) -> Problem {
    Problem(
      .badRequest,
      code: "invalid-parameter",
      detail: "\(name) \(detail)",
      errors: [ProblemError(.parameter(name), detail)]
    )
  }

  /// 404 `not-found`.
  public static func notFound(_ detail: String? = nil) -> Problem {
    Problem(.notFound, code: "not-found", detail: detail)
  }

  /// 500 `internal`, without details.
  public static let `internal` = Problem(
    .internalServerError,
    code: "internal",
    detail: "the server could not answer; the error is logged with the request id"
  )
}

/// An error in one part of the input.
public struct ProblemError: Hashable, Sendable {
  /// A part of a request.
  public enum Location: Hashable, Sendable {
    /// A parameter of the query or the path.
    case parameter(String)
    /// A place in the body, as a JSON pointer (RFC 6901).
    case pointer(String)
    /// A row of the body, by its number and the line on which it starts, both counted from 1.
    case row(Int, line: Int? = nil)
  }

  /// The part with the error.
  public let location: Location

  /// The explanation, which continues from the part's name.
  public let detail: String

  public init(_ location: Location, _ detail: String) {
    self.location = location
    self.detail = detail
  }
}

extension Problem {
  /// The media type of ``json(typePrefix:)``.
  public static let mediaType = "application/problem+json"

  /// The default beginning of `type`, which ``code`` follows.
  public static let defaultTypePrefix = "urn:problem:"

  /// Returns the problem as a JSON object: `type`, `title`, `status`, `detail`, `code`, ``counts`` and `errors`, the
  /// optional ones only where there are any.
  ///
  /// - Parameter typePrefix: the beginning of `type`, which ``code`` follows.
  public func json(typePrefix: String = defaultTypePrefix) -> ByteBuffer {
    var json = JSONWriter(ByteBufferAllocator().buffer(capacity: 512))
    json.beginObject()
    json.write(member: "type", typePrefix + code)
    json.write(member: "title", title)
    json.write(member: "status", Int(status.code))
    if let detail { json.write(member: "detail", detail) }
    json.write(member: "code", code)
    for count in counts {
      json.write(escapedName: count.name)
      json.write(integer: count.value)
    }
    for member in members {
      json.write(escapedName: member.name)
      json.write(member.value)
    }
    if !errors.isEmpty { Self.write(errors, to: &json) }
    json.endObject()
    return json.sink
  }

  private static func write(_ errors: [ProblemError], to json: inout JSONWriter<ByteBuffer>) {
    json.write(name: "errors")
    json.beginArray()
    for error in errors {
      json.beginObject()
      switch error.location {
      case .parameter(let name): json.write(member: "parameter", name)
      case .pointer(let pointer): json.write(member: "pointer", pointer)
      case .row(let number, let line):
        json.write(member: "row", number)
        if let line { json.write(member: "line", line) }
      }
      json.write(member: "detail", error.detail)
      json.endObject()
    }
    json.endArray()
  }
}

extension HTTPResponse {
  /// Creates the response of a problem.
  ///
  /// - Parameter typePrefix: the beginning of the problem's `type`, which its code follows.
  public init(_ problem: Problem, typePrefix: String = Problem.defaultTypePrefix) {
    self.init(
      status: problem.status,
      contentType: Problem.mediaType,
      bytes: problem.json(typePrefix: typePrefix)
    )
    headers.add(contentsOf: problem.headers)
  }
}
