import Foundation
import Testing

@Suite struct KeyReloadingTests {
  private let place = Data(#"{"name":"x","lat":1,"long":2}"#.utf8)

  @Test func keysAreReloadedAtSIGHUPAndKeptIfTheFileIsInvalid() async throws {
    let folder = try TemporaryFolder()
    let (first, second) = (try await makeKey("first"), try await makeKey("second"))
    let file = try folder.write(first.line, to: "keys.txt")
    let server = try await WaymarkProcess(["serve", "--http-port", "0", "--api-keys-file", file])
    let driver = ServerDriver(port: try await server.port())
    func status(_ secret: String?) async throws -> Int {
      var headers = ["Content-Type": "application/json"]
      if let secret { headers["Authorization"] = "Bearer \(secret)" }
      return try await driver.send("POST", "/locations", headers: headers, body: place).status
    }

    let before = [try await status(nil), try await status(first.secret), try await status(second.secret)]
    _ = try folder.write(second.line, to: "keys.txt")
    server.send(SIGHUP)
    _ = try await server.logLine(with: "the file of API keys was reloaded")
    let exchanged = [try await status(nil), try await status(first.secret), try await status(second.secret)]
    _ = try folder.write("no keys at all", to: "keys.txt")
    server.send(SIGHUP)
    let failure = try await server.logLine(with: "the file of API keys was not reloaded")
    let broken = [try await status(nil), try await status(first.secret), try await status(second.secret)]

    _ = try folder.write("# none left\n\n", to: "keys.txt")
    server.send(SIGHUP)
    let empty = try await server.logLine(with: "has none")
    let kept = [try await status(nil), try await status(first.secret), try await status(second.secret)]

    #expect(empty.contains("was not reloaded"))
    #expect(kept == broken)
    #expect(before == [401, 201, 401])
    #expect(exchanged == [401, 401, 201])
    #expect(broken == [401, 401, 201])
    #expect(failure.contains("\"reason\"") && !failure.contains("no keys at all"))
  }

  @Test func serverWithoutReloadableFilesContinuesAtSIGHUP() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let driver = ServerDriver(port: try await server.port())

    server.send(SIGHUP)

    _ = try await server.logLine(with: "SIGHUP was received")
    #expect(try await driver.get("/health/live").status == 200)
  }

  private func makeKey(_ name: String) async throws -> (secret: String, line: String) {
    let made = try await WaymarkProcess.run(["keys", "create", name, "--scope", "write"])
    let match = try #require(made.log.firstMatch(of: /shown this once: (\S+)/))
    return (String(match.1), made.output)
  }
}
