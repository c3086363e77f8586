import Foundation
import HTTPServer
import HTTPTestSupport
import Logging
import NIOHTTP1
import Synchronization
import TestSupport
import Testing

/// Tests of the built program with an issuer that publishes its keys over HTTP.
@Suite(.timeLimit(.minutes(5))) struct TokenKeyAddressTests {
  /// A server of an issuer's keys, whose response the test sets.
  private final class KeyServer: HTTPResponder {
    struct Response {
      var status = HTTPResponseStatus.ok
      var body: [UInt8] = []
      var fields: [(String, String)] = []
    }

    private let response = Mutex(Response(status: .internalServerError))
    let requests = Counter()

    func set(_ response: Response) { self.response.withLock { $0 = response } }

    func publish(_ signers: TokenSigner...) { set(Response(body: Array(TokenSigner.keySet(signers).utf8))) }

    func respond(to request: HTTPRequest) async -> HTTPResponse {
      requests.add()
      let response = response.withLock { $0 }
      // This status stands for no response at all.
      if response.status == .continue { try? await Task.sleep(for: .seconds(86_400)) }
      var httpResponse = HTTPResponse(
        status: response.status, contentType: "application/jwk-set+json", bytes: response.body)
      for (name, value) in response.fields { httpResponse.headers.add(name: name, value: value) }
      return httpResponse
    }
  }

  private static let place = Data(#"{"name":"x","lat":1,"long":2}"#.utf8)

  private func withKeyServer(
    _ keys: KeyServer, tls: TLSIdentity? = nil, _ body: (_ port: Int) async throws -> Void
  ) async throws {
    var configuration = HTTPServerConfiguration(port: 0)
    configuration.threads = 1
    configuration.tls = tls
    let server = try await HTTPServer.bind(
      configuration: configuration, responder: keys, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    do {
      try await body(server.port)
    } catch {
      await server.shutdown(gracePeriod: .zero)
      throw error
    }
    await server.shutdown(gracePeriod: .zero)
  }

  private func environment(_ url: String, _ others: [String: String] = [:]) -> [String: String] {
    ["HTTP_PORT": "0", "JWT_JWKS": url, "JWT_ISSUER": "i", "JWT_AUDIENCE": "a"].merging(others) { $1 }
  }

  private func post(_ driver: ServerDriver, _ signer: TokenSigner) async throws -> ServerDriver.Response {
    try await driver.send(
      "POST", "/locations",
      headers: ["Content-Type": "application/json", "Authorization": "Bearer \(try signer.token())"], body: Self.place)
  }

  @Test func aRotatedKeyIsFetchedOverTLSByTheFirstTokenThatNamesIt() async throws {
    let certificate = try TestCertificateFiles(try TestCertificate())
    let identity = try TLSIdentity(certificateFile: certificate.certificate, privateKeyFile: certificate.privateKey)
    let (first, second, nobody) = (TokenSigner(id: "1"), TokenSigner(id: "2"), TokenSigner(id: "3"))
    let keys = KeyServer()
    keys.publish(first)
    try await withKeyServer(keys, tls: identity) { port in
      let server = try await WaymarkProcess(
        ["serve"],
        environment: environment(
          "https://localhost:\(port)/jwks.json", ["SSL_CERT_FILE": certificate.certificate]))
      let driver = ServerDriver(port: try await server.port())

      let before = try await post(driver, first).status
      keys.publish(second)
      let rotated = try await post(driver, second).status
      let withdrawn = try await post(driver, first).status
      for _ in 0..<50 { _ = try await post(driver, nobody) }
      let metrics = String(decoding: try await driver.get("/metrics").body, as: UTF8.self)

      let statuses: [Int] = [before, rotated, withdrawn]
      #expect(statuses == [201, 201, 401])
      // At the start and for the token of the second key; other tokens may cause fetches where this takes longer than
      // 30 s.
      #expect((2...10).contains(keys.requests.value))
      #expect(metrics.contains("token_keys 1\n"))
      #expect(metrics.contains("token_key_fetches_total{outcome=\"ok\"} "))
    }
  }

  @Test func serverStartsWithoutItsIssuerAndAcceptsTokensLater() async throws {
    let signer = TokenSigner()
    let keys = KeyServer()
    try await withKeyServer(keys) { port in
      let server = try await WaymarkProcess(
        ["serve"], environment: environment("http://127.0.0.1:\(port)/jwks.json?tenant=secret"))
      let driver = ServerDriver(port: try await server.port())

      let ready = try await driver.get("/health/ready").status
      let rejected = try await post(driver, signer)
      let line = try await server.logLine(with: "the token keys can't be fetched")
      keys.publish(signer)
      _ = try await server.logLine(with: "the token keys can be fetched again")
      let accepted = try await post(driver, signer).status

      #expect(ready == 200)
      #expect(rejected.status == 503)
      #expect(try rejected.problem.code == "token-keys-unavailable")
      #expect(try #require(Int(rejected.headers["retry-after"] ?? "")) >= 1)
      #expect(line.contains("the response has the status 500") && !line.contains("secret"), "\(line)")
      #expect(accepted == 201)
    }
  }

  @Test func failedReloadOfKeysAtSIGHUPKeepsTheOldOnes() async throws {
    let (first, second) = (TokenSigner(), TokenSigner())
    let keys = KeyServer()
    keys.publish(first)
    try await withKeyServer(keys) { port in
      let server = try await WaymarkProcess(["serve"], environment: environment("http://localhost:\(port)/jwks.json"))
      let driver = ServerDriver(port: try await server.port())

      keys.publish(second)
      server.send(SIGHUP)
      _ = try await server.logLine(with: "the set of token keys was reloaded")
      let exchanged = [try await post(driver, first).status, try await post(driver, second).status]
      keys.set(.init(status: .found, fields: [("Location", "/elsewhere")]))
      server.send(SIGHUP)
      let failure = try await server.logLine(with: "the set of token keys was not reloaded")
      let kept = try await post(driver, second).status

      #expect(exchanged == [401, 201])
      #expect(failure.contains("the status 302; redirects are not followed"), "\(failure)")
      #expect(kept == 201)
    }
  }

  @Test func checkReportsUnusableTokenKeyResponses() async throws {
    let certificate = try TestCertificateFiles(try TestCertificate())
    let keys = KeyServer()
    try await withKeyServer(keys) { port in
      let url = "http://127.0.0.1:\(port)/jwks.json"
      func check(_ response: KeyServer.Response) async throws -> WaymarkProcess.Outcome {
        keys.set(response)
        return try await WaymarkProcess.run(["check"], environment: environment(url))
      }

      let fine = try await check(.init(body: Array(TokenSigner().keySet.utf8)))
      let empty = try await check(.init(body: Array(#"{"keys":[]}"#.utf8)))
      let long = try await check(
        .init(body: [UInt8](repeating: 0x20, count: 1 << 20) + Array(TokenSigner().keySet.utf8)))
      let silent = try await check(.init(status: .continue))
      let noServer = try await WaymarkProcess.run(
        ["check"], environment: environment("https://localhost:\(port)/", ["SSL_CERT_FILE": certificate.certificate])
      )
      let noFile = try await WaymarkProcess.run(
        ["check"], environment: environment("https://localhost:\(port)/", ["SSL_CERT_FILE": "/nowhere.pem"]))

      #expect(fine.status == 0 && fine.output.contains("ok       the token keys of \(url): 1"), "\(fine.output)")
      for (outcome, reason) in [
        (empty, "problem  the token keys of \(url): holds no public key for signatures"),
        (long, "problem  the token keys of \(url): the response is longer than 1048576 bytes"),
        (silent, "problem  the token keys of \(url): the response took longer than 5 s"),
        (noServer, "it does not speak TLS on this port"),
        (noFile, "problem  SSL_CERT_FILE must be a file of certificates in PEM, got '/nowhere.pem'"),
      ] {
        #expect(outcome.status == 1 && outcome.output.contains(reason), "\(outcome.output)")
      }
    }
  }
}
