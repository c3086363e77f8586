import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests over real connections: redirects, dropped connections, endless and slow bodies.
@Suite(.timeLimit(.minutes(5))) struct SocketTests {
  private let session = URLSession(configuration: .ephemeral)
  private let clock = RecordingClock()

  private func waymark(_ server: SocketServer, _ change: (inout LoaderConfiguration) -> Void = { _ in }) -> Waymark {
    var configuration = LoaderConfiguration(retries: .none, clock: clock, random: { 0 })
    change(&configuration)
    return Waymark(
      baseURL: server.baseURL, credentials: .apiKey("wm_secret"), session: session, configuration: configuration)
  }

  private struct ExtraField: APIInterceptor {
    func prepare(_ request: URLRequest) async throws -> URLRequest {
      var request = request
      request.setValue("hidden", forHTTPHeaderField: "X-Extra")
      return request
    }
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectToAnotherServerDoesNotCarryTheKey(status: Int) async throws {
    let (heads, redirected) = (Log<String>(), Log<String>())
    let other = try SocketServer { connection, _ in
      redirected.append(connection.readHead() ?? "")
      connection.respond(200, body: #"[{"category":"cafe","count":1}]"#)
    }
    let server = try SocketServer { [url = other.baseURL.absoluteString] connection, _ in
      heads.append(connection.readHead() ?? "")
      connection.respond(status, ["Location": "\(url)/categories"])
    }

    let categories = try await waymark(server) { $0.interceptors = [ExtraField()] }.categories()

    #expect(categories == [CategoryCount(category: "cafe", count: 1)])
    #expect(heads.all.count == 1)
    #expect(heads.all.allSatisfy { $0.contains("Authorization: Bearer wm_secret") && $0.contains("X-Extra: hidden") })
    #expect(redirected.all.count == 1)
    #expect(redirected.all.allSatisfy { !$0.contains("wm_secret") && !$0.contains("hidden") })
  }

  @Test func redirectOnTheSameServerCarriesTheKey() async throws {
    let heads = Log<String>()
    let server = try SocketServer { connection, index in
      heads.append(connection.readHead() ?? "")
      if index == 0 {
        connection.respond(307, ["Location": "/v2/categories"])
      } else {
        connection.respond(200, body: "[]")
      }
    }

    _ = try await waymark(server).categories()

    #expect(heads.all.map { $0.contains("Authorization: Bearer wm_secret") } == [true, true])
    #expect(heads.all.last?.hasPrefix("GET /v2/categories ") == true)
  }

  @Test func writeIsNotRedirectedToAnotherServer() async throws {
    let redirected = Counter()
    let other = try SocketServer { _, _ in redirected.add() }
    let server = try SocketServer { [url = other.baseURL.absoluteString] connection, _ in
      _ = connection.readHead()
      connection.respond(307, ["Location": "\(url)/locations", "X-Request-Id": "r-7"])
    }
    let draft = PointDraft(name: "A", coordinate: try Coordinate(latitude: 1, longitude: 2))

    let error = await #expect(throws: WaymarkError.self) { try await waymark(server).create(draft) }

    #expect(error == .untrustedRedirect("\(other.baseURL.absoluteString)/locations", requestID: "r-7"))
    #expect(redirected.value == 0)
  }

  @Test func endlessRedirectsEnd() async throws {
    let count = Counter()
    let server = try SocketServer { connection, index in
      _ = connection.readHead()
      count.add()
      connection.respond(302, ["Location": "/\(index)"])
    }

    await #expect(throws: WaymarkError.unreachable(.httpTooManyRedirects)) { try await waymark(server).categories() }

    #expect(count.value == 6)
  }

  @Test func endlessBodyIsCancelled() async throws {
    let ended = Gate()
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nX-Request-Id: r-1\r\nConnection: close\r\n\r\n[")
      connection.write(String(repeating: " ", count: 200_000))
      connection.waitForClose()
      ended.open()
    }

    await #expect(throws: WaymarkError.tooLarge(maximumBytes: 100_000, requestID: "r-1")) {
      try await waymark(server) { $0.maximumResponseBytes = 100_000 }.categories()
    }

    await ended.pass()
  }

  @Test func bodyOfATooLargeDeclaredSizeIsNotAwaited() async throws {
    let closed = Gate()
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100001\r\n\r\n[")
      connection.waitForClose()
      closed.open()
    }

    await #expect(throws: WaymarkError.tooLarge(maximumBytes: 100_000)) {
      try await waymark(server) { $0.maximumResponseBytes = 100_000 }.categories()
    }

    await closed.pass()
  }

  @Test func tricklingBodyEndsAtTheTotalTimeout() async throws {
    let (trickled, closed) = (Gate(), Gate())
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[")
      for _ in 0..<10 { connection.write(" ") }
      trickled.open()
      connection.waitForClose()
      closed.open()
    }
    let timeoutClock = ManualClock()
    let waymark = waymark(server) {
      $0.timeoutClock = timeoutClock
      $0.totalTimeout = .seconds(20)
    }
    let call = Task { try await waymark.categories() }
    await trickled.pass()
    await timeoutClock.isWaitedFor.pass()

    timeoutClock.advance(by: .seconds(20))

    await #expect(throws: WaymarkError.unreachable(.timedOut)) { try await call.value }
    await closed.pass()
  }

  @Test func requestWithoutAnyResponseEndsAtTheTotalTimeout() async throws {
    let received = Gate()
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      received.open()
      connection.waitForClose()
    }
    let timeoutClock = ManualClock()
    let waymark = waymark(server) { $0.timeoutClock = timeoutClock }
    let call = Task { try await waymark.categories() }
    await received.pass()
    await timeoutClock.isWaitedFor.pass()

    timeoutClock.advance(by: .seconds(30))

    await #expect(throws: WaymarkError.unreachable(.timedOut)) { try await call.value }
  }

  /// The parts of a response that arrive before the connection is dropped.
  @Test(arguments: ["", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n["])
  func droppedConnectionIsRetried(part: String) async throws {
    let count = Counter()
    let server = try SocketServer { connection, index in
      _ = connection.readHead()
      count.add()
      if index == 0 {
        connection.write(part)
      } else {
        connection.respond(200, body: "[]")
      }
    }

    let categories = try await waymark(server) { $0.retries = APIRetryPolicy() }.categories()

    #expect(categories.isEmpty)
    #expect(count.value == 2)
    #expect(clock.sleeps == [.zero])
  }

  @Test func refusedConnectionIsRetried() async throws {
    let server = try SocketServer(refusesConnections: true) { _, _ in }
    let waymark = waymark(server) { $0.retries = APIRetryPolicy() }

    let error = await #expect(throws: WaymarkError.self) { try await waymark.categories() }

    guard case .unreachable = error else { throw URLError(.unknown) }
    #expect(clock.sleeps.count == 3)
  }

  @Test(arguments: ["Bearer realm=\"waymark\"", "Basic realm=\"a\"", "Digest realm=\"a\", nonce=\"b\""])
  func challengeIsAnOrdinaryResponse(challenge: String) async throws {
    let server = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.respond(401, ["WWW-Authenticate": challenge, "X-Request-Id": "r-1"])
    }

    await #expect(throws: WaymarkError.unexpectedStatus(401, requestID: "r-1")) {
      try await waymark(server).categories()
    }
  }

  @Test(
    arguments: [
      (.unknown, "SSL certificate problem: self-signed certificate", .serverCertificateUntrusted),
      (.unknown, "TLS connect error: error:0A00010B:SSL routines::wrong version number", .secureConnectionFailed),
      (.unknown, "OpenSSL SSL_read: error:0A000126:SSL routines::unexpected eof", .networkConnectionLost),
      (.unknown, "transfer closed with 999 bytes remaining to read", .networkConnectionLost),
      (.unknown, "Recv failure: Connection reset by peer", .networkConnectionLost),
      (.badServerResponse, "Empty reply from server", .networkConnectionLost),
      (.badServerResponse, "", .badServerResponse), (.unknown, "", .unknown), (.timedOut, "SSL", .timedOut),
    ] as [(URLError.Code, String, URLError.Code)])
  func failuresOfCurlHaveTheirCodes(code: URLError.Code, description: String, expected: URLError.Code) {
    #expect(TransportFailure.code(code, description: description) == expected)
  }
}
