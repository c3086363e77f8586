import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct PointsOfInterestRequestTests {
  private let baseURL: URL
  private let request: PointsOfInterestRequest

  init() throws {
    baseURL = try URL(text: "https://example.com")
    request = PointsOfInterestRequest(baseURL: baseURL)
  }

  @Test func theURLHasTheCoordinateAndNothingElse() throws {
    let coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    let urlRequest = try request.makeRequest(from: coordinate)

    #expect(urlRequest.httpMethod == "GET")
    #expect(urlRequest.url?.absoluteString == "https://example.com/locations?lat=37.3293&long=-121.8893")
  }

  @Test func optionsFollowTheCoordinateInTheQuery() throws {
    let request = PointsOfInterestRequest(
      baseURL: baseURL, radiusMetres: 1500, categories: ["cafe"], limit: 5)

    let urlRequest = try request.makeRequest(from: Coordinate(latitude: 1, longitude: 2))

    #expect(
      urlRequest.url?.query()
        == "lat=1.0&long=2.0&radius=1500.0&category=cafe&limit=5")
  }

  @Test(arguments: ["https://example.com/api", "https://example.com/api/"])
  func pathOfTheBaseURLIsKept(base: String) throws {
    let request = PointsOfInterestRequest(baseURL: try URL(text: base))

    let urlRequest = try request.makeRequest(from: Coordinate(latitude: 1, longitude: 2))

    #expect(urlRequest.url?.absoluteString == "https://example.com/api/locations?lat=1.0&long=2.0")
  }

  @Test(arguments: [
    "ftp://example.com", "file:///tmp", "https://example.com?a=b", "https://example.com/#x", "locations",
  ])
  func invalidBaseURLIsRejected(base: String) throws {
    let request = PointsOfInterestRequest(baseURL: try #require(URL(string: base)))
    let coordinate = try Coordinate(latitude: 1, longitude: 2)

    #expect(throws: RequestError.invalidBaseURL) { try request.makeRequest(from: coordinate) }
  }

  @Test func responseIsDecodedFromJSON() throws {
    let data = Data(#"[{"name":"My Location"}]"#.utf8)

    let response = try request.parseResponse(data: data)

    #expect(response == [PointOfInterest(name: "My Location")])
  }

  @Test(arguments: ["", "{}", "[{}]", #"[{"name":3}]"#, "<html>"])
  func bodyThatIsNotAnArrayOfPlacesIsRejected(body: String) {
    #expect(throws: DecodingError.self) { try request.parseResponse(data: Data(body.utf8)) }
  }
}
