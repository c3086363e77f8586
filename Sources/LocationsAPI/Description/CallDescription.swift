import HTTPServer
import Basics
import JSONText
import NIOHTTP1
import PointFormats

/// The description of a call, for the OpenAPI documents.
///
/// The route table has the call's method, path, scope and the names of its parameters; the rest is here. Each route has
/// one description in ``all``.
struct CallDescription: Sendable {
  /// A group of calls.
  enum Group: String, CaseIterable {
    case search = "Search"
    case photon = "Photon"
    case features = "OGC API Features"
    case map = "Maps"
    case write = "Write"
    case transfer = "Import and export"
    case operations = "Operations"
    case description = "Description"

    var description: String {
      switch self {
      case .search: "Find and read places."
      case .photon:
        "The calls of Photon's API, for apps and libraries that are made for it. Languages are those of `lang`, or else"
          + " of `Accept-Language`."
      case .features: "The places as features, for GIS tools (OGC 17-069r4)."
      case .map: "Vector tiles, clusters and counts."
      case .write: "Create, replace, change and delete places."
      case .transfer: "Import and export many places as a stream."
      case .operations: "Health, metrics, search analytics and backup."
      case .description: "The description of the service itself."
      }
    }
  }

  let method: HTTPMethod
  let path: String
  /// The name of the call for programs, `operationId`.
  let id: String
  let group: Group
  let summary: String
  var description = ""
  /// The descriptions of parameters that differ from those of ``Parameter``, by name.
  var parameters: KeyValuePairs<String, ParameterDescription> = [:]
  var requestHeaders: [HeaderDescription] = []
  var body: BodyDescription?
  var responses: [ResponseDescription]
  /// The problems of the call; those of every call and those of its scope are added.
  var problems: Set<ProblemDescription> = []

  /// Returns the call's own description of a parameter; `nil` where it has none.
  func parameter(_ name: String) -> ParameterDescription? {
    parameters.first { $0.key.hasSameBytes(as: name) }?.value
  }

  /// The descriptions of all calls.
  static let all =
    reading + names + photon + maps + features + writing + transfer + operations + descriptions

  /// Returns the description of a route; `nil` where it is missing.
  static func of(_ method: HTTPMethod, _ path: String) -> CallDescription? {
    all.first { $0.method == method && $0.path.utf8.elementsEqual(path.utf8) }
  }
}

/// A representation of a body.
struct MediaDescription: Sendable {
  let type: String
  let schema: Schema
  var example: JSONValue?

  init(_ type: String, _ schema: Schema, example: JSONValue? = nil) {
    self.type = type
    self.schema = schema
    self.example = example
  }

  init(_ format: PointFormat, _ schema: Schema, example: JSONValue? = nil) {
    self.init(format.mediaType, schema, example: example)
  }
}

/// The description of a request's body.
struct BodyDescription: Sendable {
  let description: String
  let media: [MediaDescription]
}

/// The description of a response that is no problem.
struct ResponseDescription: Sendable {
  let status: Int
  let description: String
  var headers: [HeaderDescription] = []
  var media: [MediaDescription] = []

  init(_ status: Int, _ description: String, headers: [HeaderDescription] = [], media: [MediaDescription] = []) {
    self.status = status
    self.description = description
    self.headers = headers
    self.media = media
  }

  /// 304 with these header fields.
  static func notModified(_ headers: [HeaderDescription]) -> ResponseDescription {
    .init(304, "The client has the current representation.", headers: headers)
  }
}

/// A problem that a call may have, by its status and its code.
struct ProblemDescription: Hashable, Sendable {
  let status: Int
  let code: ProblemCode

  init(_ status: Int, _ code: ProblemCode) {
    self.status = status
    self.code = code
  }

  /// The problems of a call whose parameters are checked.
  static let parameters: Set = [
    ProblemDescription(400, .invalidParameter), .init(400, .unknownParameter), .init(400, .missingParameter),
  ]

  /// The problem of a call that chooses a representation by `Accept`.
  static let acceptance: Set = [ProblemDescription(406, .notAcceptable)]

  /// The problems of a call that needs the store.
  static let store: Set = [
    ProblemDescription(503, .storeUnavailable), .init(503, .storeMisconfigured), .init(503, .overloaded),
    .init(504, .storeTimeout),
  ]

  /// The problems of a call that needs the index of places in memory.
  static let index: Set = [ProblemDescription(501, .notImplemented), .init(503, .indexNotReady)]

  /// The problems of a call with the parameter `filter`.
  static let filter: Set = index.union([.init(503, .filterTimeout)])

  /// The problems of a call with a body.
  static let body: Set = [
    ProblemDescription(400, .malformedBody), .init(408, .requestTimeout), .init(413, .bodyTooLarge),
    .init(415, .unsupportedMediaType), .init(422, .invalidPlace),
  ]

  /// The problems of a call with a body that is a search.
  static let query = body.subtracting([.init(422, .invalidPlace)])

  /// The problems of a call that changes places, beside those of the store.
  static let change: Set = store.union([.init(504, .outcomeUnknown)])

  /// The problems of a call with preconditions.
  static let preconditions: Set = [
    ProblemDescription(400, .invalidParameter), .init(412, .versionMismatch), .init(428, .ifMatchRequired),
  ]

  /// The problems of `If-Match` in a read.
  static let readConditions: Set = [ProblemDescription(400, .invalidParameter), .init(412, .versionMismatch)]

  /// The problems of a call with an `Idempotency-Key`.
  static let idempotency: Set = [
    ProblemDescription(400, .invalidParameter), .init(409, .conflict), .init(422, .idempotencyKeyReused),
  ]

  static let notFound = ProblemDescription(404, .notFound)

  /// The problems that the server itself may report for any request.
  static let ofEveryCall: Set = [
    ProblemDescription(400, .malformedRequest), .init(408, .requestTimeout), .init(414, .uriTooLong),
    .init(429, .rateLimited), .init(431, .headersTooLarge), .init(500, .internal), .init(503, .overloaded),
  ]

  /// The problems of a call that needs access.
  static func access(_ scope: AccessScope?) -> Set<ProblemDescription> {
    guard scope != nil else { return [] }
    return [.init(401, .unauthenticated), .init(403, .forbidden), .init(503, .tokenKeysUnavailable)]
  }
}

/// The codes of problems.
enum ProblemCode: String, CaseIterable {
  case missingParameter = "missing-parameter"
  case invalidParameter = "invalid-parameter"
  case unknownParameter = "unknown-parameter"
  case malformedBody = "malformed-body"
  case malformedRequest = "malformed-request"
  case unauthenticated
  case forbidden
  case notFound = "not-found"
  case methodNotAllowed = "method-not-allowed"
  case notAcceptable = "not-acceptable"
  case requestTimeout = "request-timeout"
  case conflict
  case versionMismatch = "version-mismatch"
  case bodyTooLarge = "body-too-large"
  case uriTooLong = "uri-too-long"
  case unsupportedMediaType = "unsupported-media-type"
  case invalidPlace = "invalid-place"
  case idempotencyKeyReused = "idempotency-key-reused"
  case ifMatchRequired = "if-match-required"
  case rateLimited = "rate-limited"
  case headersTooLarge = "headers-too-large"
  case `internal`
  case notImplemented = "not-implemented"
  case storeUnavailable = "store-unavailable"
  case storeMisconfigured = "store-misconfigured"
  case overloaded
  case indexNotReady = "index-not-ready"
  case filterTimeout = "filter-timeout"
  case tokenKeysUnavailable = "token-keys-unavailable"
  case storeTimeout = "store-timeout"
  case outcomeUnknown = "outcome-unknown"
}
