import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct CredentialsTests {
  /// A service that accepts one token.
  private func service(accepting token: String) throws -> MockService {
    try MockService { request, _ in
      let isAccepted = request.value(forHTTPHeaderField: "Authorization") == "Bearer \(token)"
      return try (isAccepted ? MockResponse.ok("[]") : .problem(401, code: "unauthenticated")).response(to: request)
    }
  }

  private func waymark(_ service: MockService, _ credentials: Credentials) -> Waymark {
    Waymark(
      baseURL: service.baseURL, credentials: credentials, session: service.session,
      configuration: LoaderConfiguration(retries: .none))
  }

  private func tokens(_ service: MockService) -> [String?] {
    service.requests.map { $0.value(forHTTPHeaderField: "Authorization") }
  }

  @Test func tokenIsRequestedOnceAndReused() async throws {
    let service = try service(accepting: "t1")
    let calls = Log<String?>()
    let waymark = waymark(
      service,
      Credentials(user: "u") { rejected in
        calls.append(rejected)
        return "t1"
      })

    for _ in 0..<3 { _ = try await waymark.categories() }

    #expect(calls.all == [nil])
    #expect(tokens(service) == ["Bearer t1", "Bearer t1", "Bearer t1"])
  }

  @Test func rejectedTokenIsRefreshedAndTheRequestRepeated() async throws {
    let service = try service(accepting: "t2")
    let calls = Log<String?>()
    let waymark = waymark(
      service,
      Credentials(user: "u") { rejected in
        calls.append(rejected)
        return rejected == nil ? "t1" : "t2"
      })

    _ = try await waymark.categories()

    #expect(calls.all == [nil, "t1"])
    #expect(tokens(service) == ["Bearer t1", "Bearer t2"])
  }

  @Test func writeIsRepeatedWithTheNewTokenToo() async throws {
    let service = try MockService(.problem(401, code: "unauthenticated"), .ok(#"{"name":"A"}"#))
    let waymark = waymark(service, Credentials(user: "u") { $0 == nil ? "t1" : "t2" })

    let place = try await waymark.create(
      PointDraft(name: "A", coordinate: try Coordinate(latitude: 1, longitude: 2)))

    #expect(place.name == "A")
    #expect(service.requests.map(\.httpMethod) == ["POST", "POST"])
    #expect(Set(service.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") }).count == 1)
  }

  @Test func concurrentRejectionsShareOneRefresh() async throws {
    let count = 20
    let (rejections, allRejected) = (Counter(), Gate())
    let service = try MockService { request, _ in
      let isAccepted = request.value(forHTTPHeaderField: "Authorization") == "Bearer t2"
      if !isAccepted, rejections.add() == count { allRejected.open() }
      return try (isAccepted ? MockResponse.ok("[]") : .problem(401, code: "unauthenticated")).response(to: request)
    }
    let refreshes = Counter()
    let waymark = waymark(
      service,
      Credentials(user: "u") { rejected in
        guard rejected != nil else { return "t1" }
        refreshes.add()
        await allRejected.pass()
        return "t2"
      })

    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<count { group.addTask { _ = try await waymark.categories() } }
      try await group.waitForAll()
    }

    #expect(refreshes.value == 1)
  }

  @Test func keyThatStaysRejectedIsNotSentAgain() async throws {
    let service = try service(accepting: "other")

    let error = await #expect(throws: WaymarkError.self) {
      try await waymark(service, .apiKey("wm_1")).categories()
    }

    guard case .problem(let problem) = error else { throw URLError(.unknown) }
    #expect(problem.code == .unauthenticated)
    #expect(service.requests.count == 1)
  }

  @Test func newTokenThatIsRejectedEndsTheRequest() async throws {
    let service = try service(accepting: "other")
    let number = Counter()

    await #expect(throws: WaymarkError.self) {
      try await waymark(service, Credentials(user: "u") { _ in "t\(number.add())" }).categories()
    }

    #expect(tokens(service) == ["Bearer t1", "Bearer t2"])
  }

  @Test func errorOfTheProviderIsThrown() async throws {
    let service = try service(accepting: "t1")

    await #expect(throws: URLError(.userAuthenticationRequired)) {
      try await waymark(service, Credentials(user: "u") { _ in throw URLError(.userAuthenticationRequired) })
        .categories()
    }

    #expect(service.requests.isEmpty)
  }

  @Test func cancelledProviderIsNotACancelledTask() async throws {
    let service = try service(accepting: "t1")

    await #expect(throws: WaymarkError.unreachable(.cancelled)) {
      try await waymark(service, Credentials(user: "u") { _ in throw CancellationError() }).categories()
    }
  }

  @Test func cancelledCallerDoesNotCancelTheRefreshOfOthers() async throws {
    let service = try service(accepting: "t1")
    let (started, finish) = (Gate(), Gate())
    let calls = Counter()
    let waymark = waymark(
      service,
      Credentials(user: "u") { _ in
        calls.add()
        started.open()
        await finish.pass()
        try Task.checkCancellation()
        return "t1"
      })
    let cancelled = Task { try await waymark.categories() }
    await started.pass()
    let other = Task { try await waymark.categories() }

    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    finish.open()

    #expect(try await other.value.isEmpty)
    #expect(calls.value <= 2)
  }

  @Test func providerThatNeverReturnsEndsAtTheTotalTimeout() async throws {
    let service = try service(accepting: "t1")
    let (started, never) = (Gate(), Gate())
    let clock = ManualClock()
    var waymark = waymark(
      service,
      Credentials(user: "u") { _ in
        started.open()
        await never.pass()
        return nil
      })
    waymark.configuration.timeoutClock = clock
    let call = Task { [waymark] in try await waymark.categories() }
    await started.pass()
    await clock.isWaitedFor.pass()

    clock.advance(by: .seconds(30))

    await #expect(throws: WaymarkError.unreachable(.timedOut)) { try await call.value }
    never.open()
  }

  @Test func requestIsSentWithoutACredentialIfThereIsNone() async throws {
    let service = try MockService(.ok("[]"))

    _ = try await waymark(service, Credentials(user: "u") { _ in nil }).categories()

    #expect(tokens(service) == [nil])
  }
}

@Suite struct InterceptorTests {
  private struct Recorder: APIInterceptor {
    let name: String
    let log: Log<String>
    var requestID: String?

    func prepare(_ request: URLRequest) async throws -> URLRequest {
      log.append("\(name) prepare \(request.value(forHTTPHeaderField: "Authorization") ?? "-")")
      var request = request
      request.setValue(name, forHTTPHeaderField: "X-\(name)")
      if let requestID { request.setValue(requestID, forHTTPHeaderField: "X-Request-Id") }
      return request
    }

    func didComplete(_ exchange: APIExchange) async {
      let outcome = exchange.status.map { "\($0)" } ?? "\(exchange.error?.description ?? "")"
      log.append("\(name) attempt \(exchange.attempt): \(outcome)")
    }
  }

  private func waymark(_ service: MockService, _ interceptors: [any APIInterceptor]) -> Waymark {
    var configuration = LoaderConfiguration(clock: RecordingClock(), random: { 0 })
    configuration.interceptors = interceptors
    return Waymark(
      baseURL: service.baseURL, credentials: .apiKey("k"), session: service.session, configuration: configuration)
  }

  @Test func interceptorsPrepareEachAttemptAndObserveItsOutcome() async throws {
    let service = try MockService(.problem(503, code: "overloaded"), .failure(.timedOut), .ok("[]"))
    let log = Log<String>()

    _ = try await waymark(service, [Recorder(name: "A", log: log), Recorder(name: "B", log: log)]).categories()

    #expect(
      log.all == [
        "A prepare -", "B prepare -", "B attempt 1: 503", "A attempt 1: 503",
        "A prepare -", "B prepare -", "B attempt 2: the service timed out", "A attempt 2: the service timed out",
        "A prepare -", "B prepare -", "B attempt 3: 200", "A attempt 3: 200",
      ])
    #expect(service.requests.allSatisfy { $0.value(forHTTPHeaderField: "X-B") == "B" })
    #expect(service.requests.allSatisfy { $0.value(forHTTPHeaderField: "Authorization") == "Bearer k" })
  }

  @Test func requestIdentifierOfAnInterceptorIsPartOfTheError() async throws {
    let service = try MockService(.failure(.notConnectedToInternet))

    let error = await #expect(throws: WaymarkError.self) {
      try await waymark(service, [Recorder(name: "A", log: Log(), requestID: "r-1")]).categories()
    }

    #expect(error == .unreachable(.notConnectedToInternet, requestID: "r-1"))
    #expect(error?.failureReason == "There is no connection to the network. (Request r-1)")
  }

  @Test func credentialIsNotSentToAnotherServerThatAnInterceptorChooses() async throws {
    struct Elsewhere: APIInterceptor {
      let url: URL

      func prepare(_ request: URLRequest) async throws -> URLRequest {
        var request = request
        request.url = url
        return request
      }
    }
    let (service, other) = (try MockService(.ok("[]")), try MockService(.ok("[]")))

    _ = try await waymark(service, [Elsewhere(url: other.baseURL)]).categories()

    #expect(other.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == [nil])
    #expect(service.requests.isEmpty)
  }
}
