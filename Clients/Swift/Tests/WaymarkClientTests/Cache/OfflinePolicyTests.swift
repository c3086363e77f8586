import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct OfflinePolicyTests {
  private let cache = RecentResponses()
  private let request: CacheRequest

  init() throws {
    request = CacheRequest(url: try URL(text: "https://a.example/locations/featured"))
  }

  /// A source whose network is a closure, which is given the entity tag.
  private func source(
    _ fetch: @escaping @Sendable (EntityTag?) async throws -> String
  ) -> CacheSource<String> {
    CacheSource(
      fetch: { HTTPResponse(status: 200, url: nil, fields: [:], body: Data(try await fetch($0).utf8)) },
      decode: {
        APIResponse(
          value: String(decoding: $0.body, as: UTF8.self), receivedAt: Date(timeIntervalSinceReferenceDate: 0))
      },
      restore: { stored, _ in String(decoding: stored.body, as: UTF8.self) })
  }

  private func loading(
    _ policy: OfflinePolicy, clock: any Clock<Duration> = StoppedClock(), at seconds: Double = 0
  ) -> CachedLoading {
    CachedLoading(
      cache: cache, servesStale: true, policy: policy, clock: clock,
      now: { Date(timeIntervalSinceReferenceDate: seconds) })
  }

  private func load(
    _ policy: OfflinePolicy, clock: any Clock<Duration> = StoppedClock(), at seconds: Double = 0,
    _ fetch: @escaping @Sendable (EntityTag?) async throws -> String
  ) async throws -> APIResponse<String> {
    try await loading(policy, clock: clock, at: seconds).load(request, from: source(fetch))
  }

  // MARK: Errors

  private static let noConnection: [URLError.Code] = [
    .notConnectedToInternet, .networkConnectionLost, .timedOut, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed,
    .internationalRoamingOff, .callIsActive, .dataNotAllowed,
  ]

  private static let doubtfulPeer: [URLError.Code] = [
    .serverCertificateUntrusted, .serverCertificateHasBadDate, .serverCertificateHasUnknownRoot,
    .serverCertificateNotYetValid, .clientCertificateRejected, .clientCertificateRequired, .secureConnectionFailed,
    .appTransportSecurityRequiresSecureConnection, .userAuthenticationRequired, .httpTooManyRedirects, .unknown,
    .badServerResponse, .cancelled,
  ]

  private static let policies: [OfflinePolicy] = [
    .networkFirst, .staleIfError, .cacheFirst(maximumAge: .seconds(1)), OfflinePolicy(.networkFirst, deadline: .zero),
  ]

  @Test(arguments: policies, noConnection)
  func storedResponseReplacesAMissingConnection(policy: OfflinePolicy, code: URLError.Code) async throws {
    _ = try await load(policy) { _ in "A" }

    let response = try await load(policy, at: 60) { _ in throw WaymarkError.unreachable(code) }

    #expect(response.value == "A")
    #expect(response.isStale)
  }

  @Test(arguments: policies, doubtfulPeer)
  func storedResponseNeverCoversADoubtfulPeer(policy: OfflinePolicy, code: URLError.Code) async throws {
    _ = try await load(policy) { _ in "A" }

    await #expect(throws: WaymarkError.unreachable(code)) {
      try await load(policy, at: 60) { _ in throw WaymarkError.unreachable(code) }
    }
  }

  @Test(arguments: [500, 502, 503, 504])
  func onlyStaleIfErrorCoversAFailure(status: Int) async throws {
    _ = try await load(.networkFirst) { _ in "A" }
    let problem = WaymarkError.problem(ProblemDetails(status: status, code: .internal))

    for error in [problem, .unexpectedStatus(status)] {
      await #expect(throws: error) { try await load(.networkFirst) { _ in throw error } }
      #expect(try await load(.staleIfError) { _ in throw error }.isStale)
    }
  }

  @Test(arguments: [400, 401, 403, 404, 429, 501])
  func rejectionIsNeverCovered(status: Int) async throws {
    _ = try await load(.networkFirst) { _ in "A" }

    await #expect(throws: WaymarkError.unexpectedStatus(status)) {
      try await load(.staleIfError) { _ in throw WaymarkError.unexpectedStatus(status) }
    }
  }

  @Test func unreadableResponseIsNotCovered() async throws {
    _ = try await load(.staleIfError) { _ in "A" }
    let error = WaymarkError.unreadable(status: 200, reason: "no JSON")

    await #expect(throws: error) { try await load(.staleIfError) { _ in throw error } }
  }

  @Test func cancellationIsNotCovered() async throws {
    _ = try await load(.staleIfError) { _ in "A" }

    await #expect(throws: CancellationError.self) {
      try await load(.staleIfError) { _ in throw CancellationError() }
    }
  }

  // MARK: Order

  @Test func networkComesFirst() async throws {
    _ = try await load(.networkFirst) { _ in "A" }

    let response = try await load(.networkFirst) { _ in "B" }

    #expect(response.value == "B")
    #expect(!response.isStale)
  }

  @Test(arguments: [(0.0, "A"), (60, "A"), (60.1, "B"), (-1, "B")])
  func cacheComesFirstUpToAnAge(seconds: Double, expected: String) async throws {
    _ = try await load(.networkFirst) { _ in "A" }

    let response = try await load(.cacheFirst(maximumAge: .seconds(60)), at: seconds) { _ in "B" }

    #expect(response.value == expected)
    #expect(!response.isStale)
  }

  /// A source whose responses have values of `Cache-Control`, in order; after the last one, the network is unreachable.
  private func source(cacheControl values: [String?], status: Int = 200) throws -> CacheSource<String> {
    let fetches = Counter()
    return CacheSource(
      fetch: { _ in
        let index = fetches.add() - 1
        guard index < values.count else { throw WaymarkError.unreachable(.timedOut) }
        let fields = values[index].map { ["Cache-Control": $0, "ETag": "\"1\""] } ?? ["ETag": "\"1\""]
        return HTTPResponse(
          status: index == 0 ? 200 : status, url: nil, fields: fields, body: Data("\(index)".utf8))
      },
      decode: {
        APIResponse(
          value: String(decoding: $0.body, as: UTF8.self), maxAge: $0.maxAge,
          receivedAt: Date(timeIntervalSinceReferenceDate: 0)
        ).tagged($0.entityTag)
      },
      restore: { stored, _ in String(decoding: stored.body, as: UTF8.self) })
  }

  @Test(arguments: [
    ("max-age=10", 10.0, "0"), ("max-age=10", 10.1, "1"), ("max-age=0", 0.1, "1"), ("max-age=100", 60, "0"),
    ("max-age=100", 60.1, "1"), ("no-cache", 60, "0"),
  ])
  func cacheComesFirstUpToTheResponsesOwnLifetime(cacheControl: String, seconds: Double, expected: String) async throws
  {
    let source = try source(cacheControl: [cacheControl, cacheControl])
    let policy = OfflinePolicy.cacheFirst(maximumAge: .seconds(60))
    _ = try await loading(policy).load(request, from: source)

    let response = try await loading(policy, at: seconds).load(request, from: source)

    #expect(response.value == expected)
    #expect(!response.isStale)
  }

  @Test func responseBeyondItsLifetimeIsServedOffline() async throws {
    let source = try source(cacheControl: ["max-age=10"])
    let policy = OfflinePolicy.cacheFirst(maximumAge: .seconds(60))
    _ = try await loading(policy).load(request, from: source)

    let fresh = try await loading(policy, at: 10).load(request, from: source)
    let stale = try await loading(policy, at: 11).load(request, from: source)

    #expect([fresh.isStale, stale.isStale] == [false, true])
    #expect(fresh.maxAge == 10)
  }

  @Test(arguments: [("max-age=30", 129.0, true), ("max-age=30", 131, false), (nil, 109, true), (nil, 111, false)])
  func revalidationRenewsTheLifetime(cacheControl: String?, seconds: Double, isFresh: Bool) async throws {
    let source = try source(cacheControl: ["max-age=10", cacheControl], status: 304)
    let policy = OfflinePolicy.cacheFirst(maximumAge: .seconds(60))
    _ = try await loading(policy).load(request, from: source)
    _ = try await loading(policy, at: 100).load(request, from: source)

    let response = try await loading(policy, at: seconds).load(request, from: source)

    #expect(response.isStale == !isFresh)
  }

  @Test func cacheOnlyNeverUsesTheNetwork() async throws {
    let fetches = Counter()
    await #expect(throws: WaymarkError.unreachable(.resourceUnavailable)) {
      try await load(.cacheOnly) { _ in "\(fetches.add())" }
    }
    _ = try await load(.networkFirst) { _ in "A" }

    let response = try await load(.cacheOnly, at: 60) { _ in "\(fetches.add())" }

    #expect(response.value == "A")
    #expect(response.isStale)
    #expect(fetches.value == 0)
  }

  @Test(arguments: [
    OfflinePolicy.Strategy.networkFirst, .staleIfError, .cacheOnly, .cacheFirst(maximumAge: .seconds(1)),
  ])
  func responseAboveTheMaximumAgeIsNotUsed(strategy: OfflinePolicy.Strategy) async throws {
    _ = try await load(.networkFirst) { _ in "A" }
    let policy = OfflinePolicy(strategy, maximumAge: .seconds(100))

    #expect(
      try await load(policy, at: 100) { _ in throw WaymarkError.unreachable(.timedOut) }.value == "A")
    await #expect(throws: WaymarkError.self) {
      try await load(policy, at: 100.1) { _ in throw WaymarkError.unreachable(.timedOut) }
    }
  }

  // MARK: Deadline

  /// A network that responds only when it is cancelled.
  private static let hanging: @Sendable (EntityTag?) async throws -> String = { _ in
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
    throw CancellationError()
  }

  @Test func storedResponseIsServedAtTheDeadline() async throws {
    let clock = RecordingClock()
    _ = try await load(.networkFirst) { _ in "A" }

    let response = try await load(OfflinePolicy(.networkFirst, deadline: .seconds(3)), clock: clock, Self.hanging)

    #expect(response.value == "A")
    #expect(response.isStale)
    #expect(clock.sleeps == [.seconds(3)])
  }

  @Test func requestWithoutAStoredResponseMayTakeLonger() async throws {
    let clock = RecordingClock()
    let mayEnd = Gate()
    let task = Task {
      try await load(.networkFirst, clock: clock) { _ in
        await mayEnd.pass()
        return "late"
      }
    }
    while clock.sleeps.isEmpty { await Task.yield() }

    mayEnd.open()

    #expect(try await task.value.value == "late")
  }

  @Test func deadlineIsOneForAllAttempts() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .problem(503, code: "store-unavailable"))
    func loader(clock: any Clock<Duration>) -> APIRequestLoader<PointsOfInterestRequest> {
      var configuration = LoaderConfiguration(
        retries: .init(maximumAttempts: 1_000_000), cache: OnDiskCache(folder: folder.url), clock: clock,
        random: { 1 })
      configuration.totalTimeout = nil
      configuration.timeoutClock = clock
      return APIRequestLoader(
        apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
        configuration: configuration)
    }
    let coordinate = try Coordinate(latitude: 1, longitude: 2)
    _ = try await loader(clock: StoppedClock()).load(requestData: coordinate)

    // No single delay reaches the deadline.
    let clock = SharedClock(sleeperCount: 2)
    let response = try await loader(clock: clock).load(requestData: coordinate)

    #expect(response.isStale)
    #expect(clock.now.offset == OfflinePolicy.networkFirst.deadline)
    #expect(service.requests.count > 3)
  }

  @Test func cancelledLoadServesNothing() async throws {
    _ = try await load(.networkFirst) { _ in "A" }
    let clock = StoppedClock()
    let task = Task { try await load(.networkFirst, clock: clock, Self.hanging) }
    await clock.isWaitedFor.pass()

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  // MARK: Positions

  @Test func cacheDoesNotComeBeforeAWriteThatMustBeIncluded() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok(#"[{"name":"old"}]"#), .ok(#"[{"name":"new"}]"#))
    var waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(1000))
    let coordinate = try Coordinate(latitude: 1, longitude: 2)
    func names(_ waymark: Waymark) async throws -> [String] {
      try await waymark.places(near: coordinate).firstPage().map(\.name) as [String]
    }

    #expect(try await names(waymark) == ["old"])
    #expect(try await names(waymark) == ["old"])
    #expect(try await names(waymark.reading(after: "7")) == ["new"])
  }

  // MARK: Storing

  @Test func failureToStoreIsIgnored() async throws {
    let loading = CachedLoading(
      cache: FullCache(), servesStale: true, clock: StoppedClock(), now: { Date(timeIntervalSinceReferenceDate: 0) })

    #expect(try await loading.load(request, from: source { _ in "A" }).value == "A")
  }
}

/// A cache that stores nothing.
private struct FullCache: ResponseCache {
  func response(for key: String) -> StoredResponse? { nil }

  func store(_ response: StoredResponse, for key: String) throws { throw CocoaError(.fileWriteOutOfSpace) }

  func removeResponse(for key: String) throws { throw CocoaError(.fileWriteNoPermission) }
}

/// A clock of several tasks that moves to the earliest end of a sleep when all of them sleep.
private final class SharedClock: Clock {
  typealias Instant = RecordingClock.Instant

  private struct State {
    var now = Instant(offset: .zero)
    var lastID = 0
    var sleepers: [Int: (end: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
  }

  private let sleeperCount: Int
  private let state = Locked(State())

  init(sleeperCount: Int) {
    self.sleeperCount = sleeperCount
  }

  var now: Instant { state.withLock { $0.now } }

  let minimumResolution = Duration.zero

  func sleep(until deadline: Instant, tolerance: Duration?) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isCancelled = state.withLock { state in
          if Task.isCancelled { return true }
          state.sleepers[id] = (deadline, continuation)
          return false
        }
        if isCancelled { continuation.resume(throwing: CancellationError()) } else { advance() }
      }
    } onCancel: {
      state.withLock { $0.sleepers.removeValue(forKey: id)?.continuation }?.resume(throwing: CancellationError())
    }
  }

  private func advance() {
    let next = state.withLock { state in
      guard state.sleepers.count == sleeperCount,
        let next = state.sleepers.min(by: { $0.value.end < $1.value.end })
      else { return nil as CheckedContinuation<Void, any Error>? }
      state.now = max(state.now, next.value.end)
      return state.sleepers.removeValue(forKey: next.key)?.continuation
    }
    next?.resume()
  }
}
