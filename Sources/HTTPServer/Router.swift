import Logging
import NIOHTTP1

/// Finds the handler that a request's method and path name, and turns what handlers throw into answers.
///
/// - A path without parameters wins over one with; among those with, the one whose literal segment comes first.
/// - `HEAD` is served by `GET`. `OPTIONS` answers 204 with `Allow`, a CORS preflight with what the policy says.
/// - A path that no route has: 404 `not-found`. One that another method has: 405 `method-not-allowed` with `Allow`.
/// - A ``Problem`` or ``HTTPBodyError`` thrown by a handler is the answer; any other error is logged with the request's
///   id and answered with 500 `internal`.
/// - A body is held to the route's ``BodyLimit``: one that announces more is refused before the handler is called.
///
/// Build it at the start and never change it after: finding a route takes no lock.
public struct Router: HTTPResponder {
  /// Answers a request of a route.
  public typealias Handler =
    nonisolated(nonsending) @Sendable (_ request: HTTPRequest, _ parameters: PathParameters) async throws ->
    HTTPResponse

  /// How long a request's body may be.
  public enum BodyLimit: Sendable {
    /// As long as the server allows.
    case serverDefault
    /// So many bytes.
    case bytes(Int)
    /// Of any length: for what is read and forgotten piece by piece.
    case unlimited
  }

  private struct Endpoint: Sendable {
    let method: HTTPMethod
    let bodyLimit: BodyLimit
    let handler: Handler
  }

  private struct Route: Sendable {
    let template: RouteTemplate
    var endpoints: [Endpoint] = []
    var allow = ""

    func endpoint(for method: HTTPMethod) -> Endpoint? {
      if let endpoint = endpoints.first(where: { $0.method == method }) { return endpoint }
      guard method == .HEAD else { return nil }
      return endpoints.first { $0.method == .GET }
    }
  }

  private let cors: CORSPolicy?
  private let problemTypePrefix: String
  private let gate: (any RequestGate)?
  private var exactRoutes: [Route] = []
  private var parameterRoutes: [Route] = []

  /// Creates a router without routes.
  ///
  /// - Parameters:
  ///   - cors: which pages may read the answers; `nil` is none.
  ///   - problemTypePrefix: what the `type` of a problem begins with.
  ///   - gate: what requests pass first; `nil` is nothing.
  public init(
    cors: CORSPolicy? = nil,
    problemTypePrefix: String = Problem.defaultTypePrefix,
    gate: (any RequestGate)? = nil
  ) {
    self.cors = cors
    self.gate = gate
    self.problemTypePrefix = problemTypePrefix
  }

  /// Adds a handler.
  ///
  /// - Parameters:
  ///   - method: the method it answers; it must have no handler for this template yet.
  ///   - template: the paths it answers, with parameters in braces: `/locations/{id}`.
  ///   - bodyLimit: how long a request's body may be.
  ///   - handler: what answers.
  public mutating func on(
    _ method: HTTPMethod,
    _ template: String,
    bodyLimit: BodyLimit = .serverDefault,
    handler: @escaping Handler
  ) {
    let template = RouteTemplate(template)
    let endpoint = Endpoint(method: method, bodyLimit: bodyLimit, handler: handler)
    if template.isExact {
      Self.add(endpoint, to: template, in: &exactRoutes)
    } else {
      Self.add(endpoint, to: template, in: &parameterRoutes)
    }
  }

  private static func add(_ endpoint: Endpoint, to template: RouteTemplate, in routes: inout [Route]) {
    let index: Int
    if let found = routes.firstIndex(where: { $0.template.text == template.text }) {
      index = found
    } else {
      index = routes.firstIndex { template.precedes($0.template) } ?? routes.endIndex
      routes.insert(Route(template: template), at: index)
    }
    precondition(
      !routes[index].endpoints.contains { $0.method == endpoint.method },
      "\(endpoint.method.rawValue) \(template.text) has two handlers"
    )
    routes[index].endpoints.append(endpoint)
    routes[index].allow = allow(routes[index].endpoints.map(\.method))
  }

  private static func allow(_ methods: [HTTPMethod]) -> String {
    var names = Set(methods.map(\.rawValue))
    if names.contains("GET") { names.insert("HEAD") }
    names.insert("OPTIONS")
    return names.sorted().joined(separator: ", ")
  }
}

// MARK: Answering

extension Router {
  /// The answer to the request; see ``Router``.
  nonisolated(nonsending) public func respond(to request: HTTPRequest) async -> HTTPResponse {
    var response: HTTPResponse
    var gateFields: HTTPHeaders?
    do throws(Problem) {
      gateFields = try gate?.admit(request)
      let (route, values) = try find(request.path)
      response = await respond(to: request, route: route, values: values)
      response.route = route.template.text
    } catch {
      response = answer(to: request, problem: error)
    }
    if let gateFields { response.headers.add(contentsOf: gateFields) }
    cors?.apply(to: &response.headers, request: request)
    return response
  }

  nonisolated(nonsending) private func respond(
    to request: HTTPRequest,
    route: Route,
    values: [(name: String, rawValue: Substring)]
  ) async -> HTTPResponse {
    guard let endpoint = route.endpoint(for: request.method) else {
      if request.method == .OPTIONS { return options(request, allow: route.allow) }
      return HTTPResponse(
        Problem(
          .methodNotAllowed,
          code: "method-not-allowed",
          detail: "\(request.method.rawValue) is not among the methods of this path: \(route.allow)",
          headers: ["allow": route.allow]
        ),
        typePrefix: problemTypePrefix
      )
    }
    do {
      var request = request
      switch endpoint.bodyLimit {
      case .serverDefault: break
      case .bytes(let limit): request.body.limit = limit
      case .unlimited: request.body.limit = nil
      }
      try request.body.checkAnnouncedLength()
      let parameters = values.isEmpty ? PathParameters.none : try Self.decode(values)
      return try await endpoint.handler(request, parameters)
    } catch {
      return answer(to: request, error: error, route: route)
    }
  }

  private static func decode(
    _ values: [(name: String, rawValue: Substring)]
  ) throws(Problem) -> PathParameters {
    var decoded: [(name: String, value: String)] = []
    decoded.reserveCapacity(values.count)
    for (name, rawValue) in values {
      guard let value = PercentEncoding.decode(rawValue) else {
        throw .invalidParameter(name, "must be percent-encoded UTF-8")
      }
      decoded.append((name, value))
    }
    return PathParameters(decoded)
  }

  private func answer(to request: HTTPRequest, error: any Error, route: Route) -> HTTPResponse {
    switch error {
    case let problem as Problem:
      return HTTPResponse(problem, typePrefix: problemTypePrefix)
    case let error as HTTPBodyError:
      return HTTPResponse(error.problem, typePrefix: problemTypePrefix)
    default:
      // Who asked has gone when the task is cancelled; nobody needs to look into that.
      request.logger.log(
        level: error is CancellationError ? .debug : .error,
        "a handler failed",
        metadata: ["error": "\(String(reflecting: error))", "route": .string(route.template.text)]
      )
      return HTTPResponse(.internal, typePrefix: problemTypePrefix)
    }
  }

  private func answer(to request: HTTPRequest, problem: Problem) -> HTTPResponse {
    guard request.method == .OPTIONS, request.path == "*" else {
      return HTTPResponse(problem, typePrefix: problemTypePrefix)
    }
    let methods = (exactRoutes + parameterRoutes).flatMap { $0.endpoints.map(\.method) }
    return options(request, allow: Self.allow(methods))
  }

  private func options(_ request: HTTPRequest, allow: String) -> HTTPResponse {
    var response = HTTPResponse(status: .noContent, headers: ["allow": allow])
    if let cors, request.headers.contains(name: "access-control-request-method") {
      cors.applyPreflight(to: &response.headers, methods: allow)
    }
    return response
  }

  private func find(
    _ path: Substring
  ) throws(Problem) -> (route: Route, values: [(name: String, rawValue: Substring)]) {
    let length = path.utf8.count
    for route in exactRoutes where route.template.text.utf8.count == length && path == route.template.text {
      return (route, [])
    }
    let hasEscapes = path.utf8.contains(UInt8(ascii: "%"))
    if hasEscapes {
      for route in exactRoutes where route.template.match(path, hasEscapes: true) != nil { return (route, []) }
    }
    for route in parameterRoutes {
      if let values = route.template.match(path, hasEscapes: hasEscapes) { return (route, values) }
    }
    guard !hasEscapes || PercentEncoding.decode(path) != nil else {
      throw .invalidParameter("path", "must be percent-encoded UTF-8")
    }
    throw .notFound("nothing is at this path")
  }
}

extension RouteTemplate {
  /// Whether this template must be tried before the other: where they first differ, a literal goes first.
  fileprivate func precedes(_ other: RouteTemplate) -> Bool {
    for (mine, others) in zip(segments, other.segments) {
      switch (mine, others) {
      case (.literal, .parameter): return true
      case (.parameter, .literal): return false
      default: continue
      }
    }
    return false
  }
}
