import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct PagesTests {
  private func pages(
    of service: MockService, _ configuration: LoaderConfiguration = LoaderConfiguration(retries: .none)
  ) -> APIPages<PointsRequest> {
    APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL, limit: 1), urlSession: service.session,
      configuration: configuration
    ).pages(requestData: PointFilter(categories: ["bar"]))
  }

  private func names(_ pages: APIPages<PointsRequest>) async throws -> [String] {
    var names: [String] = []
    for try await page in pages { names += page.value.map(\.name) }
    return names
  }

  @Test func linksAreFollowedToTheLastPage() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "</locations?category=bar&limit=1&cursor=1>; rel=\"next\""]),
      .ok(#"[{"name":"B"}]"#, ["Link": "</locations?category=bar&limit=1&cursor=2>; rel=\"next\""]),
      .ok(#"[{"name":"C"}]"#))

    let names = try await names(pages(of: service, LoaderConfiguration(apiKey: "k")))

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

  @Test func errorEndsTheIteration() async throws {
    let service = try MockService(
      .ok("[]", ["Link": "</locations?cursor=1>; rel=\"next\""]), .problem(400, code: "invalid-parameter"), .ok("[]"))
    var iterator = pages(of: service).makeAsyncIterator()
    _ = try await iterator.next()

    await #expect(throws: WaymarkError.self) { try await iterator.next() }

    #expect(try await iterator.next() == nil)
    #expect(service.requests.count == 2)
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
