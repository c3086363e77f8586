import HTTPServer
import Logging
import NIOCore
import NIOHTTP1
import TestSupport
import Testing

@Suite struct Smoke {
  @Test func hello() async throws {
    var router = Router(cors: CORSPolicy())
    router.on(.GET, "/hello") { _, _ in HTTPResponse(contentType: "text/plain", bytes: Array("hello".utf8)) }
    let server = try await HTTPServer.bind(
      configuration: HTTPServerConfiguration(port: 0),
      responder: router,
      logger: Logger(label: "test")
    )
    let connection = try await RawHTTPConnection.open(port: server.port)
    let response = try await connection.get("/hello")
    print(response)
    #expect(response.text == "hello")
    try await print(connection.get("/nope").text)
    await server.shutdown()
  }
}
