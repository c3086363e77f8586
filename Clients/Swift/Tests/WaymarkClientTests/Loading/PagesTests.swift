import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct PagesTests {
  private func pages(
    of service: MockService, _ configuration: LoaderConfiguration = LoaderConfiguration(retries: .none)
  ) -> APIPages<PointOfInterest> {
    APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL, limit: 1), urlSession: service.session,
      configuration: configuration
    ).pages(requestData: PointFilter(categories: ["bar"]))
  }

  private func names(_ pages: APIPages<PointOfInterest>) async throws -> [String] {
    var names: [String] = []
    for try await page in pages { names += page.value.map(\.name) }
    return names
  }

  @Test func linksAreFollowedToTheLastPage() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "</locations?category=bar&limit=1&cursor=1>; rel=\"next\""]),
      .ok(#"[{"name":"B"}]"#, ["Link": "</locations?category=bar&limit=1&cursor=2>; rel=\"next\""]),
      .ok(#"[{"name":"C"}]"#))

    let names = try await names(pages(of: service, LoaderConfiguration(credentials: .apiKey("k"))))

    #expect(names == ["A", "B", "C"])
    #expect(
      service.requests.map { $0.url?.query() } == [
        "category=bar&limit=1", "category=bar&limit=1&cursor=1", "category=bar&limit=1&cursor=2",
      ])
    #expect(service.requests.allSatisfy { $0.value(forHTTPHeaderField: "Authorization") == "Bearer k" })
    #expect(service.requests.allSatisfy { $0.value(forHTTPHeaderField: "Accept") == "application/json" })
  }

  @Test func relativeLinksAreResolvedAgainstTheRequest() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "<?category=bar&limit=1&cursor=1>; rel=\"next\""]),
      .ok(#"[{"name":"B"}]"#, ["Link": "<?category=bar&limit=1&cursor=2>; rel=\"next\""]),
      .ok(#"[{"name":"C"}]"#))
    let prefixed = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL.appending(path: "poi"), limit: 1),
      urlSession: service.session, configuration: LoaderConfiguration(retries: .none)
    ).pages(requestData: PointFilter(categories: ["bar"]))

    let names = try await names(prefixed)

    #expect(names == ["A", "B", "C"])
    #expect(service.requests.allSatisfy { $0.url?.path() == "/poi/locations" })
    #expect(service.requests.last?.url?.query() == "category=bar&limit=1&cursor=2")
  }

  @Test func pagesAreLoadedOnDemand() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#, ["Link": "</locations?cursor=1>; rel=\"next\""]))

    for try await _ in pages(of: service) { break }

    #expect(service.requests.count == 1)
  }

  @Test func iterationContinuesAfterAnErrorWithTheSamePage() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "</locations?cursor=1>; rel=\"next\""]), .problem(500, code: "internal"),
      .failure(.notConnectedToInternet), .ok(#"[{"name":"B"}]"#))
    var iterator = pages(of: service).makeAsyncIterator()
    let first = try await iterator.next()

    await #expect(throws: WaymarkError.self) { try await iterator.next() }
    await #expect(throws: WaymarkError.self) { try await iterator.next() }
    let second = try await iterator.next()
    let end = try await iterator.next()

    #expect([first, second].map { $0?.value.map(\.name) } == [["A"], ["B"]])
    #expect(end == nil)
    #expect(service.requests.dropFirst().map { $0.url?.query() } == ["cursor=1", "cursor=1", "cursor=1"])
  }

  @Test func failedFirstPageIsLoadedAgain() async throws {
    let service = try MockService(.failure(.notConnectedToInternet), .ok(#"[{"name":"A"}]"#))
    var iterator = pages(of: service).makeAsyncIterator()

    await #expect(throws: WaymarkError.self) { try await iterator.next() }

    #expect(try await iterator.next()?.value.map(\.name) == ["A"])
  }

  @Test func iterationStartsAtALink() async throws {
    let service = try MockService(.ok(#"[{"name":"C"}]"#))
    let loader = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL), urlSession: service.session)
    let link = service.baseURL.appending(path: "locations").appending(queryItems: [.init(name: "cursor", value: "2")])

    var names: [String] = []
    for try await page in loader.pages(requestData: PointFilter(), from: link) { names += page.value.map(\.name) }

    #expect(names == ["C"])
    #expect(service.requests.map { $0.url?.query() } == ["cursor=2"])
  }

  @Test func linkOfAnotherServerIsNotStartedAt() async throws {
    let service = try MockService(.ok("[]"))
    let loader = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL), urlSession: service.session)
    var pages = loader.pages(requestData: PointFilter(), from: try URL(text: "https://evil.example/locations"))
      .makeAsyncIterator()

    await #expect(throws: WaymarkError.untrustedLink("https://evil.example/locations")) { try await pages.next() }

    #expect(service.requests.isEmpty)
  }

  /// A proxy adds the prefix `/poi` and may tell the service its own host, but not the prefix.
  @Test(arguments: ["/locations?cursor=1", "/poi/locations?cursor=1", "?cursor=1", "BASE/locations?cursor=1"])
  func linksWithAndWithoutThePathPrefixAreFollowed(target: String) async throws {
    let service = try MockService { request, index in
      let origin = "https://\(request.url?.host() ?? "")"
      let link = target.replacing("BASE", with: origin)
      let response =
        index == 0
        ? MockResponse.ok(#"[{"name":"A"}]"#, ["Link": "<\(link)>; rel=\"next\""]) : .ok(#"[{"name":"B"}]"#)
      return try response.response(to: request)
    }
    let prefixed = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL.appending(path: "poi")), urlSession: service.session
    ).pages(requestData: PointFilter())

    let names = try await names(prefixed)

    #expect(names == ["A", "B"])
    #expect(service.requests.last?.url?.path() == "/poi/locations")
    #expect(service.requests.last?.url?.query() == "cursor=1")
  }

  @Test func loopOfPagesIsDetected() async throws {
    let service = try MockService { request, _ in
      let next = request.url?.query() == "cursor=1" ? 2 : 1
      return try MockResponse.ok(#"[{"name":"A"}]"#, ["Link": "</locations?cursor=\(next)>; rel=\"next\""])
        .response(to: request)
    }
    var loaded = 0

    await #expect(throws: WaymarkError.repeatedPage("\(service.baseURL.absoluteString)/locations?cursor=1")) {
      for try await _ in pages(of: service) {
        loaded += 1
        if loaded > 10 { break }
      }
    }

    #expect(loaded == 3)
  }

  @Test func placesOfAllPagesAreOneSequenceThatContinuesAfterAnError() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"},{"name":"B"}]"#, ["Link": "<?cursor=1>; rel=\"next\""]),
      .ok("[]", ["Link": "<?cursor=2>; rel=\"next\""]), .failure(.timedOut), .ok(#"[{"name":"C"}]"#))
    let waymark = Waymark(
      baseURL: service.baseURL, session: service.session, configuration: LoaderConfiguration(retries: .none))
    var places = waymark.places(PointFilter()).makeAsyncIterator()

    var names: [String?] = []
    for _ in 0..<2 { names.append(try await places.next()?.name) }
    await #expect(throws: WaymarkError.unreachable(.timedOut)) { try await places.next() }
    for _ in 0..<2 { names.append(try await places.next()?.name) }

    #expect(names == ["A", "B", "C", nil])
  }

  @Test(
    arguments: [
      "https://evil.example/locations?cursor=1", "//evil.example/locations", "http:/locations", "file:///etc/passwd",
      "https://evil.example:443/",
    ])
  func aLinkToAnotherServerIsNotFollowed(target: String) async throws {
    let service = try MockService(.ok("[]", ["Link": "<\(target)>; rel=\"next\""]))

    let error = await #expect(throws: WaymarkError.self) { try await names(pages(of: service)) }

    guard case .untrustedLink = error else { throw URLError(.unknown) }
    #expect(service.requests.count == 1)
  }

  @Test func aLinkToTheSamePageIsNotFollowedForEver() async throws {
    let service = try MockService(.ok("[]", ["Link": "</locations?category=bar&limit=1>; rel=\"next\""]))

    await #expect(throws: WaymarkError.self) { try await names(pages(of: service)) }

    #expect(service.requests.count == 1)
  }
}
