import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct WaymarkTests {
  private let id: UUID
  private let here: Coordinate
  private let placeJSON = """
    {"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","category":"cafe","lat":1,"long":2,"tags":{"fax":"1"},
    "source":"osm","sourceId":"node/1","version":3}
    """

  init() throws {
    id = try #require(UUID(uuidString: "0199a1b2-0000-7000-8000-000000000001"))
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private func waymark(_ service: MockService, _ configuration: LoaderConfiguration = .init(retries: .none)) -> Waymark
  {
    Waymark(baseURL: service.baseURL, session: service.session, configuration: configuration)
  }

  /// Returns method, path and query of the requests.
  private func targets(_ service: MockService) -> [String] {
    service.requests.map { request in
      [request.httpMethod, request.url?.path(), request.url?.query()].compactMap { $0 }.joined(separator: " ")
    }
  }

  @Test func readsSendTheirRequests() async throws {
    let service = try MockService { request, _ in
      let body =
        switch request.url?.lastPathComponent {
        case "check": #"{"isPointOfInterest":true,"location":{"name":"A"}}"#
        case "featured", "0199a1b2-0000-7000-8000-000000000001": #"{"name":"A"}"#
        case "categories": #"[{"category":"cafe","count":2}]"#
        case "suggest": #"[{"type":"place","name":"A","label":"A, B","distance":3}]"#
        default: #"[{"name":"A"}]"#
        }
      return try MockResponse.ok(body).response(to: request)
    }
    let waymark = waymark(service)
    let box = try BoundingBox(west: 1, south: 2, east: 3, north: 4)

    let near = try await waymark.places(near: here, radius: 50, category: "cafe", pageSize: 5).firstPage()
    let inBox = try await waymark.places(in: box, category: "a,b").firstPage()
    let place = try await waymark.place(id)
    let there = try await waymark.place(at: here, radius: 10)
    let featured = try await waymark.featuredPlace()
    let categories = try await waymark.categories()
    let suggestions = try await waymark.suggestions(for: "a", filter: PointFilter(box: box))
    var all: [String] = []
    for try await place in waymark.places(near: here) { all.append(place.name) }
    for try await place in waymark.places(in: box) { all.append(place.name) }

    #expect([near, inBox].map { $0.map(\.name) } == [["A"], ["A"]])
    #expect([place.name, there?.name, featured?.name] == ["A", "A", "A"])
    #expect(categories == [CategoryCount(category: "cafe", count: 2)])
    #expect(suggestions.map(\.subtitle) == ["B"])
    #expect(all == ["A", "A"])
    #expect(
      targets(service) == [
        "GET /locations lat=1.0&long=2.0&radius=50.0&category=cafe&limit=5&fields=%2A",
        "GET /locations bbox=1.0,2.0,3.0,4.0&category=a%2Cb&fields=%2A",
        "GET /locations/0199a1b2-0000-7000-8000-000000000001 fields=%2A",
        "GET /locations/check lat=1.0&long=2.0&radius=10.0", "GET /locations/featured", "GET /categories",
        "GET /locations/suggest q=a&bbox=1.0,2.0,3.0,4.0",
        "GET /locations lat=1.0&long=2.0&fields=%2A", "GET /locations bbox=1.0,2.0,3.0,4.0&fields=%2A",
      ])
  }

  @Test func writesSendTheirRequests() async throws {
    let service = try MockService { [placeJSON] request, _ in
      let body =
        request.url?.lastPathComponent == "import"
        ? #"{"created":1,"updated":0,"unchanged":0,"rejected":0,"errors":[]}"# : placeJSON
      return try MockResponse.ok(body).response(to: request)
    }
    let waymark = waymark(service)
    let draft = PointDraft(name: "A", coordinate: here)

    let created = try await waymark.create(draft, idempotencyKey: "k-1")
    try await waymark.update(created)
    try await waymark.update(created, with: PointPatch(name: "B"))
    try await waymark.delete(created)
    let report = try await waymark.importPlaces([draft])
    _ = try await waymark.create(draft, id: id)
    try await waymark.deleteSource("a b/c")

    #expect(report.created == 1)
    #expect(created.version == 3)
    let path = "/locations/0199a1b2-0000-7000-8000-000000000001"
    #expect(
      targets(service) == [
        "POST /locations fields=%2A", "PUT \(path) fields=%2A", "PATCH \(path) fields=%2A", "DELETE \(path)",
        "POST /locations/import", "PUT \(path) fields=%2A", "DELETE /sources/a%20b%2Fc",
      ])
    #expect(
      service.requests.map { $0.value(forHTTPHeaderField: "If-Match") } == [
        nil, "\"3\"", "\"3\"", "\"3\"", nil, nil, nil,
      ])
    #expect(service.requests[5].value(forHTTPHeaderField: "If-None-Match") == "*")
    #expect(
      service.requests.map { $0.value(forHTTPHeaderField: "Idempotency-Key") != nil } == [
        true, false, false, false, true, false, false,
      ])
  }

  @Test func updateSendsAllThatAClientMaySet() async throws {
    let place = try JSONDecoder().decode(PointOfInterest.self, from: Data(placeJSON.utf8))

    let draft = try #require(PointDraft(place))

    #expect(
      draft
        == PointDraft(
          name: "A", coordinate: here, category: "cafe", tags: ["fax": "1"],
          origin: SourceReference(source: "osm", id: "node/1")))
  }

  @Test(
    arguments: [
      #"{"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","lat":1,"long":2}"#,
      #"{"id":"0199a1b2-0000-7000-8000-000000000001","name":"A","version":3}"#,
      #"{"name":"A","lat":1,"long":2,"version":3}"#,
    ])
  func incompletePlaceIsNotUpdated(json: String) async throws {
    let service = try MockService(.ok("{}"))
    let place = try JSONDecoder().decode(PointOfInterest.self, from: Data(json.utf8))

    await #expect(throws: RequestError.incompletePlace) { try await waymark(service).update(place) }

    #expect(service.requests.isEmpty)
  }

  @Test func placeWithoutVersionIsNotDeleted() async throws {
    let service = try MockService(.ok(""))

    await #expect(throws: RequestError.incompletePlace) {
      try await waymark(service).delete(PointOfInterest(id: id, name: "A"))
    }

    #expect(service.requests.isEmpty)
  }

  @Test func missingFeaturedPlaceIsNil() async throws {
    let service = try MockService(.problem(404, code: "not-found"))

    #expect(try await waymark(service).featuredPlace() == nil)
  }

  @Test func responsesHaveTheMetadata() async throws {
    let service = try MockService(
      .ok(placeJSON, ["Waymark-Position": "p-1", "X-Request-Id": "r-1", "ETag": "\"3\"", "Age": "7"]))

    let response = try await waymark(service).responses.create(PointDraft(name: "A", coordinate: here))

    #expect(response.value.name == "A")
    #expect([response.position, response.requestID, response.entityTag?.rawValue] == ["p-1", "r-1", "\"3\""])
    #expect(response.age == 7)
    #expect(!response.isStale)
  }

  @Test func readingAfterAWriteSendsItsPosition() async throws {
    let service = try MockService(.ok("[]"))
    let waymark = waymark(service)

    _ = try await waymark.reading(after: "p-1").categories()
    _ = try await waymark.reading(after: "p-1").reading(after: nil).categories()
    _ = try await waymark.categories()

    #expect(service.requests.map { $0.value(forHTTPHeaderField: "Waymark-Min-Position") } == ["p-1", "p-1", nil])
    await #expect(throws: RequestError.invalidPosition) {
      try await waymark.reading(after: "p\r\nX: 1").categories()
    }
  }

  @Test func callsShareEntityTags() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["ETag": "\"1\""]), .response(status: 304, fields: [:], body: ""))
    let waymark = waymark(service)

    let first: [PointOfInterest] = try await waymark.places(near: here).firstPage()
    let second = try await waymark.places(near: here).firstPage()

    #expect(first == second)
    #expect(service.requests.map { $0.value(forHTTPHeaderField: "If-None-Match") } == [nil, "\"1\""])
  }

  @Test func importHasItsOwnTimeout() async throws {
    let service = try MockService { request, _ in
      try MockResponse.ok(#"{"created":0,"updated":0,"unchanged":0,"rejected":0,"errors":[]}"#).response(to: request)
    }
    let waymark = waymark(service)

    _ = try await waymark.importPlaces([])
    _ = try await waymark.importPlaces(PointImport(rows: []), timeout: nil)

    #expect(service.requests.map(\.timeoutInterval) == [600, .greatestFiniteMagnitude])
  }
}
