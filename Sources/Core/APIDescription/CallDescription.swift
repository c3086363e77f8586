import Basics
package import HTTPServer
package import JSONText
package import NIOHTTP1
package import PointFormats

/// The description of a call, as a document has it.
package struct CallDescription: Sendable {
  /// A parameter of the path or the query.
  package struct Parameter: Sendable {
    package enum Place: String, Sendable {
      case path, query
    }

    package let name: String
    package let place: Place
    package var description: ParameterDescription

    /// A Boolean value that indicates whether it is a component of the document, to which its calls refer.
    package var isShared: Bool

    package init(_ name: String, in place: Place, _ description: ParameterDescription, isShared: Bool = false) {
      self.name = name
      self.place = place
      self.description = description
      self.isShared = isShared
    }
  }

  package let method: HTTPMethod
  package var path: String

  /// The name of the call for programs, `operationId`.
  package var id: String
  package let group: CallGroup
  package let scope: AccessScope?
  package let summary: String
  package let description: String
  package var parameters: [Parameter]

  /// A Boolean value that indicates whether the call has the parameters `tag.KEY`, whose names a document cannot list.
  package let hasTagConditions: Bool

  /// The header fields of requests.
  package let requestHeaders: [HeaderDescription]
  package let body: BodyDescription?

  /// The responses that are no problems.
  package let responses: [ResponseDescription]
  package let problems: Set<ProblemDescription>

  package init(
    _ method: HTTPMethod, _ path: String, id: String, group: CallGroup, scope: AccessScope?, summary: String,
    description: String, parameters: [Parameter], hasTagConditions: Bool, requestHeaders: [HeaderDescription],
    body: BodyDescription?, responses: [ResponseDescription], problems: Set<ProblemDescription>
  ) {
    self.method = method
    self.path = path
    self.id = id
    self.group = group
    self.scope = scope
    self.summary = summary
    self.description = description
    self.parameters = parameters
    self.hasTagConditions = hasTagConditions
    self.requestHeaders = requestHeaders
    self.body = body
    self.responses = responses
    self.problems = problems
  }

  /// The schemas of parameters, header fields and bodies.
  fileprivate var schemas: [Schema] {
    ((body?.media ?? []) + responses.flatMap(\.media)).map(\.schema)
      + (requestHeaders + responses.flatMap(\.headers)).map(\.schema)
      + parameters.map(\.description.schema) + [.problem]
  }
}

extension [CallDescription] {
  /// The components that the calls refer to, in the order of documents.
  package var components: [Schema.Component] { flatMap(\.schemas).components }
}

/// A group of calls. Those of calls that can be left out are declared beside them.
package struct CallGroup: Hashable, Sendable {
  package let name: String
  /// The place in a document, which has groups of lower numbers first.
  package let order: Int
  package let description: String

  package init(name: String, order: Int, description: String) {
    self.name = name
    self.order = order
    self.description = description
  }

  package static let search = CallGroup(name: "Search", order: 10, description: "Find and read places.")
  package static let map = CallGroup(name: "Maps", order: 60, description: "Vector tiles, clusters and counts.")
  package static let write = CallGroup(
    name: "Write", order: 70, description: "Create, replace, change and delete places.")
  package static let transfer = CallGroup(
    name: "Import and export", order: 90, description: "Import and export many places as a stream.")
  package static let changes = CallGroup(name: "Changes", order: 110, description: "Follow what changes.")
  package static let operations = CallGroup(
    name: "Operations", order: 120, description: "Health, metrics, search analytics and backup.")
  package static let description = CallGroup(
    name: "Description", order: 130, description: "The description of the service itself.")
}

/// A representation of a body.
package struct MediaDescription: Sendable {
  package let type: String
  package let schema: Schema
  package var example: JSONValue?

  package init(_ type: String, _ schema: Schema, example: JSONValue? = nil) {
    self.type = type
    self.schema = schema
    self.example = example
  }

  package init(_ format: PointFormat, _ schema: Schema, example: JSONValue? = nil) {
    self.init(format.mediaType, schema, example: example)
  }
}

extension [MediaDescription] {
  /// The representations of a list of places.
  package static let places: [MediaDescription] = [
    .init(.json, Schema(.array(of: .place)), example: [Examples.found]),
    .init(.geoJSON, .featureCollection, example: Examples.collection),
    .init(.geoJSONSequence, Schema(.string, "Features (RFC 8142)."), example: Examples.sequence),
    .init(.csv, Schema(.string, "A header row and a row for each place (RFC 4180)."), example: Examples.csv),
  ]

  /// The representations of one place.
  package static let place: [MediaDescription] = [
    .init(.json, .place, example: Examples.place),
    .init(.geoJSON, .feature, example: Examples.feature),
    .init(.geoJSONSequence, Schema(.string, "One Feature (RFC 8142)."), example: Examples.sequence),
    .init(.csv, Schema(.string, "A header row and a row (RFC 4180)."), example: Examples.csv),
  ]

  /// A representation as JSON.
  package static func json(_ schema: Schema, example: JSONValue? = nil) -> [MediaDescription] {
    [.init(.json, schema, example: example)]
  }

  /// The representations of an OpenAPI document.
  package static func openAPI(_ version: OpenAPIVersion) -> [MediaDescription] {
    [version.mediaType, "application/json"].map {
      .init($0, .openAPIDocument)
    }
  }
}

/// The description of a request's body.
package struct BodyDescription: Sendable {
  package let description: String
  package let isRequired: Bool
  package let media: [MediaDescription]

  package init(description: String, isRequired: Bool = true, media: [MediaDescription]) {
    self.description = description
    self.isRequired = isRequired
    self.media = media
  }
}

/// The description of a response that is not a problem.
package struct ResponseDescription: Sendable {
  package let status: Int
  package let description: String
  package var headers: [HeaderDescription]
  package let media: [MediaDescription]

  package init(_ status: Int, _ description: String, headers: [HeaderDescription] = [], media: [MediaDescription] = [])
  {
    self.status = status
    self.description = description
    self.headers = headers
    self.media = media
  }

  /// The response to a write, with the place as it is now.
  package static func written(
    _ status: Int, _ description: String, headers: [HeaderDescription] = [], media: [MediaDescription]
  ) -> ResponseDescription {
    .init(
      status, description, headers: (status == 201 ? [.location.required] : []) + [.entityTag.required] + headers,
      media: media)
  }
}

/// A problem that a call may have, by its status and its code.
package struct ProblemDescription: Hashable, Sendable {
  package let status: Int
  package let code: ProblemCode

  package init(_ status: Int, _ code: ProblemCode) {
    self.status = status
    self.code = code
  }

  package static let notFound = ProblemDescription(404, .notFound)

  /// The problems of a search that only an index can make.
  package static let index: Set = [
    ProblemDescription(501, .notImplemented), .init(503, .indexNotReady), .init(503, .filterTimeout),
  ]
}

package enum ProblemCode: String, CaseIterable {
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
  case positionExpired = "position-expired"
  case versionMismatch = "version-mismatch"
  case bodyTooLarge = "body-too-large"
  case uriTooLong = "uri-too-long"
  case unsupportedMediaType = "unsupported-media-type"
  case invalidPlace = "invalid-place"
  case tooManyDeletions = "too-many-deletions"
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
