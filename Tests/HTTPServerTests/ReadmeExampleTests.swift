import HTTPServer
import HTTPTestSupport
import Logging
import NIOHTTP1
import Testing

/// The example of the README.
@Suite(.timeLimit(.minutes(5))) struct ReadmeExampleTests {
  @Test func serverOfTheExampleSaysHello() async throws {
    struct Hello: RouteHandler {
      nonisolated(nonsending) func respond(to request: HTTPRequest) async throws -> HTTPResponse {
        HTTPResponse(contentType: "text/plain", bytes: Array("Hello".utf8))
      }
    }

    let router = Router([Route(.GET, "/hello", handler: Hello())])
    let server = try await HTTPServer.bind(
      configuration: HTTPServerConfiguration(port: 0), responder: router, logger: Logger(label: "hello"))

    let connection = try await RawHTTPConnection.open(port: server.port)
    let response = try await connection.get("/hello")
    await server.shutdown()

    #expect(response.text == "Hello")
    #expect(response["content-type"] == "text/plain")
  }
}
