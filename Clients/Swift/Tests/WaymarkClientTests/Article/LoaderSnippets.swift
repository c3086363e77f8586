import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct LoaderSnippets {
  // snippet: loader
  @Test func theLoaderGoesFromCoordinateToPlaces() async throws {
    let service = try MockService { request, _ in
      #expect(request.url?.query()?.contains("lat=37.3293") == true)
      return try MockResponse.ok(#"[{"name":"My Location"}]"#).response(to: request)
    }
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session)

    let places = try await loader.loadAPIRequest(
      requestData: Coordinate(latitude: 37.3293, longitude: -121.8893))

    #expect(places == [PointOfInterest(name: "My Location")])
  }
  // end

  // snippet: session
  private func session() -> URLSession {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.protocolClasses = [MockURLProtocol.self]
    return URLSession(configuration: configuration)
  }
  // end

  @Test func aSessionOfTheMockProtocolReachesNoNetwork() async throws {
    let request = URLRequest(url: try URL(text: "https://nobody.test"))

    await #expect(throws: URLError.self) { try await session().data(for: request) }
  }

  // snippet: waiting
  @Test func loaderWaitsForTheRetryAfterTime() async throws {
    let clock = RecordingClock()
    let service = try MockService(
      .problem(429, code: "rate-limited", fields: ["Retry-After": "4"]), .ok("[]"))
    let loader = APIRequestLoader(
      apiRequest: PointsOfInterestRequest(baseURL: service.baseURL), urlSession: service.session,
      configuration: LoaderConfiguration(clock: clock, random: { 0 }))

    _ = try await loader.loadAPIRequest(requestData: Coordinate(latitude: 1, longitude: 2))

    #expect(clock.sleeps == [.seconds(4)])
  }
  // end
}
