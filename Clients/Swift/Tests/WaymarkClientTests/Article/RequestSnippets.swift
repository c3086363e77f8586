import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct RequestSnippets {
  // snippet: making
  @Test func theRequestHasTheCoordinate() throws {
    let baseURL = try URL(text: "https://example.com")
    let coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    let urlRequest = try PointsOfInterestRequest(baseURL: baseURL).makeRequest(from: coordinate)

    #expect(urlRequest.url?.host() == "example.com")
    #expect(urlRequest.url?.query() == "lat=37.3293&long=-121.8893")
  }
  // end

  // snippet: parsing
  @Test func theResponseHasThePlaces() throws {
    let request = PointsOfInterestRequest(baseURL: try URL(text: "https://example.com"))
    let data = Data(#"[{"name":"My Location"}]"#.utf8)

    let places = try request.parseResponse(data: data)

    #expect(places == [PointOfInterest(name: "My Location")])
  }
  // end

  // snippet: hidden-input
  @Test func aCreationCarriesItsKey() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let place = PointDraft(name: "A", coordinate: try Coordinate(latitude: 1, longitude: 2))

    _ = try await waymark.create(place, idempotencyKey: "key-1")

    #expect(service.requests.first?.value(forHTTPHeaderField: "Idempotency-Key") == "key-1")
  }
  // end
}
