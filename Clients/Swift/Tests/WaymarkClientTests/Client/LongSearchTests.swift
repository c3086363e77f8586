import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Searches that are sent in a body, and the calls for maps.
@Suite(.timeLimit(.minutes(5))) struct LongSearchTests {
  private let folder = CacheFolder()
  private let area: SearchArea
  private let route: SearchRoute

  init() throws {
    area = try SearchArea((0..<400).map { try Coordinate(latitude: Double($0) / 10, longitude: Double($0 % 2)) })
    route = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC", radiusMetres: 500)
  }

  private func waymark(
    _ service: MockService, retries: APIRetryPolicy = .none, offlinePolicy: OfflinePolicy = .networkFirst
  ) -> Waymark {
    var waymark = Waymark(
      baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url),
      configuration: LoaderConfiguration(retries: retries, clock: RecordingClock()))
    waymark.configuration.offlinePolicy = offlinePolicy
    return waymark
  }

  @Test func everyPageRepeatsTheBody() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "<?cursor=1>; rel=\"next\""]),
      .ok(#"[{"name":"B"}]"#, ["Link": "</locations/search?cursor=2>; rel=\"next\""]), .ok(#"[{"name":"C"}]"#))
    var names: [String] = []

    for try await place in waymark(service).places(in: area) { names.append(place.name) }

    #expect(names == ["A", "B", "C"])
    #expect(service.requests.map(\.httpMethod) == ["POST", "POST", "POST"])
    #expect(service.requests.map { $0.url?.path() } == Array(repeating: "/locations/search", count: 3))
    #expect(service.requests.map { $0.url?.query() } == [nil, "cursor=1", "cursor=2"])
    #expect(service.requests[0].httpBody?.isEmpty == false)
    #expect(Set(service.requests.map(\.httpBody)).count == 1)
  }

  @Test func pagesContinueAtALink() async throws {
    let service = try MockService(.ok(#"[{"name":"B"}]"#))
    let link = service.baseURL.appending(path: "locations/search").appending(queryItems: [
      .init(name: "cursor", value: "1")
    ])
    var names: [String] = []

    for try await page in waymark(service).places(in: area).pages(from: link) { names += page.value.map(\.name) }

    #expect(names == ["B"])
    #expect(service.requests.first?.url?.query() == "cursor=1")
    #expect(service.requests.first?.httpBody?.isEmpty == false)
  }

  @Test func linkToAnotherResourceIsNotFollowed() async throws {
    let service = try MockService(.ok("[]", ["Link": "</locations/import>; rel=\"next\""]))
    var pages = waymark(service).places(in: area).pages.makeAsyncIterator()
    _ = try await pages.next()

    await #expect(throws: WaymarkError.untrustedLink("\(service.baseURL.absoluteString)/locations/import")) {
      try await pages.next()
    }
  }

  @Test func transientFailureIsRetried() async throws {
    let service = try MockService(.problem(503, code: "overloaded"), .ok(#"[{"name":"A"}]"#))

    let places = try await waymark(service, retries: .standard).places(in: area).firstPage()

    #expect(places.map(\.name) == ["A"])
    #expect(service.requests.count == 2)
  }

  @Test func searchThatTakesTooLongIsNotRetried() async throws {
    let service = try MockService(.problem(503, code: "filter-timeout", fields: ["Retry-After": "1"]), .ok("[]"))

    let error = await #expect(throws: WaymarkError.self) {
      try await waymark(service, retries: .standard).places(PointFilter(condition: "name = 'A'")).firstPage()
    }

    guard case .problem(let problem)? = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(problem.code == .filterTimeout)
    #expect(service.requests.count == 1)
  }

  @Test func creationWithoutAKeyIsStillNotRetried() async throws {
    let service = try MockService(.problem(503, code: "overloaded"), .ok("{}"))
    let file = PointImport(data: Data(), format: .csv)

    await #expect(throws: WaymarkError.self) {
      try await waymark(service, retries: .standard).loader(ImportPointsRequest(baseURL: service.baseURL))
        .loadAPIRequest(requestData: file)
    }
    #expect(service.requests.count == 1)
  }

  @Test func readAfterAWriteSendsItsPosition() async throws {
    let service = try MockService(.ok("[]"))

    _ = try await waymark(service).reading(after: "7").places(in: area).firstPage()

    #expect(service.requests.first?.value(forHTTPHeaderField: "Waymark-Min-Position") == "7")
  }

  @Test func responseIsNotStored() async throws {
    let service = try MockService(
      .ok("[]", ["Cache-Control": "no-store", "ETag": "\"1\""]), .failure(.notConnectedToInternet))
    let waymark = waymark(service)
    _ = try await waymark.places(in: area).firstPage()

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await waymark.places(in: area).firstPage()
    }
    #expect(service.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
    #expect(OnDiskCache(folder: folder.url).currentItems.isEmpty)
  }

  @Test func cacheOnlyPolicySendsNothing() async throws {
    let service = try MockService(.ok("[]"))

    await #expect(throws: WaymarkError.unreachable(.resourceUnavailable)) {
      try await waymark(service, offlinePolicy: .cacheOnly).places(in: area).firstPage()
    }
    #expect(service.requests.isEmpty)
  }

  // MARK: Short searches and maps

  @Test func callsSendTheirRequests() async throws {
    let features =
      #"{"features":[{"id":"1/0/0","geometry":{"coordinates":[1,2]},"properties":{"count":2,"name":"A"}}]}"#
    let service = try MockService(
      .ok(#"[{"name":"A","alongMetres":1.5}]"#), .ok("[]"), .ok(features),
      .ok(#"{"count":1,"facets":{"category":[]},"missing":{"category":1}}"#))
    let waymark = waymark(service)

    let along = try await waymark.places(along: route, category: "fuel", pageSize: 3).firstPage()
    let within = try await waymark.places(in: try SearchArea(wkt: "POLYGON((0 0,1 0,0 1,0 0))"), category: "bar")
      .firstPage()
    let clusters = try await waymark.clusters(zoom: 3)
    let facets = try await waymark.facets(by: [.category], limit: 2)

    #expect(along.map(\.alongMetres) == [1.5])
    #expect(within.isEmpty)
    #expect(clusters.map(\.count) == [2])
    #expect(facets[.category]?.missingCount == 1)
    #expect(
      service.requests.map { $0.url?.absoluteString.dropFirst(service.baseURL.absoluteString.count) } == [
        "/locations?route=_p~iF~ps%7CU_ulLnnqC&radius=500.0&category=fuel&limit=3&fields=%2A",
        "/locations?within=POLYGON%28%280.0%200.0%2C1.0%200.0%2C0.0%201.0%2C0.0%200.0%29%29&category=bar&fields=%2A",
        "/locations/clusters?zoom=3", "/locations/facets?by=category&limit=2",
      ])
  }

  @Test func routesClustersAndFacetsAreAvailableOffline() async throws {
    let features =
      #"{"features":[{"id":"1/0/0","geometry":{"coordinates":[1,2]},"properties":{"count":2,"name":"A"}}]}"#
    let service = try MockService(
      .ok(#"[{"name":"A","alongMetres":1.5}]"#), .ok(features),
      .ok(#"{"count":1,"facets":{"category":[]},"missing":{"category":1}}"#), .failure(.notConnectedToInternet))
    let responses = waymark(service).responses
    let live = (
      try await responses.places(along: route), try await responses.clusters(zoom: 3),
      try await responses.facets(by: [.category])
    )

    let stale = (
      try await responses.places(along: route), try await responses.clusters(zoom: 3),
      try await responses.facets(by: [.category])
    )

    #expect([live.0.isStale, live.1.isStale, live.2.isStale] == [false, false, false])
    #expect([stale.0.isStale, stale.1.isStale, stale.2.isStale] == [true, true, true])
    #expect(stale.0.value == live.0.value)
    #expect(stale.1.value == live.1.value)
    #expect(stale.2.value == live.2.value)
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) { try await responses.clusters(zoom: 4) }
  }

  @Test func areaIsAvailableOfflineAfterAMove() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A","lat":1,"long":2,"distance":0},{"name":"B","lat":1.001,"long":2,"distance":110.6}]"#),
      .failure(.notConnectedToInternet))
    let waymark = waymark(service)
    func filter(_ latitude: Double) throws -> PointFilter {
      PointFilter(
        center: try Coordinate(latitude: latitude, longitude: 2),
        area: try SearchArea(wkt: "POLYGON((0 0,5 0,0 5,0 0))"), condition: "name <> \("C")")
    }
    _ = try await waymark.places(try filter(1)).firstPage()

    let moved = try await waymark.responses.places(try filter(1.001))

    #expect(moved.isStale)
    #expect(moved.value.map(\.name) == ["B", "A"])
  }
}
