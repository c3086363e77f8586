import HTTPServer
import HTTPTestSupport
import NIOCore
import NIOSSL
import TestSupport
import Testing

/// Connections over TLS.
@Suite(.timeLimit(.minutes(5))) struct TLSTests {
  private let certificate: TestCertificate
  private let files: TestCertificateFiles
  private let identity: TLSIdentity

  init() throws {
    certificate = try TestCertificate()
    files = try TestCertificateFiles(certificate)
    identity = try TLSIdentity(certificateFile: files.certificate, privateKeyFile: files.privateKey)
  }

  private func withSecureServer(
    _ responder: some HTTPResponder,
    configure: (inout HTTPServerConfiguration) -> Void = { _ in },
    body: (HTTPServer) async throws -> Void
  ) async throws {
    try await withServer(
      responder,
      configure: { configuration in
        configuration.tls = identity
        configure(&configuration)
      },
      body: body
    )
  }

  // MARK: Negotiation

  @Test(arguments: [nil, TLSVersion.tlsv12, .tlsv13])
  func clientThatOffersOnlyHTTP1IsServed(version: TLSVersion?) async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      let context = try certificate.clientContext(maximumVersion: version)
      let connection = try await SecureConnection.open(port: server.port, context: context)
      let answers = [try await connection.get("/1").text, try await connection.get("/2").text]

      #expect(answers == ["/1", "/2"])
    }
  }

  @Test func clientThatOffersHTTP2NegotiatesIt() async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      let context = try certificate.clientContext(protocols: ["h2", "http/1.1"])
      let client = try await HTTP2Client.open(port: server.port, context: context)
      let response = try await client.send("GET", "/over/h2")

      #expect(response.status == 200)
      #expect(response.text == "/over/h2")
    }
  }

  @Test func clientThatPrefersHTTP1NegotiatesIt() async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      let context = try certificate.clientContext(protocols: ["http/1.1"])
      let connection = try await SecureConnection.open(port: server.port, context: context)
      let response = try await connection.get("/")

      #expect(response.status == 200)
    }
  }

  @Test(arguments: [TLSVersion.tlsv1, .tlsv11])
  func olderTLSVersionsAreRejected(version: TLSVersion) async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      let context = try certificate.clientContext(maximumVersion: version)

      await #expect(throws: NIOSSLError.self) {
        try await SecureConnection.open(port: server.port, context: context)
      }
    }
  }

  @Test func cipherSuitesWithoutForwardSecrecyAreRejected() async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      var configuration = TLSConfiguration.makeClientConfiguration()
      configuration.certificateVerification = .none
      configuration.maximumTLSVersion = .tlsv12
      configuration.cipherSuites = "RSA+AESGCM:RSA+AES:ECDH+AES256:ECDH+AES128:!AESGCM"
      let context = try NIOSSLContext(configuration: configuration)

      await #expect(throws: NIOSSLError.self) {
        try await SecureConnection.open(port: server.port, context: context)
      }
    }
  }

  @Test func cleartextRequestToATLSPortGetsNoResponse() async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      let rest = (try? await connection.rest()) ?? []

      #expect(!String(decoding: rest, as: UTF8.self).contains("HTTP/"))
    }
  }

  // MARK: Bodies

  @Test func largeBodiesAreReceivedAndSent() async throws {
    try await withSecureServer(ClosureResponder.echo) { server in
      let connection = try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      let body = String(repeating: "0123456789", count: 100_000)
      try await connection.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      let response = try await connection.response()

      #expect(response.text == body)
    }
  }

  @Test func interruptedResponseIsDetectedAsIncomplete() async throws {
    struct Broken: Error {}
    let responder = ClosureResponder { _ in
      HTTPResponse(
        body: .stream { writer in
          try await writer.write(ByteBuffer(string: "half"))
          throw Broken()
        }
      )
    }
    try await withSecureServer(responder) { server in
      let connection = try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      // For a client of HTTP/1.0 only the connection's end marks the end of the body.
      try await connection.send("GET / HTTP/1.0\r\n\r\n")

      await #expect(throws: (any Error).self) { try await connection.rest() }
    }
  }

  // MARK: Time

  @Test func clientWithoutATLSHandshakeIsDisconnected() async throws {
    try await withSecureServer(ClosureResponder.path, configure: { $0.timeouts.header = .milliseconds(50) }) { server in
      let connection = try await RawHTTPConnection.open(port: server.port)
      try await connection.send(bytes: [0x16, 0x03, 0x01])
      let rest = try await connection.rest()

      #expect(rest.isEmpty)
    }
  }

  @Test func requestInFlightCompletesWhenTheServerDrains() async throws {
    let gate = Gate()
    let arrived = Gate()
    let responder = ClosureResponder { _ in
      arrived.open()
      await gate.pass()
      return .text("done")
    }
    try await withSecureServer(responder) { server in
      let connection = try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      await arrived.pass()
      async let ended: Void = server.shutdown(gracePeriod: .seconds(600))
      while (try? await RawHTTPConnection.open(port: server.port)) != nil { await Task.yield() }
      gate.open()
      let response = try await connection.response()
      connection.close()
      await ended

      #expect(response.text == "done")
      #expect(response["connection"] == "close")
    }
  }

  // MARK: The files

  @Test func reloadAffectsNewConnectionsAndKeepsOpenOnes() async throws {
    let renewed = try TestCertificate()
    try await withSecureServer(ClosureResponder.path) { server in
      let old = try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      _ = try await old.get("/before")
      try files.replace(with: renewed)
      try identity.reload()
      let new = try await SecureConnection.open(port: server.port, context: renewed.clientContext())
      let answers = [try await old.get("/old").text, try await new.get("/new").text]

      #expect(answers == ["/old", "/new"])
      await #expect(throws: NIOSSLError.self) {
        try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      }
    }
  }

  @Test func reloadOfInvalidFilesChangesNothing() async throws {
    try await withSecureServer(ClosureResponder.path) { server in
      try files.spoil(with: "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n")
      #expect(throws: TLSIdentityError.certificateUnusable(file: files.certificate)) { try identity.reload() }
      let connection = try await SecureConnection.open(port: server.port, context: certificate.clientContext())
      let response = try await connection.get("/")

      #expect(response.status == 200)
    }
  }

  @Test func keyOfAnotherCertificateIsRejected() throws {
    let others = try TestCertificateFiles(TestCertificate())

    #expect(
      throws: TLSIdentityError.mismatch(certificateFile: files.certificate, privateKeyFile: others.privateKey)
    ) {
      try TLSIdentity(certificateFile: files.certificate, privateKeyFile: others.privateKey)
    }
  }

  @Test func missingCertificateFileIsRejected() {
    #expect(throws: TLSIdentityError.certificateUnusable(file: "/nowhere")) {
      try TLSIdentity(certificateFile: "/nowhere", privateKeyFile: files.privateKey)
    }
    #expect(throws: TLSIdentityError.privateKeyUnusable(file: files.certificate)) {
      try TLSIdentity(certificateFile: files.certificate, privateKeyFile: files.certificate)
    }
  }
}
