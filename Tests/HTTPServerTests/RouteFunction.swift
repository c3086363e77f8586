import HTTPServer
import NIOHTTP1

/// A function that responds to the requests of a route.
typealias RouteFunction =
  nonisolated(nonsending) @Sendable (_ request: HTTPRequest, _ parameters: PathParameters) async throws -> HTTPResponse

extension [Route] {
  /// Appends a route whose handler is a function.
  mutating func on(
    _ method: HTTPMethod, _ template: String, bodyLimit: Route.BodyLimit = .serverDefault,
    handler: @escaping RouteFunction
  ) {
    append(Route(method, template, bodyLimit: bodyLimit, handler: FunctionHandler(function: handler)))
  }
}

private struct FunctionHandler: RouteHandler {
  let function: RouteFunction

  nonisolated(nonsending) func respond(to request: HTTPRequest) async throws -> HTTPResponse {
    try await function(request, request.pathParameters)
  }
}
