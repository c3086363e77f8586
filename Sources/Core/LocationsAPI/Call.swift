package import APIDescription
import Basics
package import HTTPServer
import JSONText
package import NIOHTTP1
import PointFormats

/// A call of the service: its route and its description. Its handler declares it, so that one file has all of a call.
///
/// The rest is derived from the method, the path, the scope, the parameters, the body and the caching:
/// the header fields of requests and responses, the response 304, and the problems.
package struct Call: Sendable {
  /// The ways in which caches may keep a response, and clients revalidate it.
  package enum Caching {
    /// No directives, as in the response to a write.
    case unstated
    /// `Cache-Control: no-store`.
    case forbidden
    /// For a time, without a validator.
    case timed
    /// By an entity tag of the resource itself; `isAlwaysTagged` where each response has one.
    case tagged(isAlwaysTagged: Bool = true)
    /// By the version of the data, which a response may lack.
    case versioned

    fileprivate var fields: [HeaderDescription] {
      switch self {
      case .unstated: []
      case .forbidden: [.cacheControl]
      case .timed: [.cacheControl, .vary]
      case .tagged(let isAlwaysTagged): [isAlwaysTagged ? .entityTag.required : .entityTag, .cacheControl, .vary]
      case .versioned: [.entityTag, .cacheControl, .vary]
      }
    }

    fileprivate var conditions: [HeaderDescription] {
      switch self {
      case .unstated, .forbidden, .timed: []
      case .tagged, .versioned: [.ifNoneMatch]
      }
    }

    fileprivate var notModified: ResponseDescription? {
      let fields: [HeaderDescription]
      switch self {
      case .unstated, .forbidden, .timed: return nil
      case .tagged: fields = Caching.tagged().fields
      case .versioned: fields = self.fields
      }
      return .init(304, "The client has the current representation.", headers: fields)
    }
  }

  package let method: HTTPMethod
  package let path: String

  /// Further paths of the call, which clients of another service send. The description names them.
  private(set) var aliases: [String]
  let scope: AccessScope?

  /// A Boolean value that indicates whether the call joins the restriction of its sender to what it reads and changes.
  /// Senders with a restriction may make no other call that needs a scope.
  let joinsRestriction: Bool

  /// The parameters of the query that ``ParameterValues`` reads.
  package let parameters: [Parameter]

  /// The uses of areas, which are read before the other parameters; `nil` for a call that reads none so.
  let areas: AreaUse?

  /// The names of all parameters of the query.
  package let parameterNames: [String]

  /// A Boolean value that indicates whether other parameters than ``parameters`` are ignored, as by a service whose
  /// clients make the call.
  package let ignoresOtherParameters: Bool

  let bodyLimit: Route.BodyLimit

  /// The name of the call for programs, `operationId`.
  package let id: String
  let group: CallGroup

  /// The name under which `GET /` links to the call; `nil` for none.
  let link: String?
  let summary: String
  private(set) var description: String

  /// The header fields of requests.
  private(set) var requestHeaders: [HeaderDescription]
  let body: BodyDescription?

  /// The responses that are no problems.
  package private(set) var responses: [ResponseDescription]
  package private(set) var problems: Set<ProblemDescription>

  private let ownDescriptions: [(key: String, value: ParameterDescription)]

  /// Declares a call.
  ///
  /// - Parameters:
  ///   - aliases: further paths of the call.
  ///   - joinsRestriction: a Boolean value that indicates whether senders with a restriction may make the call.
  ///   - isIdempotent: a Boolean value that indicates whether a repeat has no further effect, so that the call takes no
  ///     `Idempotency-Key`.
  ///   - areas: the uses of areas; `nil` for none but that of the parameter `in`.
  ///   - ownParameters: the parameters that are described with the call itself, since others have their names.
  ///   - otherParameters: the names and the descriptions of parameters of the query that are no constants.
  ///   - ignoresQuery: a Boolean value that indicates whether unknown parameters are accepted.
  ///   - ignoresOtherParameters: a Boolean value that indicates whether the call ignores parameters that it does not declare.
  ///   - describing: the descriptions of parameters that differ from those of ``Parameter``, by name.
  ///   - requestHeaders: the header fields beside those that follow.
  ///   - responses: the responses that are no problems, without the header fields that follow, and without 304.
  ///   - problems: the problems beside those that follow.
  package init(
    _ method: HTTPMethod, _ path: String, aliases: [String] = [], scope: AccessScope? = nil,
    joinsRestriction: Bool = false, id: String, group: CallGroup, link: String? = nil, summary: String,
    description: String = "", isIdempotent: Bool = false,
    parameters: [Parameter] = [], ownParameters: [Parameter] = [], areas: AreaUse? = nil,
    otherParameters: [(key: String, value: ParameterDescription)] = [], ignoresQuery: Bool = false,
    ignoresOtherParameters: Bool = false,
    describing ownDescriptions: KeyValuePairs<String, ParameterDescription> = [:],
    requestHeaders: [HeaderDescription] = [], body: BodyDescription? = nil,
    bodyLimit: Route.BodyLimit = .serverDefault, caching: Caching = .unstated, responses: [ResponseDescription],
    problems: Set<ProblemDescription> = []
  ) {
    self.method = method
    self.path = path
    self.aliases = aliases
    self.scope = scope
    self.joinsRestriction = joinsRestriction
    let parameters = parameters + ownParameters
    self.parameters = parameters
    self.areas = areas ?? (parameters.contains(.area) ? .named : nil)
    parameterNames = parameters.map(\.name) + otherParameters.map(\.key)
    self.ignoresOtherParameters = ignoresOtherParameters
    self.bodyLimit = bodyLimit
    self.id = id
    self.group = group
    self.link = link
    self.summary = summary
    let refusal = scope == nil || joinsRestriction ? "" : "Not for keys and tokens with a filter or areas."
    let leniency = ignoresOtherParameters ? "Other parameters are ignored." : ""
    let others = aliases.isEmpty ? "" : "Also " + aliases.map { "`\($0)`" }.joined(separator: ", ") + "."
    self.description = [description, leniency, others, refusal].filter { !$0.isEmpty }.joined(separator: " ")
    self.body = body
    self.ownDescriptions = ownDescriptions + otherParameters + ownParameters.map { ($0.name, $0.description) }
    let isKeyed = scope == .write && method == .POST && !isIdempotent
    let isConditional = scope == .write && path.hasSuffix("{id}")
    self.requestHeaders =
      caching.conditions + (scope == .read ? [.minimumPosition] : []) + requestHeaders
      + (isKeyed ? [.idempotencyKey] : []) + (isConditional ? [.ifMatch, .ifAbsent] : [])
    let fields =
      (scope == .read ? [HeaderDescription.age] : scope == .write ? [.position] : [])
      + (parameters.contains(.area) ? [.area] : [])
    self.responses =
      responses.map { $0.adding(caching.fields + fields) } + (caching.notModified.map { [$0.adding(fields)] } ?? [])

    var all = problems.union(ProblemDescription.ofEveryCall)
    if scope != nil { all.formUnion(ProblemDescription.access.union(ProblemDescription.store)) }
    if scope == .write { all.insert(.init(504, .outcomeUnknown)) }
    if method == .GET { all.formUnion(ProblemDescription.readConditions) }
    if !ignoresQuery {
      all.formUnion(ProblemDescription.parameters)
      if method == .GET || parameters.contains(.format) { all.insert(.init(406, .notAcceptable)) }
    }
    if parameterNames.contains(where: { ["filter", "q"].contains($0) }) { all.formUnion(ProblemDescription.index) }
    // `PUT` creates what the last segment names.
    if path.utf8.count(where: { $0 == UInt8(ascii: "{") }) > (method == .PUT ? 1 : 0) { all.insert(.notFound) }
    if ignoresOtherParameters { all.remove(.init(400, .unknownParameter)) }
    if body != nil { all.formUnion(ProblemDescription.body) }
    if body != nil, scope == .write, !isIdempotent {
      all.formUnion([.init(409, .conflict), .init(422, .invalidPlace)])
    }
    if isKeyed { all.insert(.init(422, .idempotencyKeyReused)) }
    if isConditional { all.formUnion([.init(412, .versionMismatch), .init(428, .ifMatchRequired)]) }
    self.problems = all
  }

  /// Returns the call with its handler.
  package func handled(by handler: any RouteHandler) -> Endpoint { handled { _ in handler } }

  /// Returns the call with a handler that describes the calls of the service.
  package func handled(describing handler: @escaping @Sendable (_ calls: [Call]) -> any RouteHandler) -> Endpoint {
    Endpoint(call: self, handler: handler)
  }

  /// The URI template (RFC 6570) of the call.
  var template: String { path + (parameterNames.isEmpty ? "" : "{?\(parameterNames.joined(separator: ","))}") }

  /// Returns the description of a parameter that is not a component of documents; `nil` for one that is.
  func ownDescription(_ name: String) -> ParameterDescription? {
    ownDescriptions.first { $0.key.hasSameBytes(as: name) }?.value
  }

  /// The names of the parameters that have a description of their own.
  var describedNames: [String] { ownDescriptions.map(\.key) }

  /// The description for documents.
  package var documented: CallDescription {
    let inPath = path.split(separator: "/").filter { $0.hasPrefix("{") }.map { segment in
      let name = String(segment.dropFirst().prefix { $0 != "}" })
      return CallDescription.Parameter(name, in: .path, ownDescription(name) ?? .id)
    }
    let inQuery = parameterNames.map { name in
      if let own = ownDescription(name) { return CallDescription.Parameter(name, in: .query, own) }
      let description = parameters.named(name)?.description ?? ParameterDescription(name, Schema(.string))
      return CallDescription.Parameter(name, in: .query, description, isShared: true)
    }
    return CallDescription(
      method, path, id: id, group: group, scope: scope, summary: summary, description: description,
      parameters: inPath + inQuery, hasTagConditions: parameters.contains(.filter), requestHeaders: requestHeaders,
      body: body, responses: responses, problems: problems)
  }

  /// A Boolean value that indicates whether a response is a page.
  fileprivate var isPage: Bool { responses.contains { $0.media.contains { $0.type == "text/html" } } }

  /// Returns the call of a page with the representations for programs that another call of its path has.
  fileprivate func adding(_ other: Call) -> Call {
    var call = self
    call.description = [
      description, "A page for browsers, whose `Accept` names `text/html`, and for requests without `Accept`.",
      "Else: \(other.summary).", other.description,
    ].filter { !$0.isEmpty }.joined(separator: " ")
    call.aliases += other.aliases
    call.requestHeaders += other.requestHeaders.filter { field in !requestHeaders.contains { $0.name == field.name } }
    call.responses = responses.map { response in
      let others = other.responses.first { $0.status == response.status }
      return others.map { response.adding($0) } ?? response
    }
    call.problems.formUnion(other.problems)
    return call
  }
}

/// A call with its handler.
package struct Endpoint: Sendable {
  package let call: Call
  fileprivate let handler: @Sendable (_ calls: [Call]) -> any RouteHandler

  /// Returns the routes, one for each path.
  ///
  /// - Parameter calls: all calls of the service.
  func routes(among calls: [Call]) -> [Route] { routes(to: handler(calls)) }

  /// Returns routes to a handler, one for each path.
  func routes(to handler: any RouteHandler) -> [Route] {
    ([call.path] + call.aliases).map { path in
      Route(call.method, path, scope: call.scope, bodyLimit: call.bodyLimit, handler: handler)
    }
  }
}

extension [Endpoint] {
  /// The calls, a page and the data of one path as one call, whose response depends on `Accept`.
  var joined: [Endpoint] {
    var joined: [Endpoint] = []
    var indexes: [String: Int] = [:]
    for endpoint in self {
      let key = "\(endpoint.call.method.rawValue) \(endpoint.call.path)"
      if let index = indexes[key], joined[index].call.isPage != endpoint.call.isPage {
        let (page, data) = joined[index].call.isPage ? (joined[index], endpoint) : (endpoint, joined[index])
        joined[index] = page.call.adding(data.call).handled { calls in
          SharedPath(page: page.handler(calls), data: data.handler(calls))
        }
      } else {
        indexes[key] = joined.count
        joined.append(endpoint)
      }
    }
    return joined
  }
}

/// The handler of a page and of the data at the same path.
private struct SharedPath: RouteHandler {
  let page: any RouteHandler
  let data: any RouteHandler

  /// Returns the handler that a request prefers. Those that accept neither, or do not say, get the page.
  private func handler(for request: HTTPRequest) -> any RouteHandler {
    let accept = request.headers[canonicalForm: "accept"]
    let preferred = try? MediaRange.preferred(["application/json", "text/html"], mediaType: \.self, accept: accept)
    return accept.isEmpty || preferred != "application/json" ? page : data
  }

  func respondAtOnce(to request: HTTPRequest) throws(Problem) -> HTTPResponse? {
    try handler(for: request).respondAtOnce(to: request)
  }

  func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    try await handler(for: request).respond(to: request)
  }
}

/// The handler of one call, which it declares.
package protocol CallHandler: RouteHandler {
  static var call: Call { get }
}

extension CallHandler {
  package var endpoint: Endpoint { Self.call.handled(by: self) }
}

extension ResponseDescription {
  fileprivate func adding(_ fields: [HeaderDescription]) -> ResponseDescription {
    var response = self
    response.headers += fields
    return response
  }

  /// Returns the response with the representations of another one, and the header fields of both, of which those are
  /// required that both require.
  fileprivate func adding(_ other: ResponseDescription) -> ResponseDescription {
    let all = headers + other.headers.filter { field in !headers.contains { $0.name == field.name } }
    return ResponseDescription(
      status, description,
      headers: all.map { field in
        var field = field
        field.isRequired = [headers, other.headers].allSatisfy { fields in
          fields.contains { $0.name == field.name && $0.isRequired }
        }
        return field
      }, media: media + other.media)
  }
}

extension ProblemDescription {
  /// The problems that the server itself may report for any request.
  fileprivate static let ofEveryCall: Set = [
    ProblemDescription(400, .malformedRequest), .init(408, .requestTimeout), .init(414, .uriTooLong),
    .init(429, .rateLimited), .init(431, .headersTooLarge), .init(500, .internal), .init(503, .overloaded),
  ]

  fileprivate static let access: Set = [
    ProblemDescription(401, .unauthenticated), .init(403, .forbidden), .init(503, .tokenKeysUnavailable),
  ]

  fileprivate static let parameters: Set = [
    ProblemDescription(400, .invalidParameter), .init(400, .unknownParameter), .init(400, .missingParameter),
  ]

  fileprivate static let store: Set = [
    ProblemDescription(503, .storeUnavailable), .init(503, .storeMisconfigured), .init(503, .overloaded),
    .init(504, .storeTimeout),
  ]

  fileprivate static let body: Set = [
    ProblemDescription(400, .malformedBody), .init(408, .requestTimeout), .init(413, .bodyTooLarge),
    .init(415, .unsupportedMediaType),
  ]

  /// The problems of `If-Match` in a read.
  fileprivate static let readConditions: Set = [
    ProblemDescription(400, .invalidParameter), .init(412, .versionMismatch),
  ]
}
