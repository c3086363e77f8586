/// Why the service refused or failed, in its own words: problem details (RFC 9457).
public struct ProblemDetails: Hashable, Sendable {
  /// What kind of problem it is, by a slug that stays the same. There may be others than those named here.
  public struct Code: Hashable, Sendable, RawRepresentable {
    /// The slug.
    public let rawValue: String

    /// Takes a slug.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }
  }

  /// What is wrong with one part of the request.
  public struct InputError: Hashable, Sendable {
    /// Which part of a request is meant.
    public enum Location: Hashable, Sendable {
      /// A parameter of the query or the path.
      case parameter(String)
      /// A place in the body, as a JSON pointer (RFC 6901).
      case pointer(String)
      /// One of the rows that the body is made of, by its number, counted from 1.
      case row(Int)
    }

    /// Which part it is; `nil` where the service named none that is known.
    public var location: Location?

    /// What is wrong with it; it goes on from the part's name.
    public var detail: String

    /// Creates an error.
    public init(location: Location?, detail: String) {
      self.location = location
      self.detail = detail
    }
  }

  /// The status of the answer.
  public var status: Int

  /// What kind of problem it is.
  public var code: Code

  /// The kind in words.
  public var title: String?

  /// What is wrong with this request.
  public var detail: String?

  /// What is wrong with which part of the input.
  public var errors: [InputError]

  /// How long the service asks to be left alone.
  public var retryAfter: Duration?

  /// What the place's entity tag is by now, where a write was refused because of it.
  public var entityTag: EntityTag?

  /// Creates the details of a problem.
  public init(
    status: Int, code: Code, title: String? = nil, detail: String? = nil, errors: [InputError] = [],
    retryAfter: Duration? = nil, entityTag: EntityTag? = nil
  ) {
    self.status = status
    self.code = code
    self.title = title
    self.detail = detail
    self.errors = errors
    self.retryAfter = retryAfter
    self.entityTag = entityTag
  }
}

extension ProblemDetails: CustomStringConvertible {
  /// What a user is told.
  public var description: String { detail ?? title ?? "\(status) \(code.rawValue)" }
}

extension ProblemDetails.Code {
  /// A parameter that must be there is not.
  public static let missingParameter = Self(rawValue: "missing-parameter")
  /// A parameter's value breaks a rule.
  public static let invalidParameter = Self(rawValue: "invalid-parameter")
  /// There is no such parameter.
  public static let unknownParameter = Self(rawValue: "unknown-parameter")
  /// The body can't be read.
  public static let malformedBody = Self(rawValue: "malformed-body")
  /// The service does not know who asks.
  public static let unauthenticated = Self(rawValue: "unauthenticated")
  /// Who asks may not.
  public static let forbidden = Self(rawValue: "forbidden")
  /// There is no such place.
  public static let notFound = Self(rawValue: "not-found")
  /// The body is longer than the service takes.
  public static let bodyTooLarge = Self(rawValue: "body-too-large")
  /// The origin is another place's, or the same place or key is being written at this moment.
  public static let conflict = Self(rawValue: "conflict")
  /// The condition of a write does not hold: the place is of another version by now.
  public static let versionMismatch = Self(rawValue: "version-mismatch")
  /// The place breaks a rule.
  public static let invalidPlace = Self(rawValue: "invalid-place")
  /// The service takes no write without a condition.
  public static let ifMatchRequired = Self(rawValue: "if-match-required")
  /// The key was sent with another request before.
  public static let idempotencyKeyReused = Self(rawValue: "idempotency-key-reused")
  /// There were too many requests.
  public static let rateLimited = Self(rawValue: "rate-limited")
  /// The service failed.
  public static let `internal` = Self(rawValue: "internal")
  /// The places can't be reached at the moment.
  public static let storeUnavailable = Self(rawValue: "store-unavailable")
  /// The service has too much to do.
  public static let overloaded = Self(rawValue: "overloaded")
  /// The places took too long to answer.
  public static let storeTimeout = Self(rawValue: "store-timeout")
  /// A write may have been made or not.
  public static let outcomeUnknown = Self(rawValue: "outcome-unknown")
}
