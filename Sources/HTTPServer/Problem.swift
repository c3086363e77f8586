import NIOHTTP1

/// What went wrong with a request, for its sender: the problem details of RFC 9457.
///
/// Nothing of it is secret: what is for operators belongs in the log.
public struct Problem: Error, Sendable {
  /// The status of the answer.
  public var status: HTTPResponseStatus

  /// A stable slug that programs tell problems apart by, such as `not-found`.
  public var code: String

  /// What kind of problem it is, in words that are the same for every problem of the code.
  public var title: String

  /// What is wrong with this request.
  public var detail: String?

  /// What is wrong with which part of the input.
  public var errors: [ProblemError]

  /// The extension members that are numbers (RFC 9457, section 3.2), each name once, in the order in which they are sent.
  public var counts: [(name: String, value: Int)] = []

  /// Header fields of the answer beside `Content-Type`, such as `Allow` and `Retry-After`.
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

  /// 500 `internal`, which tells nothing more.
  public static let `internal` = Problem(
    .internalServerError,
    code: "internal",
    detail: "the server could not answer; the error is logged with the request id"
  )
}

/// What is wrong with one part of the input.
public struct ProblemError: Hashable, Sendable {
  /// Which part of a request is meant.
  public enum Location: Hashable, Sendable {
    /// A parameter of the query or the path.
    case parameter(String)
    /// A place in the body, as a JSON pointer (RFC 6901).
    case pointer(String)
    /// One of the rows that the body is made of, by its number and the line on which it starts, both counted from 1.
    case row(Int, line: Int? = nil)
  }

  /// Which part it is.
  public let location: Location

  /// What is wrong with it; it goes on from the part's name.
  public let detail: String

  /// Creates an error.
  public init(_ location: Location, _ detail: String) {
    self.location = location
    self.detail = detail
  }
}
