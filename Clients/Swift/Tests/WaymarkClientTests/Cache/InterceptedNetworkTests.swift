import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests of networks that respond in place of the service until the user has signed in.
@Suite(.timeLimit(.minutes(5))) struct InterceptedNetworkTests {
  private let folder = CacheFolder()
  private let here: Coordinate

  init() throws {
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private static let page = "<!DOCTYPE html><html><body>Please sign in.</body></html>"

  private static let interceptions: [MockResponse] = [
    .response(status: 200, fields: ["Content-Type": "text/html; charset=utf-8"], body: page),
    .response(status: 200, fields: ["Content-Type": "Application/XHTML+XML"], body: page),
    .response(status: 511, fields: ["Content-Type": "text/html"], body: page),
    .response(status: 407, fields: [:], body: ""),
    .failure(.serverCertificateUntrusted), .failure(.serverCertificateHasUnknownRoot),
    .failure(.serverCertificateHasBadDate), .failure(.serverCertificateNotYetValid),
  ]

  private func waymark(_ service: MockService, _ policy: OfflinePolicy = .networkFirst) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url),
      configuration: LoaderConfiguration(retries: .none, offlinePolicy: policy))
  }

  private func isNotReached(_ error: WaymarkError?) -> Bool {
    if case .notReached? = error { true } else { false }
  }

  @Test(arguments: interceptions) func storedPlacesAreShownAsWithoutANetwork(response: MockResponse) async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), response)
    _ = try await waymark(service).places(near: here).firstPage()

    let places = try await waymark(service).responses.places(near: here)

    #expect(places.value.map(\.name) == ["A"])
    #expect(places.isStale)
  }

  @Test(arguments: interceptions) func requestWithoutStoredPlacesSaysThatItWasNotReached(
    response: MockResponse
  ) async throws {
    let service = try MockService(response)

    let error = await #expect(throws: WaymarkError.self) { try await waymark(service).places(near: here).firstPage() }

    #expect(isNotReached(error))
  }

  @Test func writeSaysThatItWasNotReached() async throws {
    let service = try MockService(Self.interceptions[0])

    let error = await #expect(throws: WaymarkError.self) {
      try await waymark(service).create(PointDraft(name: "A", coordinate: here))
    }

    #expect(isNotReached(error))
  }

  @Test func signInPageDoesNotReplaceAStoredResponse() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), Self.interceptions[0])
    let waymark = waymark(service)
    _ = try await waymark.places(near: here).firstPage()
    _ = try await waymark.places(near: here).firstPage()

    var offline = waymark
    offline.configuration.offlinePolicy = .cacheOnly

    #expect(try await offline.places(near: here).firstPage().map(\.name) == ["A"])
  }

  @Test(arguments: [301, 302, 303, 307, 308])
  func redirectToASignInPageCountsAsNoConnection(status: Int) async throws {
    let portal = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.respond(200, ["Content-Type": "text/html"], body: Self.page)
    }
    let server = try SocketServer { [url = portal.baseURL.absoluteString] connection, index in
      _ = connection.readHead()
      if index == 0 {
        connection.respond(200, body: #"[{"name":"A"}]"#)
      } else {
        connection.respond(status, ["Location": "\(url)/sign-in"])
      }
    }
    let waymark = Waymark(
      baseURL: server.baseURL, session: URLSession(configuration: .ephemeral), cache: OnDiskCache(folder: folder.url))
    _ = try await waymark.places(near: here).firstPage()

    let places = try await waymark.responses.places(near: here)

    #expect(places.value.map(\.name) == ["A"])
    #expect(places.isStale)
  }

  @Test func endlessRedirectsToASignInPageCountAsNoConnection() async throws {
    let portal = try SocketServer { connection, _ in
      _ = connection.readHead()
      connection.respond(302, ["Location": "/again"])
    }
    let server = try SocketServer { [url = portal.baseURL.absoluteString] connection, index in
      _ = connection.readHead()
      if index == 0 {
        connection.respond(200, body: #"[{"name":"A"}]"#)
      } else {
        connection.respond(302, ["Location": "\(url)/sign-in"])
      }
    }
    let waymark = Waymark(
      baseURL: server.baseURL, session: URLSession(configuration: .ephemeral), cache: OnDiskCache(folder: folder.url))
    _ = try await waymark.places(near: here).firstPage()

    #expect(try await waymark.responses.places(near: here).isStale)
  }

  @Test func errorOfAProxyOfTheServiceIsNoSignInPage() async throws {
    let service = try MockService(.response(status: 502, fields: ["Content-Type": "text/html"], body: Self.page))

    await #expect(throws: WaymarkError.unexpectedStatus(502)) {
      try await waymark(service).places(near: here).firstPage()
    }
  }

  @Test func requestForHTMLGetsIt() async throws {
    struct PageRequest: APIRequest {
      let baseURL: URL
      let accept: String?

      func makeRequest(from data: Void) throws -> URLRequest {
        var request = URLRequest(url: baseURL.appending(path: "map"))
        request.setValue(accept, forHTTPHeaderField: "Accept")
        return request
      }
      func parseResponse(data: Data) throws -> String { String(decoding: data, as: UTF8.self) }
    }
    let service = try MockService(Self.interceptions[0])

    for accept in [nil, "text/html", "application/json, */*"] {
      let loader = waymark(service).loader(PageRequest(baseURL: service.baseURL, accept: accept))
      #expect(try await loader.loadAPIRequest(requestData: ()) == Self.page)
    }
  }
}

/// Tests of a start without a network, when the provider of tokens can't get one either.
@Suite(.timeLimit(.minutes(5))) struct MissingCredentialTests {
  private struct SignedOut: Error {}

  private let folder = CacheFolder()
  private let here: Coordinate

  init() throws {
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private func waymark(
    _ service: MockService, user: String = "user-7", clock: any Clock<Duration> = StoppedClock(),
    provider: @escaping @Sendable (String?) async throws -> String?
  ) -> Waymark {
    var configuration = LoaderConfiguration(
      retries: .none, offlinePolicy: OfflinePolicy(deadline: .seconds(2)))
    configuration.timeoutClock = clock
    configuration.totalTimeout = nil
    return Waymark(
      baseURL: service.baseURL, credentials: Credentials(user: user, provider: provider), session: service.session,
      cache: OnDiskCache(folder: folder.url), configuration: configuration)
  }

  private static let failures: [any Error] = [
    URLError(.notConnectedToInternet), URLError(.timedOut), SignedOut(),
    NSError(domain: "Account", code: 1, userInfo: [NSUnderlyingErrorKey: URLError(.notConnectedToInternet)]),
  ]

  @Test(arguments: failures) func storedResponsesNeedNoToken(error: any Error) async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    _ = try await waymark(service) { _ in "token" }.places(near: here).firstPage()

    let places = try await waymark(service) { _ in throw error }.responses.places(near: here)

    #expect(places.value.map(\.name) == ["A"])
    #expect(places.isStale)
    #expect(service.requests.count == 1)
  }

  @Test func errorOfTheProviderRemainsWithoutAStoredResponse() async throws {
    let service = try MockService(.ok("[]"))
    _ = try await waymark(service) { _ in "token" }.places(near: here).firstPage()

    await #expect(throws: SignedOut.self) {
      try await waymark(service, user: "user-8") { _ in throw SignedOut() }.places(near: here).firstPage()
    }
    await #expect(throws: SignedOut.self) {
      try await waymark(service) { _ in throw SignedOut() }.create(PointDraft(name: "A", coordinate: here))
    }
  }

  @Test func rejectedTokenIsNotCoveredByAStoredResponse() async throws {
    let service = try MockService(.ok("[]"), .problem(401, code: "unauthenticated"))
    _ = try await waymark(service) { _ in "token" }.places(near: here).firstPage()

    await #expect(throws: SignedOut.self) {
      try await waymark(service) { rejected in
        if rejected != nil { throw SignedOut() }
        return "token"
      }.places(near: here).firstPage()
    }
  }

  @Test func providerThatHangsCostsTheDeadlineOfThePolicy() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    _ = try await waymark(service) { _ in "token" }.places(near: here).firstPage()
    let clock = ManualClock()
    let isCalled = Gate()
    let waymark = waymark(service, clock: clock) { _ in
      isCalled.open()
      // It ignores that it is cancelled.
      await Gate().pass()
      return nil
    }

    async let places = waymark.responses.places(near: here)
    await isCalled.pass()
    await clock.isWaitedFor.pass()
    clock.advance(by: .seconds(2))

    #expect(try await places.isStale)
  }
}
