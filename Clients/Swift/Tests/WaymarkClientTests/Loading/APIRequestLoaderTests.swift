import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct APIRequestLoaderTests {
  private let coordinate: Coordinate

  init() throws {
    coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)
  }

  private func loader(
    of service: MockService, _ configuration: LoaderConfiguration = LoaderConfiguration(retries: .none)
  ) -> APIRequestLoader<PointsOfInterestRequest> {
    APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration)
  }

  @Test func requestIsSentAndItsResponseDecoded() async throws {
    let service = try MockService(.ok(#"[{"name":"My Location"}]"#))

    let places = try await loader(of: service).loadAPIRequest(requestData: coordinate)

    #expect(places == [PointOfInterest(name: "My Location")])
    #expect(service.requests.map { $0.url?.query() } == ["lat=37.3293&long=-121.8893"])
  }

  @Test func completionHandlerGetsTheValue() async throws {
    let service = try MockService(.ok(#"[{"name":"My Location"}]"#))
    let loader = loader(of: service)

    let places = await withCheckedContinuation { continuation in
      loader.loadAPIRequest(requestData: coordinate) { places, error in
        #expect(error == nil)
        continuation.resume(returning: places)
      }
    }

    #expect(places == [PointOfInterest(name: "My Location")])
  }

  @Test func theCompletionHandlerGetsTheError() async throws {
    let service = try MockService(.problem(404, code: "not-found"))
    let loader = loader(of: service)

    let error = await withCheckedContinuation { continuation in
      loader.loadAPIRequest(requestData: coordinate) { places, error in
        #expect(places == nil)
        continuation.resume(returning: error)
      }
    }

    guard case .problem(let problem) = error as? WaymarkError else { throw URLError(.unknown) }
    #expect(problem.code == .notFound)
  }

  @Test func metadataIsThatOfTheHeaders() async throws {
    let service = try MockService(
      .ok(
        "[]",
        [
          "ETag": "\"7\"", "Cache-Control": "public, max-age=8", "Age": "3", "X-Request-Id": "r-1",
          "Waymark-Position": "0/16B3748",
          "Link": "</locations?lat=1&cursor=abc>; rel=\"next\"",
        ]))
    let now = Date(timeIntervalSince1970: 1000)

    let response = try await loader(of: service, LoaderConfiguration(now: { now })).load(requestData: coordinate)

    #expect(response.status == 200)
    #expect(response.entityTag == EntityTag(version: 7))
    #expect(response.maxAge == 5)
    #expect(response.nextPage?.absoluteString == "\(service.baseURL.absoluteString)/locations?lat=1&cursor=abc")
    #expect(response.receivedAt == now)
    #expect(response.age == 3)
    #expect(response.requestID == "r-1")
    #expect(response.position == "0/16B3748")
    #expect(!response.isStale)
  }

  @Test func aProblemIsTyped() async throws {
    let service = try MockService(
      .response(
        status: 400, fields: ["Content-Type": "application/problem+json; charset=utf-8"],
        body: """
          {"type":"urn:waymark:problem:invalid-parameter","title":"Bad Request","status":400,"detail":"lat is wrong",
          "code":"invalid-parameter","errors":[{"parameter":"lat","detail":"is wrong"},{"pointer":"/name","detail":"a"},
          {"row":7,"detail":"b"},{"other":1}]}
          """))

    await #expect(
      throws: WaymarkError.problem(
        ProblemDetails(
          status: 400, code: .invalidParameter, title: "Bad Request", detail: "lat is wrong",
          errors: [
            .init(location: .parameter("lat"), detail: "is wrong"), .init(location: .pointer("/name"), detail: "a"),
            .init(location: .row(7), detail: "b"), .init(location: nil, detail: ""),
          ]))
    ) { try await loader(of: service).load(requestData: coordinate) }
  }

  @Test func problemWithUnexpectedTypesIsDecoded() async throws {
    let service = try MockService(
      .response(
        status: 503, fields: ["Content-Type": "application/problem+json", "Retry-After": "3"],
        body: #"{"code":7,"title":null,"errors":"none"}"#))

    await #expect(
      throws: WaymarkError.problem(
        ProblemDetails(status: 503, code: .init(rawValue: ""), retryAfter: .seconds(3)))
    ) { try await loader(of: service).load(requestData: coordinate) }
  }

  @Test(arguments: ["application/problem+json", "text/html"])
  func responseOfAProxyIsNotAProblemOfTheService(mediaType: String) async throws {
    let service = try MockService(
      .response(status: 502, fields: ["Content-Type": mediaType], body: "<html>Bad Gateway</html>"))

    await #expect(throws: WaymarkError.unexpectedStatus(502)) {
      try await loader(of: service).load(requestData: coordinate)
    }
  }

  @Test func malformedBodyIsAnError() async throws {
    let service = try MockService(.ok("<html>Please sign in to the network</html>"))

    let error = await #expect(throws: WaymarkError.self) {
      try await loader(of: service).load(requestData: coordinate)
    }

    guard case .unreadable(status: 200, _, _) = error else { throw URLError(.unknown) }
  }

  @Test func invalidRowsAreReportedAndTheOthersReturned() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"},{"name":"B","lat":"north","long":1},{"id":7},{"name":"C"},null]"#))

    let response = try await loader(of: service).load(requestData: coordinate)

    #expect(response.value.map(\.name) == ["A", "C"])
    #expect(response.invalidRows.map(\.row) == [2, 3, 5])
    #expect(response.invalidRows.first?.detail.hasPrefix("lat: ") == true)
  }

  @Test func listWithoutAnyValidRowIsAnError() async throws {
    let service = try MockService(.ok(#"[{"title":"A"},{"title":"B"}]"#))

    await #expect(throws: WaymarkError.self) { try await loader(of: service).load(requestData: coordinate) }
  }

  @Test func sessionThatIsCancelledIsNotACancelledTask() async throws {
    let service = try MockService(.failure(.cancelled))

    await #expect(throws: WaymarkError.unreachable(.cancelled)) {
      try await loader(of: service).load(requestData: coordinate)
    }
  }

  @Test func missingResponseIsAnError() async throws {
    let service = try MockService(.failure(.notConnectedToInternet))

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader(of: service).load(requestData: coordinate)
    }
  }

  @Test func invalidInputSendsNoRequest() async throws {
    let service = try MockService(.ok("[]"))
    let loader = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL, limit: 0), urlSession: service.session)

    await #expect(throws: RequestError.invalidLimit) { try await loader.load(requestData: PointFilter()) }

    #expect(service.requests.isEmpty)
  }

  @Test func apiKeyIsSent() async throws {
    let service = try MockService(.ok("[]"))

    _ = try await loader(of: service, LoaderConfiguration(credentials: .apiKey("wm_secret"))).load(
      requestData: coordinate)

    #expect(service.requests.map { $0.value(forHTTPHeaderField: "Authorization") } == ["Bearer wm_secret"])
  }

  @Test(arguments: ["", "wm secret", "wm\r\nX-Evil: 1"])
  func invalidAPIKeyIsNotSent(key: String) async throws {
    let service = try MockService(.ok("[]"))

    await #expect(throws: RequestError.invalidAPIKey) {
      try await loader(of: service, LoaderConfiguration(credentials: .apiKey(key))).load(requestData: coordinate)
    }

    #expect(service.requests.isEmpty)
  }

  @Test func cancellingTheTaskCancelsTheCall() async throws {
    let (started, stopped) = (Gate(), Gate())
    let service = try MockService(stopHandler: { stopped.open() }) { _, _ in
      started.open()
      return nil
    }
    let loader = loader(of: service)
    let task = Task { [coordinate] in try await loader.load(requestData: coordinate) }
    await started.pass()

    task.cancel()

    await stopped.pass()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func cancelledTaskSendsNoRequest() async throws {
    let service = try MockService(.ok("[]"))
    let loader = loader(of: service)
    let gate = Gate()
    let task = Task { [coordinate] in
      await gate.pass()
      return try await loader.load(requestData: coordinate)
    }

    task.cancel()
    gate.open()

    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(service.requests.isEmpty)
  }
}
