import HTTPServer
import Logging
import NIOHTTP1
import Testing

/// Tests of what commands write for people when a server's texts would steer their terminal.
@Suite(.timeLimit(.minutes(5))) struct PrintedTextTests {
  /// A server whose texts clear the screen, set a colour, turn the direction of text around and begin a line.
  private struct Server: HTTPResponder {
    /// The text as JSON escapes it.
    static let text = #"x\u001b[2J\u009b31m\u202ey\u007f\r\nz"#

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      _ = try? await request.body.collect()
      switch request.path {
      case "/locations": return Self.response(#"[{"id":"TEXT","name":"TEXT","category":"TEXT"}]"#)
      case "/webhooks":
        return Self.response(#"[{"id":"TEXT","url":"TEXT","disabledReason":"TEXT","position":"TEXT"}]"#)
      case "/locations/import":
        return Self.response(
          #"{"created":0,"updated":0,"unchanged":1,"rejected":1,"errors":[{"row":1,"detail":"TEXT"}],"#
            + #""warnings":["TEXT"]}"#)
      case let path where path.hasPrefix("/webhooks/"): return Self.response(#"{"milliseconds":1,"error":"TEXT"}"#)
      default: return Self.response(#"{"detail":"TEXT"}"#, status: .badRequest)
      }
    }

    private static func response(_ json: String, status: HTTPResponseStatus = .ok) -> HTTPResponse {
      HTTPResponse(
        status: status, contentType: "application/json", bytes: Array(json.replacing("TEXT", with: text).utf8))
    }
  }

  @Test(arguments: [
    ["search", "x"], ["webhooks", "list"], ["webhooks", "test", "0199a1b2-0000-7000-8000-000000000001"],
    ["import", "FOLDER/places.csv"], ["import", "--areas", "FOLDER/areas.ndjson"], ["export"], ["follow", "--once"],
    ["duplicates", "a", "b"], ["backup", "FOLDER/backup.db"],
  ])
  func textsOfAServerReachTheTerminalEscaped(arguments: [String]) async throws {
    let folder = try TemporaryFolder()
    _ = try folder.write("name,lat,long\nA,1,2\n", to: "places.csv")
    _ = try folder.write(
      #"{"name":"A","geometry":{"type":"Polygon","coordinates":[[[0,0],[2,0],[2,2],[0,0]]]}}"# + "\n",
      to: "areas.ndjson")
    let server = try await HTTPServer.bind(
      configuration: HTTPServerConfiguration(port: 0), responder: Server(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })

    let outcome = try await WaymarkProcess.run(
      arguments.map { $0.replacing("FOLDER/", with: folder.path(of: "") + "/") }
        + ["--url", "http://127.0.0.1:\(server.port)"])
    await server.shutdown(gracePeriod: .zero)

    let written = outcome.output + outcome.log
    #expect(written.contains(Server.text), "\(written)")
    #expect(
      written.unicodeScalars.allSatisfy {
        $0 == "\n" || $0 == "\t" || $0.properties.generalCategory != .control && $0.value != 0x202E
      }, "\(written)")
  }
}
