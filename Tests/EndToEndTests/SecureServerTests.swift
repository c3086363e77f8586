import Foundation
import HTTPTestSupport
import NIOSSL
import Testing

/// Tests of the built program over TLS.
@Suite(.timeLimit(.minutes(5))) struct SecureServerTests {
  private let certificate: TestCertificate
  private let files: TestCertificateFiles

  init() throws {
    certificate = try TestCertificate()
    files = try TestCertificateFiles(certificate)
  }

  private var variables: [String: String] {
    ["HTTP_PORT": "0", "TLS_CERTIFICATE_FILE": files.certificate, "TLS_PRIVATE_KEY_FILE": files.privateKey]
  }

  @Test func placesAreExportedAndImportedOverHTTP2() async throws {
    let server = try await WaymarkProcess(["serve"], environment: variables)
    let context = try certificate.clientContext(protocols: ["h2"])
    let client = try await HTTP2Client.open(port: try await server.port(), context: context)

    let export = try await client.send("GET", "/locations/export?f=ndjson")
    let report = try await client.send(
      "POST", "/locations/import", headers: [("content-type", "application/x-ndjson")], body: export.body)

    let count = export.text.split(separator: "\n").count
    #expect(count > 100)
    #expect(report.text.contains("\"unchanged\":\(count)"))
  }

  @Test func aPrivateAuthorityIsNamedAsTheReasonAndTakenFromAFile() async throws {
    let server = try await WaymarkProcess(["serve"], environment: variables)
    let port = try await server.port()
    let folder = try TemporaryFolder()
    let csv = try folder.write("id,name,lat,long\n0199a1b2-0000-7000-8000-000000000001,A,1,2\n", to: "a.csv")
    let url = "https://localhost:\(port)"
    let arguments = ["import", "--url", url, csv]

    let distrusted = try await WaymarkProcess.run(arguments)
    let byOption = try await WaymarkProcess.run(arguments + ["--ca-file", files.certificate])
    let byVariable = try await WaymarkProcess.run(arguments, environment: ["SSL_CERT_FILE": files.certificate])
    let otherName = try await WaymarkProcess.run(
      ["import", "--url", "https://127.0.0.1:\(port)", "--ca-file", files.certificate, csv])
    let noFile = try await WaymarkProcess.run(arguments + ["--ca-file", csv])
    let export = try await WaymarkProcess.run(["export", "--url", url, "--ca-file", files.certificate])

    #expect(distrusted.status == 69)
    #expect(distrusted.log.contains("not signed by an authority that is trusted here"), "\(distrusted.log)")
    #expect(distrusted.log.contains("--ca-file"))
    #expect(byOption.status == 0 && byVariable.status == 0, "\(byOption.log)")
    #expect(otherName.status == 69 && otherName.log.contains("its certificate is for another name"), "\(otherName.log)")
    #expect(noFile.status == 64 && noFile.log.contains("--ca-file must be a file of certificates in PEM, got '\(csv)'"))
    #expect(export.status == 0 && export.output.contains("\"name\":\"A\""))
    withExtendedLifetime(server) {}
  }

  @Test func signalBringsTheRenewedCertificateAndDropsNoConnection() async throws {
    let server = try await WaymarkProcess(["serve"], environment: variables)
    let port = try await server.port()
    let old = try await SecureConnection.open(port: port, context: certificate.clientContext())
    // A connection without a request would soon be closed.
    #expect(try await old.get("/health/live").status == 200)
    let renewed = try TestCertificate()

    try files.spoil(with: "nothing")
    server.send(SIGHUP)
    _ = try await server.logLine(with: "the certificate was not reloaded")
    let still = try await SecureConnection.open(port: port, context: certificate.clientContext())
    #expect(try await still.get("/health/live").status == 200)
    try files.replace(with: renewed)
    server.send(SIGHUP)
    _ = try await server.logLine(with: "the certificate was reloaded")
    let new = try await SecureConnection.open(port: port, context: renewed.clientContext())

    for connection in [old, still, new] {
      let response = try await connection.get("/health/live")
      #expect(response.status == 200)
    }
  }

  @Test func oneSignalReloadsTheKeysToo() async throws {
    let folder = try TemporaryFolder()
    let keys = try folder.write("reader:read:\(String(repeating: "0", count: 64))\n", to: "keys.txt")
    let environment = variables.merging(["API_KEYS_FILE": keys]) { $1 }
    let server = try await WaymarkProcess(["serve"], environment: environment)
    _ = try await server.port()

    server.send(SIGHUP)

    _ = try await server.logLine(with: "the file of API keys was reloaded")
    _ = try await server.logLine(with: "the certificate was reloaded")
  }

  @Test func healthConnectsOverTLS() async throws {
    let server = try await WaymarkProcess(["serve"], environment: variables)
    let port = try await server.port()

    let byVariable = try await WaymarkProcess.run(
      ["health", "--http-port", "\(port)"], environment: ["TLS_CERTIFICATE_FILE": files.certificate])
    let byFlag = try await WaymarkProcess.run(["health", "--http-port", "\(port)", "--tls"])
    let inTheClear = try await WaymarkProcess.run(["health", "--http-port", "\(port)"])

    #expect([byVariable.status, byFlag.status, inTheClear.status] == [0, 0, 1])
  }

  @Test func aKeyOfAnotherCertificateStopsTheStartWithOneLine() async throws {
    let others = try TestCertificateFiles(TestCertificate())

    let outcome = try await WaymarkProcess.run(
      ["serve"], environment: variables.merging(["TLS_PRIVATE_KEY_FILE": others.privateKey]) { $1 })

    #expect(outcome.status == 64)
    #expect(outcome.log.split(separator: "\n").count == 1)
    #expect(outcome.log.contains("TLS_PRIVATE_KEY_FILE must hold the key"))
  }
}
