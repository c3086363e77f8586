import JSONText

/// The description of a header field of requests or of responses.
package struct HeaderDescription: Sendable {
  package let name: String
  let description: String
  let schema: Schema
  package var isRequired = false

  package init(_ name: String, _ description: String, _ schema: Schema, isRequired: Bool = false) {
    self.name = name
    self.description = description
    self.schema = schema
    self.isRequired = isRequired
  }

  /// The field where it is always present.
  package var required: HeaderDescription {
    var header = self
    header.isRequired = true
    return header
  }

  // MARK: Requests

  /// The pattern of `*` or a list of entity tags.
  private static let entityTags: JSONValue = "^(\\*|(W/)?\"[^\"]*\"([ \\t]*,[ \\t]*(W/)?\"[^\"]*\")*)$"

  package static let ifMatch = HeaderDescription(
    "If-Match", "Applies the change only to a version with one of these entity tags, or to any version (`*`).",
    Schema(.string, nil, ["pattern": entityTags], example: "\"3\""))

  package static let ifNoneMatch = HeaderDescription(
    "If-None-Match", "Gets 304 while the representation has one of these entity tags.",
    Schema(.string, nil, example: "\"3\""))

  package static let ifAbsent = HeaderDescription(
    "If-None-Match", "`*` applies the change only if there is no such place.", .oneOf(["*"]))

  package static let idempotencyKey = HeaderDescription(
    "Idempotency-Key",
    "A string of the client's choice: a repeat with the same key within a day gets the first response and changes"
      + " nothing.",
    Schema(.string, nil, ["pattern": "^[\\x21-\\x7E]{1,255}$"], example: "order-17"))

  package static let minimumPosition = HeaderDescription(
    "Waymark-Min-Position",
    "A value of `Waymark-Position`: the response contains that write. Ignored by a store without positions.",
    Schema(.string))

  package static let lastEventID = HeaderDescription(
    "Last-Event-ID", "Position of the last event of a stream, in place of `since`.", Schema(.string))

  package static let acceptLanguage = HeaderDescription(
    "Accept-Language", "Preferred languages (RFC 9110): of pages, and of names if `lang` is not given.",
    Schema(.string, nil, example: "ko, en;q=0.8"))

  // MARK: Responses

  package static let entityTag = HeaderDescription(
    "ETag", "Entity tag of the representation.",
    Schema(.string, nil, ["pattern": "^(W/)?\"[^\"]*\"$"], example: "\"3\""))

  package static let cacheControl = HeaderDescription(
    "Cache-Control", "Directives for caches.", Schema(.string, nil, example: "no-cache"))

  package static let vary = HeaderDescription(
    "Vary", "Request fields that select the representation.", Schema(.string, nil, example: "accept, accept-encoding"))

  package static let link = HeaderDescription(
    "Link", "Target of the next page, with relation `next`; absent on the last page.",
    Schema(.string, nil, example: "<?limit=20&cursor=AbC>; rel=\"next\""))

  package static let contentLanguage = HeaderDescription(
    "Content-Language", "Language of a page, or languages of the names that were replaced; absent if none was.",
    Schema(.string, nil, example: "ko, en"))

  package static let location = HeaderDescription(
    "Location", "Reference to the new place.",
    Schema(.string, nil, ["format": "uri-reference"], example: .string("locations/\(Examples.id)")))

  package static let age = HeaderDescription(
    "Age", "Seconds since the response was current, if the database is unavailable.",
    Schema(.integer, nil, ["minimum": 0]))

  package static let position = HeaderDescription(
    "Waymark-Position", "Position after the write, for `Waymark-Min-Position`, if the store has positions.",
    Schema(.string))

  package static let exportPosition = HeaderDescription(
    "Waymark-Position", "Position that the places are of, for `since` of `/changes`, if the store has positions.",
    Schema(.string))

  package static let area = HeaderDescription(
    "Waymark-Area", "Id of the area of `in`, or else of the area or place that `q` names behind a word for near.",
    Schema(.string, nil, ["format": "uuid"], example: .string(Examples.id)))

  package static let contentDisposition = HeaderDescription(
    "Content-Disposition", "Name for the file.", Schema(.string, nil, example: "attachment; filename=\"locations.csv\"")
  )

  package static let securityPolicy = HeaderDescription(
    "Content-Security-Policy", "Origins from which the page may load.", Schema(.string))

  static let authenticate = HeaderDescription(
    "WWW-Authenticate", "Challenge (RFC 6750).", Schema(.string, nil, example: "Bearer realm=\"waymark\""))

  static let retryAfter = HeaderDescription(
    "Retry-After", "Seconds after which to repeat the request.", Schema(.integer, nil, ["minimum": 0]))

  static let acceptPost = HeaderDescription("Accept-Post", "Accepted media types of a body.", Schema(.string))

  static let acceptPatch = HeaderDescription("Accept-Patch", "Accepted media types of a patch.", Schema(.string))

  static let rateLimitPolicy = HeaderDescription(
    "RateLimit-Policy", "Limit of the client's requests, if there is one.",
    Schema(.string, nil, example: "\"default\";q=20;w=2"))

  static let rateLimit = HeaderDescription(
    "RateLimit", "Remaining requests, if there is a limit.", Schema(.string, nil, example: "\"default\";r=19;t=1"))

  static let requestID = HeaderDescription(
    "X-Request-Id", "Identifier of the request in the server's log.", Schema(.string, nil, ["maxLength": 128]))

  /// The fields of every response.
  static let ofEveryResponse = [requestID, rateLimitPolicy, rateLimit]

  /// Returns the fields of a problem of a status, beside those of every response.
  static func ofProblem(_ status: Int) -> [HeaderDescription] {
    switch status {
    case 401: [authenticate.required]
    case 403: [authenticate]
    case 409, 503: [retryAfter]
    case 412: [entityTag]
    case 415: [acceptPost, acceptPatch]
    case 429: [retryAfter.required]
    default: []
    }
  }
}
