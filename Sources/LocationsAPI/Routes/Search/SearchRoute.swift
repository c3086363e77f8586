import HTTPServer
import JSONText
import NIOHTTP1
import Points

/// `POST /locations/search`: a page of the places that match the conditions of a body, which may be longer than those
/// of a request target. The response is that of `GET /locations`; the same body is sent to the target of its link.
struct SearchRoute: RouteHandler {
  /// The parameters of the query beside the body.
  static let parameters: Set<Parameter> = [.cursor, .format]

  let list: ListRoute

  init(_ list: ListRoute) {
    var list = list
    list.path = "/locations/search"
    self.list = list
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let arguments = try await PointBody.readQuery(request) { body throws(Problem) in
      let values = try ParameterValues(
        body, beside: request, allowing: ListRoute.parameters, inQuery: Self.parameters)
      return try ListArguments(values, request, list.filtering)
    }
    var response = try await list.search(arguments, for: request)
    try await ContentCoding.apply(to: &response, of: request)
    response.headers.add(name: "cache-control", value: "no-store")
    response.headers.add(
      name: "vary", value: "accept, accept-encoding" + (arguments.languages.isByHeader ? ", accept-language" : ""))
    return response
  }
}
