import HTTPServer

/// A middleware that requires of each sender the access that the route declares, and attaches the sender to the
/// request.
///
/// Requests of no route pass: whether there is a route is no secret, and the router rejects them.
struct AuthenticationMiddleware: Middleware {
  let access: AccessControl

  func intercepts(_ request: HTTPRequest) -> Bool {
    guard let scope = request.route?.scope else { return false }
    return !access.admitsWithoutCredentials(request, for: scope)
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    guard let route = request.route, let scope = route.scope else { return await next.respond(to: request) }
    let principal: Principal
    do throws(Problem) {
      principal = try await access.principal(of: request, for: scope)
    } catch {
      var response = HTTPResponse(error, typePrefix: LocationsAPI.problemTypePrefix)
      response.route = route.template
      return response
    }
    var request = request
    if principal.name != nil { request.principal = principal }
    return await next.respond(to: request)
  }
}
