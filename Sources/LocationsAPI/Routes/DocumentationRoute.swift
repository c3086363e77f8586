import CDocumentationPage
import HTTPServer
import NIOHTTP1

/// `GET /docs`: a page that shows the description of the calls and sends them. It loads nothing from elsewhere; its
/// references are relative, so that it works under a path prefix.
struct DocumentationRoute: RouteHandler {
  /// Scripts, styles and requests to this origin alone, none in the page itself, and no frame around it.
  private static let securityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    + " form-action 'none'; frame-ancestors 'none'"

  /// The routes of the page and its files.
  static let routes = [
    Route(
      .GET, "/docs", handler: DocumentationRoute(waymark_documentation_page(), mediaType: "text/html; charset=utf-8")),
    Route(
      .GET, "/docs/page.css",
      handler: DocumentationRoute(waymark_documentation_style(), mediaType: "text/css; charset=utf-8")),
    Route(
      .GET, "/docs/page.js",
      handler: DocumentationRoute(waymark_documentation_script(), mediaType: "text/javascript; charset=utf-8")),
  ]

  private let file: StaticFile
  private let mediaType: String

  private init(_ file: waymark_file, mediaType: String) {
    self.file = StaticFile(Array(UnsafeBufferPointer(start: file.bytes, count: file.count)))
    self.mediaType = mediaType
  }

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    try ParameterValues(request, allowing: []).check()
    var response = try await file.response(to: request, mediaType: mediaType)
    response.headers.add(name: "content-security-policy", value: Self.securityPolicy)
    response.headers.add(name: "x-content-type-options", value: "nosniff")
    response.headers.add(name: "referrer-policy", value: "no-referrer")
    return response
  }
}
