import Foundation
import Testing

@Suite struct TokenReloadingTests {
  private let place = Data(#"{"name":"x","lat":1,"long":2}"#.utf8)

  @Test func tokenKeysAreReloadedAtSIGHUPAndKeptIfTheFileIsInvalid() async throws {
    let folder = try TemporaryFolder()
    let (first, second) = (TokenSigner(), TokenSigner())
    let file = try folder.write(first.keySet, to: "jwks.json")
    let server = try await WaymarkProcess([
      "serve", "--http-port", "0", "--jwt-jwks", file, "--jwt-issuer", "i", "--jwt-audience", "a",
    ])
    let driver = ServerDriver(port: try await server.port())
    func statuses() async throws -> [Int] {
      var statuses: [Int] = []
      for token in [nil, try first.token(), try second.token()] {
        var headers = ["Content-Type": "application/json"]
        if let token { headers["Authorization"] = "Bearer \(token)" }
        statuses.append(try await driver.send("POST", "/locations", headers: headers, body: place).status)
      }
      return statuses
    }

    let before = try await statuses()
    _ = try folder.write(second.keySet, to: "jwks.json")
    server.send(SIGHUP)
    _ = try await server.logLine(with: "the file of token keys was reloaded")
    let exchanged = try await statuses()
    _ = try folder.write("{}", to: "jwks.json")
    server.send(SIGHUP)
    let failure = try await server.logLine(with: "the file of token keys was not reloaded")
    let broken = try await statuses()

    #expect(before == [401, 201, 401])
    #expect(exchanged == [401, 401, 201])
    #expect(broken == [401, 401, 201])
    #expect(failure.contains("must be a JSON Web Key Set"))
  }

  @Test func unusableFileStopsTheStart() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.write(#"{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}"#, to: "jwks.json")

    let outcome = try await WaymarkProcess.run(
      ["serve", "--http-port", "0"],
      environment: ["JWT_JWKS": file, "JWT_ISSUER": "i", "JWT_AUDIENCE": "a"])

    #expect(outcome.status == 64)
    #expect(
      outcome.log.contains(
        "JWT_JWKS names '\(file)', which holds no public key for signatures by RS, PS, ES or EdDSA"))
    #expect(!outcome.log.contains("c2VjcmV0"))
  }
}
