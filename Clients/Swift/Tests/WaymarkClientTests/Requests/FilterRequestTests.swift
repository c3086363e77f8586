import Foundation
import Testing
import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The conditions of searches in addresses and in bodies.
@Suite struct FilterRequestTests {
  private let baseURL: URL
  private let here: Coordinate
  private let area: SearchArea
  private let route: SearchRoute

  init() throws {
    baseURL = try URL(text: "https://example.com/base")
    here = try Coordinate(latitude: 1, longitude: 2)
    area = try SearchArea(wkt: "POLYGON((0 0,10 0,0 10,0 0))")
    route = try SearchRoute([here, Coordinate(latitude: 1, longitude: 3)], radiusMetres: 500)
  }

  private func request(_ filter: PointFilter, limit: Int? = nil) throws -> URLRequest {
    try PointsRequest(baseURL: baseURL, limit: limit).makeRequest(from: filter)
  }

  /// An area whose text is longer than an address may be.
  private func longArea() throws -> SearchArea {
    try SearchArea((0..<400).map { try Coordinate(latitude: Double($0) / 10, longitude: Double($0 % 2)) })
  }

  private func body(_ request: URLRequest) throws -> [String: Any] {
    let data = try #require(request.httpBody)
    return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
  }

  @Test func everyConditionIsInTheQuery() throws {
    let box = try BoundingBox(west: 1, south: 2, east: 3, north: 4)
    let filter = PointFilter(
      center: here, radiusMetres: 5, box: box, area: area, categories: ["a,b", "c"], source: "s&t",
      sourceID: "node/1", tags: ["wheelchair": ["yes", "limited"], "a&b=": ["1,5"], "empty": []],
      condition: "name = \("é")")

    let request = try request(filter, limit: 7)

    #expect(request.httpMethod == "GET")
    #expect(
      request.url?.absoluteString
        == "https://example.com/base/locations?lat=1.0&long=2.0&radius=5.0&bbox=1.0,2.0,3.0,4.0"
        + "&within=POLYGON%28%280.0%200.0%2C10.0%200.0%2C0.0%2010.0%2C0.0%200.0%29%29&category=a%2Cb,c"
        + "&source=s%26t&sourceId=node%2F1&tag.a%26b%3D=1%2C5&tag.wheelchair=yes&tag.wheelchair=limited&filter=name%20%3D%20%27%C3%A9%27&limit=7"
    )
  }

  @Test func idsAreInTheQueryInTheirOrderAndMapsDoNotTakeThem() throws {
    let texts = ["01000000-0000-0000-0000-0000000000AB", "00000000-0000-0000-0000-000000000000"]
    let ids = texts.compactMap { UUID(uuidString: $0) }

    let filter = PointFilter(ids: ids)

    #expect(
      try request(filter).url?.query()
        == "ids=01000000-0000-0000-0000-0000000000ab,00000000-0000-0000-0000-000000000000")
    #expect(throws: RequestError.unsupportedFilter) {
      try ClustersRequest(baseURL: baseURL, zoom: 1).makeRequest(from: filter)
    }
  }

  @Test func routeHasItsRadius() throws {
    let polyline = try SearchRoute(polyline: "_p~iF~ps|U_ulLnnqC", radiusMetres: 1.5)

    #expect(
      try request(PointFilter(route: route)).url?.query()
        == "route=LINESTRING%282.0%201.0%2C3.0%201.0%29&radius=500.0")
    #expect(
      try request(PointFilter(route: polyline)).url?.query(percentEncoded: true)
        == "route=_p~iF~ps%7CU_ulLnnqC&radius=1.5")
  }

  @Test func contradictionsAreRejected() throws {
    #expect(throws: RequestError.centerWithRoute) { try request(PointFilter(center: here, route: route)) }
    #expect(throws: RequestError.radiusWithoutCenter) { try request(PointFilter(radiusMetres: 1, route: route)) }
    #expect(throws: RequestError.sourceIDWithoutSource) { try request(PointFilter(sourceID: "node/1")) }
    #expect(throws: RequestError.invalidCondition) { try request(PointFilter(condition: "")) }
    #expect(throws: RequestError.distanceWithoutCenter) {
      try PointSearchRequest(baseURL: baseURL)
        .makeRequest(from: PointSearch("a", filter: PointFilter(route: route), order: .distance))
    }
  }

  @Test(arguments: ["", "\0", String(repeating: "k", count: 201)]) func invalidKeyIsRejected(key: String) {
    #expect(throws: RequestError.invalidTagKeys) { try request(PointFilter(tags: [key: ["a"]])) }
  }

  @Test func longSearchIsInABody() throws {
    let filter = PointFilter(
      center: here, radiusMetres: 5, box: try BoundingBox(west: 1, south: 2, east: 3, north: 4), area: try longArea(),
      categories: ["a,b", "c"], source: "s", sourceID: "1", tags: ["wheelchair": ["yes", "limited"]],
      condition: "name = 'A'")

    let request = try PointsRequest(baseURL: baseURL, limit: 7, fields: .all).makeRequest(from: filter)

    #expect(request.httpMethod == "POST")
    #expect(request.url?.absoluteString == "https://example.com/base/locations/search")
    #expect(request.value(forHTTPHeaderField: "Content-Type") == "application/json")
    #expect(request.value(forHTTPHeaderField: "Idempotency-Key") == nil)
    let body = try body(request)
    #expect(
      Set(body.keys) == [
        "lat", "long", "radius", "bbox", "within", "category", "source", "sourceId", "tag.wheelchair", "filter",
        "limit", "fields",
      ])
    #expect(body["lat"] as? Double == 1)
    #expect(body["bbox"] as? [Double] == [1, 2, 3, 4])
    #expect(body["category"] as? [String] == ["a,b", "c"])
    #expect(body["source"] as? String == "s")
    #expect(body["sourceId"] as? String == "1")
    #expect(body["tag.wheelchair"] as? [String] == ["yes", "limited"])
    #expect(body["limit"] as? Int == 7)
    #expect(body["fields"] as? String == "*")
    let within = try #require(body["within"] as? [String: Any])
    #expect(within["type"] as? String == "MultiPolygon")
    let coordinates = try #require(within["coordinates"] as? [[[[Double]]]])
    #expect(coordinates.first?.first?.count == 401)
  }

  @Test func longSearchByNameIsInABody() throws {
    let line = try (0..<500).map { try Coordinate(latitude: Double($0) / 10, longitude: 1.25) }
    let route = try SearchRoute(line, radiusMetres: 500)
    let search = PointSearch(
      "museum", filter: PointFilter(route: route), isIncomplete: true, languages: ["ko", "en"])

    let request = try PointSearchRequest(baseURL: baseURL).makeRequest(from: search)

    #expect(request.httpMethod == "POST")
    let body = try body(request)
    #expect(body["q"] as? String == "museum")
    #expect(body["autocomplete"] as? Bool == true)
    #expect(body["lang"] as? [String] == ["ko", "en"])
    #expect(body["radius"] as? Double == 500)
    #expect((body["route"] as? [String: Any])?["type"] as? String == "LineString")
  }

  @Test func lengthOfTheAddressDecides() throws {
    func request(categoryLength: Int) throws -> URLRequest {
      try self.request(PointFilter(categories: [String(repeating: "c", count: categoryLength)]))
    }
    let prefix = "https://example.com/base/locations?category="

    let longest = try request(categoryLength: 4000 - prefix.utf8.count)
    let longer = try request(categoryLength: 4001 - prefix.utf8.count)

    #expect(longest.httpMethod == "GET")
    #expect(longest.url?.absoluteString.utf8.count == 4000)
    #expect(longer.httpMethod == "POST")
  }

  @Test func suggestionsTakeAreasButNoConditions() throws {
    func request(_ filter: PointFilter) throws -> URLRequest {
      try SuggestionsRequest(baseURL: baseURL).makeRequest(from: PointSearch("a", filter: filter))
    }

    #expect(try request(PointFilter(area: area, tags: ["a": []])).url?.query()?.contains("within=POLYGON") == true)
    #expect(throws: RequestError.unsupportedFilter) { try request(PointFilter(tags: ["a": ["b"]])) }
    #expect(throws: RequestError.unsupportedFilter) { try request(PointFilter(condition: "name = 'A'")) }
  }

  @Test func exportTakesEveryCondition() throws {
    let filter = PointFilter(area: area, tags: ["a": ["b"]], condition: "name = 'A'")

    let request = try ExportPointsRequest(baseURL: baseURL, format: .csv).makeRequest(from: filter)

    #expect(request.httpMethod == "GET")
    #expect(request.url?.query()?.hasSuffix("&tag.a=b&filter=name%20%3D%20%27A%27&f=csv") == true)
  }

  @Test func placeAlongARouteIsDecodedAndEncoded() throws {
    let data = Data(#"[{"name":"A","distance":212.4,"alongMetres":8123.5}]"#.utf8)

    let places = try PointsRequest(baseURL: baseURL).parseResponse(data: data)

    #expect(places == [PointOfInterest(name: "A", distanceMetres: 212.4, alongMetres: 8123.5)])
    #expect(try JSONDecoder().decode([PointOfInterest].self, from: JSONEncoder().encode(places)) == places)
  }
}
