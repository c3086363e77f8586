import Foundation

/// The service's description of an error, as problem details (RFC 9457).
///
/// ```swift
/// do {
///   _ = try await waymark.update(place)
/// } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
///   print(problem.detail ?? "")
/// }
/// let problem = ProblemDetails(status: 404, code: .notFound)
/// ```
public struct ProblemDetails: Hashable, Sendable {
  /// The kind of problem, as a stable slug. The service may send others than those named here.
  ///
  /// ```swift
  /// let code = ProblemDetails.Code(rawValue: "quota-exceeded")
  /// ```
  public struct Code: Hashable, Sendable, RawRepresentable {
    /// The slug.
    public let rawValue: String

    /// Creates a code from a slug.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// An error in one part of the request.
  ///
  /// ```swift
  /// let error = ProblemDetails.InputError(location: .parameter("limit"), detail: "must be an integer from 1 to 1000")
  /// let problem = ProblemDetails(status: 400, code: .invalidParameter, errors: [error])
  /// ```
  public struct InputError: Hashable, Sendable {
    /// The part of a request that is invalid.
    ///
    /// ```swift
    /// let location = ProblemDetails.InputError.Location.pointer("/lat")
    /// ```
    public enum Location: Hashable, Sendable {
      /// A query or path parameter.
      case parameter(String)
      /// A location in the body, as a JSON pointer (RFC 6901).
      case pointer(String)
      /// A row of the body, counted from 1.
      case row(Int)
    }

    /// The invalid part; `nil` where the service named none that is known.
    public var location: Location?

    /// The description of the error, which continues the part's name.
    public var detail: String

    /// Creates an error.
    public init(location: Location?, detail: String) {
      self.location = location
      self.detail = detail
    }
  }

  /// The status of the response.
  public var status: Int

  /// The kind of problem.
  public var code: Code

  /// The title of the kind of problem.
  public var title: String?

  /// The description of this occurrence.
  public var detail: String?

  /// The errors in the parts of the request.
  public var errors: [InputError]

  /// The time after which the service allows a retry.
  public var retryAfter: Duration?

  /// The current entity tag of the place, where a write was rejected because of it.
  package var entityTag: EntityTag?

  /// The identifier of the request, by which the service's operator finds it in the logs.
  public var requestID: String?

  /// Creates problem details.
  public init(
    status: Int, code: Code, title: String? = nil, detail: String? = nil, errors: [InputError] = [],
    retryAfter: Duration? = nil, requestID: String? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.errors = errors
    self.retryAfter = retryAfter
    self.requestID = requestID
  }
}

extension ProblemDetails: CustomStringConvertible {
  /// The technical description.
  public var description: String { detail ?? title ?? "\(status) \(code.rawValue)" }
}

extension ProblemDetails.Code {
  /// A required parameter is missing.
  public static let missingParameter = Self(rawValue: "missing-parameter")
  /// A parameter's value is invalid.
  public static let invalidParameter = Self(rawValue: "invalid-parameter")
  /// A parameter is unknown.
  public static let unknownParameter = Self(rawValue: "unknown-parameter")
  /// The body is malformed.
  public static let malformedBody = Self(rawValue: "malformed-body")
  /// The client is not authenticated.
  public static let unauthenticated = Self(rawValue: "unauthenticated")
  /// The client lacks the permission.
  public static let forbidden = Self(rawValue: "forbidden")
  /// The resource does not exist.
  public static let notFound = Self(rawValue: "not-found")
  /// The body exceeds the service's limit.
  public static let bodyTooLarge = Self(rawValue: "body-too-large")
  /// The address is too long.
  public static let uriTooLong = Self(rawValue: "uri-too-long")
  /// The origin belongs to another place, or the same place or key is being written concurrently.
  public static let conflict = Self(rawValue: "conflict")
  /// The precondition of a write failed: the place has a different version.
  public static let versionMismatch = Self(rawValue: "version-mismatch")
  /// The place is invalid.
  public static let invalidPlace = Self(rawValue: "invalid-place")
  /// The replacement of a source would delete more of its places than allowed.
  public static let tooManyDeletions = Self(rawValue: "too-many-deletions")
  /// The service requires a precondition for writes.
  public static let ifMatchRequired = Self(rawValue: "if-match-required")
  /// The idempotency key was used for a different request.
  public static let idempotencyKeyReused = Self(rawValue: "idempotency-key-reused")
  /// The client exceeded its rate limit.
  public static let rateLimited = Self(rawValue: "rate-limited")
  /// The service failed.
  public static let `internal` = Self(rawValue: "internal")
  /// The call or a condition needs the service's index of places, which is turned off.
  public static let notImplemented = Self(rawValue: "not-implemented")
  /// The evaluation of a condition, an area or a route took longer than the service allows.
  public static let filterTimeout = Self(rawValue: "filter-timeout")
  /// The service's store is unavailable.
  public static let storeUnavailable = Self(rawValue: "store-unavailable")
  /// The service is overloaded.
  public static let overloaded = Self(rawValue: "overloaded")
  /// The service's store timed out.
  public static let storeTimeout = Self(rawValue: "store-timeout")
  /// The outcome of a write is unknown.
  public static let outcomeUnknown = Self(rawValue: "outcome-unknown")
}

extension ProblemDetails {
  /// Creates the problem details of a response; `nil` where its body is not of that type.
  ///
  /// Decoding is lenient: a member of an unexpected type is ignored, because status and headers matter most.
  init?(_ response: HTTPResponse, retryAfter: Duration?) {
    guard response.mediaType == "application/problem+json",
      let body = try? JSONDecoder().decode(Body.self, from: response.body)
    else { return nil }
    self.init(
      status: response.status,
      code: Code(rawValue: body.code ?? ""),
      title: body.title,
      detail: body.detail,
      errors: body.errors,
      retryAfter: retryAfter,
      requestID: response.requestID
    )
    entityTag = response.entityTag
  }

  private struct Body: Decodable {
    private enum CodingKeys: CodingKey {
      case code, title, detail, errors
    }

    let code: String?
    let title: String?
    let detail: String?
    let errors: [InputError]

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      code = try? members.decode(String.self, forKey: .code)
      title = try? members.decode(String.self, forKey: .title)
      detail = try? members.decode(String.self, forKey: .detail)
      errors = (try? members.decode([ErrorBody].self, forKey: .errors))?.map(\.error) ?? []
    }
  }

  private struct ErrorBody: Decodable {
    private enum CodingKeys: CodingKey {
      case parameter, pointer, row, detail
    }

    let error: InputError

    init(from decoder: any Decoder) throws {
      let members = try decoder.container(keyedBy: CodingKeys.self)
      var location: InputError.Location?
      if let name = try? members.decode(String.self, forKey: .parameter) {
        location = .parameter(name)
      } else if let pointer = try? members.decode(String.self, forKey: .pointer) {
        location = .pointer(pointer)
      } else if let number = try? members.decode(Int.self, forKey: .row) {
        location = .row(number)
      }
      error = InputError(location: location, detail: (try? members.decode(String.self, forKey: .detail)) ?? "")
    }
  }
}
