import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// A device that has moved since its last response, and is offline.
@Suite struct MovedRequestTests {
  private let folder = CacheFolder()

  /// Two places on a meridian, as the service returns them for a coordinate south of both.
  private static let places = """
    [{"id":"00000000-0000-7000-8000-00000000000a","name":"South","lat":37.331,"long":-121.8893,"distance":188.7},
    {"id":"00000000-0000-7000-8000-00000000000b","name":"North","lat":37.334,"long":-121.8893,"distance":521.6}]
    """

  private func position(_ latitude: Double = 37.3293, _ longitude: Double = -121.8893) throws -> Coordinate {
    try Coordinate(latitude: latitude, longitude: longitude)
  }

  private func configuration(user: Credentials? = nil, policy: OfflinePolicy = .networkFirst) -> LoaderConfiguration {
    LoaderConfiguration(
      credentials: user, retries: .none, cache: OnDiskCache(folder: folder.url), offlinePolicy: policy,
      now: { Date(timeIntervalSinceReferenceDate: 0) })
  }

  private func loader(
    of service: MockService, radiusMetres: Double? = nil, user: Credentials? = nil
  ) -> APIRequestLoader<PointsOfInterestRequest> {
    APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL, radiusMetres: radiusMetres),
      urlSession: service.session, configuration: configuration(user: user))
  }

  @Test(arguments: [(37.32931, -121.88931), (37.3338, -121.8893), (37.3254, -121.8846)])
  func responseOfANearbyCoordinateIsServedOffline(latitude: Double, longitude: Double) async throws {
    let service = try MockService(.ok(Self.places), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: position())

    let response = try await loader.load(requestData: position(latitude, longitude))

    #expect(response.isStale)
    #expect(response.value.count == 2)
  }

  @Test func movedPlacesAreSortedByTheirTrueDistance() async throws {
    let service = try MockService(.ok(Self.places), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: position())

    let response = try await loader.load(requestData: position(37.3335))

    #expect(response.value.map(\.name) == ["North", "South"])
    // A degree of latitude has 110,988 m here.
    #expect(response.value.map(\.distanceMetres) == [55.5, 277.5])
  }

  @Test func movedPlacesBeyondTheRadiusAreLeftOut() async throws {
    let service = try MockService(.ok(Self.places), .failure(.notConnectedToInternet))
    let loader = loader(of: service, radiusMetres: 530)
    _ = try await loader.load(requestData: position())

    let response = try await loader.load(requestData: position(37.328))

    #expect(response.value.map(\.name) == ["South"])
  }

  @Test func nearestOfSeveralResponsesIsServed() async throws {
    let service = try MockService(
      .ok(#"[{"name":"far","lat":37.33,"long":-121.88}]"#), .ok(#"[{"name":"near","lat":37.33,"long":-121.88}]"#),
      .ok(#"[{"name":"other side","lat":37.33,"long":-121.88}]"#), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    for latitude in [37.3353, 37.3293, 37.3233] { _ = try await loader.load(requestData: position(latitude)) }

    let response = try await loader.load(requestData: position(37.3301))

    #expect(response.value.map(\.name) == ["near"])
  }

  @Test func responseOfADistantCoordinateIsNotServed() async throws {
    let service = try MockService(.ok(Self.places), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: position())

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      // 1,010 m to the north.
      try await loader.load(requestData: position(37.3384))
    }
  }

  @Test func placesWithoutCoordinatesAreNotServedElsewhere() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#), .failure(.notConnectedToInternet))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: position())

    #expect(try await loader.load(requestData: position()).value.map(\.name) == ["A"])
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: position(37.32931))
    }
  }

  @Test func entityTagOfAnotherCoordinateIsNotSent() async throws {
    let service = try MockService(.ok(Self.places, ["ETag": "\"1\""]), .ok("[]", ["ETag": "\"2\""]))
    let loader = loader(of: service)
    _ = try await loader.load(requestData: position())

    let response = try await loader.load(requestData: position(37.32931))

    #expect(service.requests.last?.value(forHTTPHeaderField: "If-None-Match") == nil)
    #expect(response.value.isEmpty)
  }

  @Test func walkNeedsOneFileForEachCell() async throws {
    let service = try MockService(.ok(Self.places))
    let loader = loader(of: service)

    for step in 0..<25 { _ = try await loader.load(requestData: position(37.3293 + Double(step) * 0.0004)) }

    // 1.1 km with cells of about 500 m.
    #expect((2...4).contains(OnDiskCache(folder: folder.url).currentItems.count))
  }

  @Test func usersNeverSeeEachOthersResponses() async throws {
    let service = try MockService(.ok(#"[{"name":"Secret"}]"#), .failure(.notConnectedToInternet))
    let first = loader(of: service, user: .apiKey("wm_first"))
    _ = try await first.load(requestData: position())

    for other in [loader(of: service, user: .apiKey("wm_second")), loader(of: service)] {
      await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
        try await other.load(requestData: position())
      }
    }
    #expect(try await first.load(requestData: position()).value.map(\.name) == ["Secret"])
  }

  @Test func cacheDoesNotContainTheCredential() async throws {
    let service = try MockService(.ok(Self.places))
    _ = try await loader(of: service, user: .apiKey("wm_secret_key")).load(requestData: position())

    let items = OnDiskCache(folder: folder.url).currentItems

    #expect(items.count == 1)
    for item in items {
      #expect(try !String(contentsOf: URL(filePath: item.path), encoding: .utf8).contains("wm_secret_key"))
      #expect(!item.path.contains("wm_secret_key"))
    }
  }

  @Test func pagesOfAMovedSearchAreServedOffline() async throws {
    let service = try MockService(
      .ok(Self.places, ["Link": "</locations?lat=37.3293&cursor=1>; rel=\"next\""]), .ok(#"[{"name":"Last"}]"#),
      .failure(.notConnectedToInternet))
    let loader = APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL), urlSession: service.session, configuration: configuration())
    for try await _ in loader.pages(requestData: PointFilter(center: try position())) {}

    var names: [String] = []
    for try await page in loader.pages(requestData: PointFilter(center: try position(37.3335))) {
      names += page.value.map(\.name)
    }

    #expect(names == ["North", "South", "Last"])
  }

  /// The link of the first page around ``position(_:_:)``, whose query is that of the request, as the service's is.
  private static let nextPage = ["Link": "<?lat=37.3293&long=-121.8893&cursor=1>; rel=\"next\""]

  /// Two further places on the meridian.
  private static let furtherPlaces = """
    [{"id":"00000000-0000-7000-8000-00000000000c","name":"Far north","lat":37.337,"long":-121.8893,"distance":854.6},
    {"id":"00000000-0000-7000-8000-00000000000d","name":"Far south","lat":37.3203,"long":-121.8893,"distance":998.9}]
    """

  private func pages(
    of service: MockService, policy: OfflinePolicy = .networkFirst
  ) -> APIRequestLoader<PointsRequest> {
    APIRequestLoader(
      apiRequest: PointsRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: configuration(policy: policy))
  }

  private func pages(
    _ loader: APIRequestLoader<PointsRequest>, around center: Coordinate, radiusMetres: Double? = nil,
    from link: URL? = nil
  ) async throws -> [[PointOfInterest]] {
    var pages: [[PointOfInterest]] = []
    let filter = PointFilter(center: center, radiusMetres: radiusMetres)
    for try await page in loader.pages(requestData: filter, from: link) { pages.append(page.value) }
    return pages
  }

  @Test(arguments: [OfflinePolicy.networkFirst, .cacheOnly, .cacheFirst(maximumAge: .seconds(60))])
  func laterPagesOfAMovedSearchHaveTheirTrueDistances(policy: OfflinePolicy) async throws {
    let service = try MockService(
      .ok(Self.places, Self.nextPage), .ok(Self.furtherPlaces), .failure(.notConnectedToInternet))
    _ = try await pages(pages(of: service), around: position())

    let moved = try await pages(pages(of: service, policy: policy), around: position(37.328))

    #expect(moved.map { $0.map(\.name) } == [["South", "North"], ["Far south", "Far north"]])
    #expect(moved.map { $0.map(\.distanceMetres) } == [[333.0, 665.9], [854.6, 998.9]])
  }

  @Test func laterPlacesBeyondTheRadiusOfAMovedSearchAreLeftOut() async throws {
    let next = ["Link": "<?lat=37.3293&long=-121.8893&radius=1000.0&cursor=1>; rel=\"next\""]
    let service = try MockService(.ok(Self.places, next), .ok(Self.furtherPlaces), .failure(.notConnectedToInternet))
    _ = try await pages(pages(of: service), around: position(), radiusMetres: 1000)

    let moved = try await pages(pages(of: service), around: position(37.3282), radiusMetres: 1000)
    let movedFurther = try await pages(pages(of: service), around: position(37.3279), radiusMetres: 1000)

    #expect(moved.last?.map(\.name) == ["Far south", "Far north"])
    #expect(movedFurther.last?.map(\.name) == ["Far south"])
  }

  @Test func laterPagesOfAMovedSearchHaveTheirTrueDistancesOnlineAgain() async throws {
    let later = MockResponse.ok(Self.furtherPlaces, ["ETag": "\"1\""])
    let service = try MockService(
      .ok(Self.places, Self.nextPage), later, .failure(.notConnectedToInternet), later,
      .failure(.notConnectedToInternet), .response(status: 304, fields: ["ETag": "\"1\""], body: ""))
    let loader = pages(of: service)
    let original = try await pages(loader, around: position())

    for _ in ["changed", "unchanged"] {
      let moved = try await pages(loader, around: position(37.328))
      #expect(moved.last?.map(\.distanceMetres) == [854.6, 998.9])
    }

    // The stored page is that of the original search, as its URL is.
    #expect(original.last?.map(\.distanceMetres) == [854.6, 998.9])
    #expect(original.last?.map(\.name) == ["Far north", "Far south"])
  }

  @Test func resumedPagesOfAMovedSearchHaveTheirTrueDistances() async throws {
    let service = try MockService(.ok(Self.furtherPlaces))
    let link = try URL(text: "\(service.baseURL.absoluteString)/locations?lat=37.3293&long=-121.8893&cursor=1")

    let here = try await pages(pages(of: service), around: position(), from: link)
    let moved = try await pages(pages(of: service), around: position(37.328), from: link)

    #expect(here.map { $0.map(\.name) } == [["Far north", "Far south"]])
    #expect(moved.map { $0.map(\.name) } == [["Far south", "Far north"]])
  }

  // MARK: Checks

  private func check(_ service: MockService, radiusMetres: Double? = nil) -> APIRequestLoader<PointCheckRequest> {
    APIRequestLoader(
      apiRequest: PointCheckRequest(baseURL: service.baseURL, radiusMetres: radiusMetres), urlSession: service.session,
      configuration: configuration())
  }

  @Test func checkNearAKnownPlaceSucceedsOffline() async throws {
    let service = try MockService(
      .ok(#"{"isPointOfInterest":true,"location":{"name":"A","lat":37.3293,"long":-121.8893,"distance":0.0}}"#),
      .failure(.notConnectedToInternet))
    let loader = check(service)
    _ = try await loader.load(requestData: position())

    let response = try await loader.load(requestData: position(37.3297))

    #expect(response.value.isPointOfInterest)
    #expect(response.value.place?.distanceMetres == 44.4)
  }

  @Test func checkBeyondTheRadiusOfTheKnownPlaceFailsOffline() async throws {
    let service = try MockService(
      .ok(#"{"isPointOfInterest":true,"location":{"name":"A","lat":37.3293,"long":-121.8893,"distance":0.0}}"#),
      .failure(.notConnectedToInternet))
    let loader = check(service, radiusMetres: 40)
    _ = try await loader.load(requestData: position())

    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: position(37.3297))
    }
  }

  @Test func noPlaceAtOneCoordinateSaysNothingOfAnother() async throws {
    let service = try MockService(.ok(#"{"isPointOfInterest":false}"#), .failure(.notConnectedToInternet))
    let loader = check(service)
    _ = try await loader.load(requestData: position())

    #expect(try await loader.load(requestData: position()).value.isPointOfInterest == false)
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) {
      try await loader.load(requestData: position(37.32931))
    }
  }
}
