import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Clusters, facets and tiles.
@Suite struct MapRequestTests {
  private let baseURL: URL
  private let here: Coordinate
  private let area: SearchArea

  init() throws {
    baseURL = try URL(text: "https://example.com")
    here = try Coordinate(latitude: 1, longitude: 2)
    area = try SearchArea(wkt: "POLYGON((0 0,10 0,0 10,0 0))")
  }

  private func conditions() throws -> PointFilter {
    PointFilter(
      box: try BoundingBox(west: 1, south: 2, east: 3, north: 4), categories: ["cafe"], tags: ["a": ["b"]],
      condition: "name = 'A'")
  }

  /// Filters with a condition that a map does not take.
  private func unsupported() throws -> [PointFilter] {
    [
      PointFilter(center: here), PointFilter(center: here, radiusMetres: 5), PointFilter(radiusMetres: 5),
      PointFilter(route: try SearchRoute([here, Coordinate(latitude: 1, longitude: 3)], radiusMetres: 500)),
    ]
  }

  // MARK: Texts

  @Test func placesOnMapsMatchAText() async throws {
    let service = try MockService(
      .ok(#"{"features":[]}"#), .ok(#"{"count":0,"facets":{"category":[]},"missing":{"category":0}}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let filter = PointFilter(categories: ["cafe"], source: "osm", sourceID: "1")

    _ = try await waymark.clusters(zoom: 3, matching: "é & b", filter: filter)
    _ = try await waymark.facets(by: [.category], matching: "é & b", filter: filter, limit: 2)
    let tiles = try waymark.tiles(of: filter, matching: "é & b", tags: ["website"])

    let condition = "q=%C3%A9%20%26%20b&category=cafe&source=osm&sourceId=1"
    #expect(
      service.requests.compactMap { $0.url?.query(percentEncoded: true) } == [
        "zoom=3&\(condition)", "by=category&limit=2&\(condition)",
      ])
    #expect(tiles.template.hasSuffix("/tiles/{z}/{x}/{y}.mvt?\(condition)&tags=website"))
    #expect(tiles.descriptionURL.query(percentEncoded: true) == "\(condition)&tags=website")
  }

  @Test(arguments: ["", String(repeating: "a", count: 201)]) func invalidTextIsRejected(text: String) {
    #expect(throws: RequestError.invalidText) {
      try ClustersRequest(baseURL: baseURL, zoom: 1, matching: text).makeRequest(from: PointFilter())
    }
    #expect(throws: RequestError.invalidText) {
      try FacetsRequest(baseURL: baseURL, by: [.category], matching: text).makeRequest(from: PointFilter())
    }
    #expect(throws: RequestError.invalidText) { try VectorTiles(baseURL: baseURL, matching: text) }
  }

  // MARK: Clusters

  @Test func clustersHaveTheZoomAndTheConditions() throws {
    let request = try ClustersRequest(baseURL: baseURL, zoom: 5).makeRequest(from: conditions())

    #expect(request.httpMethod == "GET")
    #expect(request.value(forHTTPHeaderField: "Accept") == "application/geo+json")
    #expect(
      request.url?.absoluteString == "https://example.com/locations/clusters?zoom=5&bbox=1.0,2.0,3.0,4.0&category=cafe"
        + "&tag.a=b&filter=name%20%3D%20%27A%27")
  }

  @Test func invalidClustersAreRejected() throws {
    for zoom in [-1, 23] {
      #expect(throws: RequestError.invalidZoom) {
        try ClustersRequest(baseURL: baseURL, zoom: zoom).makeRequest(from: PointFilter())
      }
    }
    for filter in try unsupported() {
      #expect(throws: RequestError.unsupportedFilter) {
        try ClustersRequest(baseURL: baseURL, zoom: 1).makeRequest(from: filter)
      }
    }
  }

  @Test func clustersAreDecoded() throws {
    let data = Data(
      """
      {"type":"FeatureCollection","features":[
      {"type":"Feature","id":"6/33/17","geometry":{"type":"Point","coordinates":[2,1]},
      "properties":{"count":3,"name":"A","category":"cafe"}},
      {"type":"Feature","id":"6/33/18","geometry":{"type":"Point","coordinates":[2,91]},
      "properties":{"count":3,"name":"B"}},
      {"type":"Feature","id":"0199a1b2-0000-7000-8000-000000000001","geometry":{"type":"Point","coordinates":[2,1]},
      "properties":{"count":1,"name":"C"}},
      {"type":"Feature","id":"6/33/19","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"B"}}]}
      """.utf8)

    let parsed = try ClustersRequest(baseURL: baseURL, zoom: 2).parse(data: data)

    let id = try #require(UUID(uuidString: "0199a1b2-0000-7000-8000-000000000001"))
    #expect(
      parsed.value == [
        PointCluster(id: "6/33/17", coordinate: here, count: 3, name: "A", category: "cafe"),
        PointCluster(id: "0199a1b2-0000-7000-8000-000000000001", coordinate: here, count: 1, name: "C"),
      ])
    #expect(parsed.value.map(\.placeID) == [nil, id])
    #expect(
      parsed.invalidRows == [
        InvalidRow(row: 2, detail: "geometry.coordinates: must be a longitude and a latitude"),
        InvalidRow(row: 4, detail: "count is missing"),
      ])
  }

  @Test(arguments: ["", "[]", "{}", #"{"features":[{}]}"#, #"{"features":{}}"#])
  func bodyThatIsNoCollectionIsRejected(body: String) {
    #expect(throws: DecodingError.self) {
      try ClustersRequest(baseURL: baseURL, zoom: 2).parseResponse(data: Data(body.utf8))
    }
  }

  // MARK: Facets

  @Test func facetsHaveTheirPropertiesAndTheConditions() throws {
    let request = FacetsRequest(baseURL: baseURL, by: [.category, .tag("a b")], limit: 3)

    let address = try request.makeRequest(from: conditions()).url?.absoluteString

    #expect(
      address == "https://example.com/locations/facets?by=category,tag.a%20b&limit=3&bbox=1.0,2.0,3.0,4.0"
        + "&category=cafe&tag.a=b&filter=name%20%3D%20%27A%27")
  }

  @Test(
    arguments: [
      [], [.category, .category], [.tag("")], [.tag("a,b")], [.tag(String(repeating: "a", count: 201))],
      (0..<21).map { .tag("\($0)") }, [.category] + (0..<20).map { .tag("\($0)") },
    ] as [[PointProperty]])
  func invalidPropertiesAreRejected(properties: [PointProperty]) {
    #expect(throws: RequestError.invalidTagKeys) {
      try FacetsRequest(baseURL: baseURL, by: properties).makeRequest(from: PointFilter())
    }
  }

  @Test func invalidFacetsAreRejected() throws {
    #expect(throws: RequestError.invalidLimit) {
      try FacetsRequest(baseURL: baseURL, by: [.category], limit: 0).makeRequest(from: PointFilter())
    }
    for filter in try unsupported() {
      #expect(throws: RequestError.unsupportedFilter) {
        try FacetsRequest(baseURL: baseURL, by: [.category]).makeRequest(from: filter)
      }
    }
  }

  @Test func facetsAreDecodedInTheOrderOfTheRequest() throws {
    let data = Data(
      """
      {"count":5,"facets":{"category":[{"value":"cafe","count":2},{"value":"bar","count":1}],"tag.a":[]},
      "missing":{"category":2,"tag.a":5}}
      """.utf8)
    let request = FacetsRequest(baseURL: baseURL, by: [.tag("a"), .category])

    let facets = try request.parseResponse(data: data)

    let categories = PointFacet(
      property: .category, values: [.init("cafe", count: 2), .init("bar", count: 1)], missingCount: 2)
    let tags = PointFacet(property: .tag("a"), values: [], missingCount: 5)
    #expect(facets == PointFacets(count: 5, facets: [tags, categories]))
    #expect(facets[.category] == categories)
    #expect(facets[.tag("b")] == nil)
    #expect(throws: DecodingError.self) {
      try FacetsRequest(baseURL: baseURL, by: [.tag("b")]).parseResponse(data: data)
    }
  }

  // MARK: Tiles

  @Test(arguments: ["https://example.com/a%20b", "https://example.com/a%20b/"])
  func tilesHaveATemplateAndADescription(base: String) throws {
    let filter = PointFilter(area: area, categories: ["cafe"], tags: ["a": ["{z}"]])

    let tiles = try VectorTiles(baseURL: try URL(text: base), filter: filter, tags: ["website", "b?c"])

    let query =
      "within=POLYGON%28%280.0%200.0%2C10.0%200.0%2C0.0%2010.0%2C0.0%200.0%29%29&category=cafe"
      + "&tag.a=%7Bz%7D&tags=website,b%3Fc"
    #expect(tiles.template == "https://example.com/a%20b/tiles/{z}/{x}/{y}.mvt?\(query)")
    #expect(tiles.descriptionURL.absoluteString == "https://example.com/a%20b/tiles.json?\(query)")
  }

  @Test func tilesOfAllPlacesHaveNoQuery() throws {
    let tiles = try Waymark(baseURL: baseURL).tiles()

    #expect(tiles.template == "https://example.com/tiles/{z}/{x}/{y}.mvt")
    #expect(tiles.descriptionURL.absoluteString == "https://example.com/tiles.json")
  }

  @Test func invalidTilesAreRejected() throws {
    for tags in [["id"], ["a", "a"], ["a,b"], [""], (0..<21).map { "\($0)" }] {
      #expect(throws: RequestError.invalidTagKeys) { try VectorTiles(baseURL: baseURL, tags: tags) }
    }
    for filter in try unsupported() + [conditions()] {
      #expect(throws: RequestError.unsupportedFilter) { try VectorTiles(baseURL: baseURL, filter: filter) }
    }
    #expect(throws: RequestError.invalidBaseURL) { try VectorTiles(baseURL: try URL(text: "ftp://example.com")) }
  }
}
