import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct ReadingRequestTests {
  private let baseURL: URL
  private let coordinate: Coordinate

  init() throws {
    baseURL = try URL(text: "https://example.com")
    coordinate = try Coordinate(latitude: 37.5, longitude: -121.5)
  }

  @Test func emptyFilterHasNoParameters() throws {
    let urlRequest = try PointsRequest(baseURL: baseURL).makeRequest(from: PointFilter())

    #expect(urlRequest.url?.absoluteString == "https://example.com/locations")
    #expect(urlRequest.value(forHTTPHeaderField: "Accept") == "application/json")
  }

  @Test func filterParametersAreInAFixedOrder() throws {
    let filter = PointFilter(
      center: coordinate, radiusMetres: 0.5,
      box: try BoundingBox(west: -122, south: 37, east: -121, north: 38), categories: ["natural:peak", "bar"])

    let urlRequest = try PointsRequest(baseURL: baseURL, limit: 1000, fields: .all).makeRequest(from: filter)

    #expect(
      urlRequest.url?.query(percentEncoded: true)
        == "lat=37.5&long=-121.5&radius=0.5&bbox=-122.0,37.0,-121.0,38.0&category=natural%3Apeak,bar&limit=1000&fields=%2A"
    )
  }

  @Test func categoryIsPercentEncoded() throws {
    let urlRequest = try PointsRequest(baseURL: baseURL).makeRequest(from: PointFilter(categories: ["a,b&c+d é#"]))

    #expect(urlRequest.url?.query(percentEncoded: true) == "category=a%2Cb%26c%2Bd%20%C3%A9%23")
  }

  @Test(arguments: [-1, .nan, .infinity] as [Double])
  func invalidRadiusIsRejected(radius: Double) {
    #expect(throws: RequestError.invalidRadius) {
      try PointsRequest(baseURL: baseURL).makeRequest(from: PointFilter(center: coordinate, radiusMetres: radius))
    }
  }

  @Test func radiusWithoutCenterIsRejected() {
    #expect(throws: RequestError.radiusWithoutCenter) {
      try PointsRequest(baseURL: baseURL).makeRequest(from: PointFilter(radiusMetres: 1))
    }
  }

  @Test(arguments: [0, -1, 1001])
  func limitOutOfRangeIsRejected(limit: Int) {
    #expect(throws: RequestError.invalidLimit) {
      try PointsRequest(baseURL: baseURL, limit: limit).makeRequest(from: PointFilter())
    }
  }

  @Test func onePlaceIsRequestedWithAllItsFields() throws {
    let id = try #require(UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"))

    let urlRequest = try PointRequest(baseURL: baseURL).makeRequest(from: id)

    #expect(
      urlRequest.url?.absoluteString
        == "https://example.com/locations/0199a1b2-0000-7000-8000-000000000001?fields=%2A")
  }

  @Test func checkHasARadiusOnlyIfGiven() throws {
    let plain = try PointCheckRequest(baseURL: baseURL).makeRequest(from: coordinate)
    let wide = try PointCheckRequest(baseURL: baseURL, radiusMetres: 200).makeRequest(from: coordinate)

    #expect(plain.url?.absoluteString == "https://example.com/locations/check?lat=37.5&long=-121.5")
    #expect(wide.url?.absoluteString == "https://example.com/locations/check?lat=37.5&long=-121.5&radius=200.0")
  }

  @Test func checkIsDecodedWithAndWithoutAPlace() throws {
    let request = PointCheckRequest(baseURL: baseURL)

    let yes = try request.parseResponse(data: Data(#"{"isPointOfInterest":true,"location":{"name":"A"}}"#.utf8))
    let no = try request.parseResponse(data: Data(#"{"isPointOfInterest":false}"#.utf8))

    #expect(yes == PointCheck(isPointOfInterest: true, place: PointOfInterest(name: "A")))
    #expect(no == PointCheck(isPointOfInterest: false))
  }

  @Test func theFeaturedPlaceAndTheCategoriesHaveNoParameters() throws {
    let featured = try FeaturedPlaceRequest(baseURL: baseURL).makeRequest()
    let categories = try CategoriesRequest(baseURL: baseURL).makeRequest()

    #expect(featured.url?.absoluteString == "https://example.com/locations/featured")
    #expect(categories.url?.absoluteString == "https://example.com/categories")
  }

  @Test func categoriesOfABoxHaveItAsAParameter() throws {
    let box = try BoundingBox(west: 5.9, south: 45.8, east: 10.5, north: 47.8)

    let urlRequest = try CategoriesRequest(baseURL: baseURL, in: box).makeRequest()

    #expect(urlRequest.url?.absoluteString == "https://example.com/categories?bbox=5.9,45.8,10.5,47.8")
  }

  @Test func categoriesAreDecodedInOrder() throws {
    let data = Data(#"[{"category":"cafe","count":72},{"category":"bar","count":3}]"#.utf8)

    let counts = try CategoriesRequest(baseURL: baseURL).parseResponse(data: data)

    #expect(counts == [CategoryCount(category: "cafe", count: 72), CategoryCount(category: "bar", count: 3)])
  }

  @Test func treeOfCategoriesHasLabelsAndChildren() throws {
    let request = CategoriesRequest(baseURL: baseURL, treeLanguages: ["de", "en"])
    let data = Data(
      #"[{"category":"food","label":"Essen","count":3,"children":[{"category":"bar","label":"Bar","count":1}]}]"#.utf8)

    #expect(try request.makeRequest().url?.absoluteString == "https://example.com/categories?tree=true&lang=de,en")
    #expect(
      try CategoriesRequest(baseURL: baseURL, treeLanguages: []).makeRequest().url?.query() == "tree=true")
    #expect(
      try request.parseResponse(data: data) == [
        CategoryCount(
          category: "food", label: "Essen", count: 3,
          children: [CategoryCount(category: "bar", label: "Bar", count: 1)])
      ])
  }

  @Test func exportHasItsFormatInTheQueryAndTheHeader() throws {
    let urlRequest = try ExportPointsRequest(baseURL: baseURL, format: .geoJSONSequence)
      .makeRequest(from: PointFilter(categories: ["bar"]))

    #expect(urlRequest.url?.absoluteString == "https://example.com/locations/export?category=bar&f=geojsonseq")
    #expect(urlRequest.value(forHTTPHeaderField: "Accept") == "application/geo+json-seq")
  }
}
