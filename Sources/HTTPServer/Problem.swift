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
