import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct RetryTests {
  private let clock = RecordingClock()
  private let coordinate: Coordinate
  private let draft: PointDraft

  init() throws {
    coordinate = try Coordinate(latitude: 1, longitude: 2)
    draft = PointDraft(name: "A", coordinate: coordinate)
  }

  private var configuration: LoaderConfiguration {
    LoaderConfiguration(
      retries: APIRetryPolicy(maximumAttempts: 3, baseDelay: .seconds(1), maximumDelay: .seconds(10)), clock: clock,
      random: { 0.5 }, now: { Date(timeIntervalSince1970: 784_111_770) })
  }

  private func places(of service: MockService) async throws -> [PointOfInterest] {
    try await APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration
    ).loadAPIRequest(requestData: coordinate)
  }

  @Test func requestIsRetriedUntilItSucceeds() async throws {
    let service = try MockService(
      .problem(503, code: "overloaded"), .failure(.networkConnectionLost), .ok(#"[{"name":"A"}]"#))

    let places = try await places(of: service)

    #expect(places.map(\.name) == ["A"])
    #expect(service.requests.count == 3)
    #expect(clock.sleeps == [.milliseconds(500), .seconds(1)])
  }

  @Test func theLastFailureIsTheError() async throws {
    let service = try MockService(.problem(503, code: "overloaded"))

    await #expect(throws: WaymarkError.problem(.init(status: 503, code: .overloaded, title: "T", detail: "D"))) {
      try await places(of: service)
    }

    #expect(service.requests.count == 3)
  }

  @Test(
    arguments: [
      (["Retry-After": "4"], .milliseconds(4500)),
      (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT"], .milliseconds(7500)),
      (
        ["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:49:35 GMT"],
        .milliseconds(2500)
      ),
      (["Retry-After": "Sun, 06 Nov 1994 08:49:37 GMT", "Date": "Sun, 06 Nov 1994 08:50:00 GMT"], .milliseconds(500)),
      (["Retry-After": "soon"], .milliseconds(500)),
    ] as [([String: String], Duration)])
  func retryAfterIsFollowed(fields: [String: String], delay: Duration) async throws {
    let service = try MockService(.problem(429, code: "rate-limited", fields: fields), .ok("[]"))

    _ = try await places(of: service)

    #expect(clock.sleeps == [delay])
  }

  @Test func tooLongRetryAfterIsReported() async throws {
    let service = try MockService(.problem(503, code: "store-unavailable", fields: ["Retry-After": "3600"]))

    await #expect(
      throws: WaymarkError.problem(
        .init(status: 503, code: .storeUnavailable, title: "T", detail: "D", retryAfter: .seconds(3600)))
    ) { try await places(of: service) }

    #expect(service.requests.count == 1)
    #expect(clock.sleeps.isEmpty)
  }

  @Test func creationIsRetriedWithTheSameKey() async throws {
    let service = try MockService(.failure(.timedOut), .problem(503, code: "overloaded"), .ok(#"{"name":"A"}"#))
    let loader = APIRequestLoader(
      apiRequest: CreatePointRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)

    _ = try await loader.loadAPIRequest(requestData: draft)

    let keys = service.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") }
    #expect(keys.count == 3)
    #expect(Set(keys).count == 1)
  }

  @Test func patchIsNotRetried() async throws {
    let service = try MockService(.failure(.timedOut))
    let loader = APIRequestLoader(
      apiRequest: PatchPointRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)

    await #expect(throws: WaymarkError.unreachable(.timedOut)) {
      try await loader.loadAPIRequest(requestData: .init(id: UUID(), patch: PointPatch(name: "B")))
    }

    #expect(service.requests.count == 1)
  }

  @Test func importIsNotRetried() async throws {
    let service = try MockService(.problem(503, code: "overloaded"))
    let loader = APIRequestLoader(
      apiRequest: ImportPointsRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)

    await #expect(throws: WaymarkError.self) {
      try await loader.loadAPIRequest(requestData: PointImport(data: Data(), format: .ndjson))
    }

    #expect(service.requests.count == 1)
  }

  @Test func importWithAKeyIsRetried() async throws {
    let service = try MockService(
      .problem(503, code: "overloaded"), .ok(#"{"created":1,"updated":0,"unchanged":0,"rejected":0,"errors":[]}"#))
    let loader = APIRequestLoader(
      apiRequest: ImportPointsRequest(baseURL: service.baseURL, idempotencyKey: { "k" }), urlSession: service.session,
      configuration: configuration)

    let report = try await loader.loadAPIRequest(requestData: PointImport(data: Data(), format: .ndjson))

    #expect(report == ImportReport(created: 1))
    #expect(service.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") } == ["k", "k"])
  }

  @Test func delayBeyondTheTotalTimeoutIsNotWaitedFor() async throws {
    let service = try MockService(.problem(503, code: "overloaded", fields: ["Retry-After": "4"]))
    var configuration = configuration
    configuration.totalTimeout = .seconds(6)
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)

    await #expect(throws: WaymarkError.self) { try await loader.loadAPIRequest(requestData: coordinate) }

    #expect(clock.sleeps == [.milliseconds(4500)])
    #expect(service.requests.count == 2)
  }

  @Test func cancellationEndsTheDelay() async throws {
    let service = try MockService(.problem(503, code: "overloaded"))
    let clock = StoppedClock()
    var configuration = configuration
    configuration.clock = clock
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)
    let task = Task { [coordinate] in try await loader.loadAPIRequest(requestData: coordinate) }
    await clock.isWaitedFor.pass()

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(service.requests.count == 1)
  }
}
