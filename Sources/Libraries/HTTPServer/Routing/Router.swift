import Logging
import NIOHTTP1

/// A responder that matches each request with a route, passes it through the middlewares and calls the route's handler.
///
/// - A path without parameters takes precedence over one with; among those with, the one whose literal segment comes
///   first.
/// - `HEAD` is served by the route of `GET`. The response to `OPTIONS` is 204 with `Allow`.
/// - A path of no route is 404 `not-found`. A path that only routes of other methods have is 405 `method-not-allowed`
///   with `Allow`.
/// - A request whose announced body is longer than the route's ``Route/BodyLimit`` is 413 `body-too-large`.
///
/// These rejections come from the end of the chain: middlewares see their responses, and no route in their requests.
///
/// Build it at the start and do not change it afterwards: matching a route takes no lock.
public struct Router: HTTPResponder {
  private let table: RouteTable
  private let chain: MiddlewareChain

  /// Creates a router.
  ///
  /// - Parameters:
  ///   - routes: the routes; no two have the same method and template.
  ///   - middlewares: the middlewares in the order in which a request passes them.
  ///   - problemTypePrefix: the beginning of a problem's `type`.
  package init(
    _ routes: [Route] = [],
    middlewares: [any Middleware] = [],
    problemTypePrefix: String = Problem.defaultTypePrefix
  ) {
    table = RouteTable(routes)
    chain = MiddlewareChain(
      middlewares, endingIn: RoutedResponder(table: table, problemTypePrefix: problemTypePrefix))
  }

  /// Attaches the route, and returns the response of its handler if that has one at once; without a route the rejection.
  public func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse? {
    route(&request)
    return chain.respondAtOnce(to: &request)
  }

  /// Responds to the request; see ``Router``.
  nonisolated(nonsending) public func respond(to request: HTTPRequest) async -> HTTPResponse {
    // The route is attached already if there was no response at once.
    if let route = request.route, table.contains(route) { return await chain.respond(to: request) }
    return await chain.respond(to: routed(request))
  }

  // Synchronous functions, because their code would enlarge the frames of the asynchronous ones.

  @inline(never)
  private func routed(_ request: HTTPRequest) -> HTTPRequest {
    var request = request
    route(&request)
    return request
  }

  /// Attaches the route, or none: the one of another router has another handler.
  private func route(_ request: inout HTTPRequest) {
    if let (route, parameters) = table.match(request) {
      request.setRoute(route, parameters)
    } else {
      request.removeRoute()
    }
  }

  /// Reports the request to the middlewares.
  public func requestCompleted(_ request: CompletedRequest) { chain.requestCompleted(request) }
}

/// The end of a router's chain: calls the handler of the request's route and maps errors to responses.
private struct RoutedResponder: HTTPResponder {
  let table: RouteTable
  let problemTypePrefix: String

  func respondAtOnce(to request: inout HTTPRequest) -> HTTPResponse? {
    guard let route = request.route else { return rejection(of: request) }
    do throws(Problem) {
      guard var response = try route.handler.respondAtOnce(to: request) else { return nil }
      response.route = route.template
      return response
    } catch {
      return response(to: error, request)
    }
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse {
    guard let route = request.route else { return rejection(of: request) }
    do {
      var response = try await route.handler.respond(to: request)
      response.route = route.template
      return response
    } catch {
      return response(to: error, request)
    }
  }

  @inline(never)
  private func response(to error: any Error, _ request: HTTPRequest) -> HTTPResponse {
    let problem: Problem
    switch error {
    case let error as Problem: problem = error
    case let error as HTTPBodyError: problem = error.problem
    default:
      // A task is cancelled when its client has gone, which is no fault of the service.
      request.logger.log(
        level: error is CancellationError ? .debug : .error,
        "a handler failed",
        metadata: ["error": "\(String(reflecting: error))", "route": .string(request.route?.template ?? "none")]
      )
      problem = .internal
    }
    var response = HTTPResponse(problem, typePrefix: problemTypePrefix)
    response.route = request.route?.template
    return response
  }

  @inline(never)
  private func rejection(of request: HTTPRequest) -> HTTPResponse {
    let (template, result) = table.rejection(of: request)
    var response =
      switch result {
      case .success(let allow): HTTPResponse(status: .noContent, headers: ["allow": allow])
      case .failure(let problem): HTTPResponse(problem, typePrefix: problemTypePrefix)
      }
    response.route = template
    return response
  }
}
