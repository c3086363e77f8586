import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite struct OverviewSnippets {
  @Test func aCallIsARequestASessionAndALoader() async throws {
    let service = try MockService(.ok(#"[{"name":"My Location"}]"#))
    let (baseURL, urlSession) = (service.baseURL, service.session)
    let coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    // snippet: overview
    let request = PointsOfInterestRequest(baseURL: baseURL)
    let loader = APIRequestLoader(apiRequest: request, urlSession: urlSession)
    let places = try await loader.loadAPIRequest(requestData: coordinate)
    // end

    #expect(places == [PointOfInterest(name: "My Location")])
  }

  @Test func exampleOfTheDocumentationFindsCreatesAndUpdates() async throws {
    let lines = Log<String>()
    let id = "0199a1b2-0000-7000-8000-000000000001"
    let server = try SocketServer { connection, _ in
      let head = connection.readHead() ?? ""
      lines.append(String(head.prefix { $0 != "?" }))
      if head.hasPrefix("GET") {
        connection.respond(200, body: #"[{"name":"A","distance":1.5}]"#)
      } else if head.hasPrefix("POST") {
        connection.respond(201, body: #"{"id":"\#(id)","name":"A","lat":1,"long":2,"version":1}"#)
      } else {
        connection.respond(
          412, ["Content-Type": "application/problem+json"], body: #"{"code":"version-mismatch","detail":"D"}"#)
      }
    }

    try await example(baseURL: server.baseURL)

    #expect(lines.all == ["GET /locations", "POST /locations", "PUT /locations/\(id)"])
  }

  private func example(baseURL: URL) async throws {
    // snippet: readme
    let waymark = Waymark(baseURL: baseURL)
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    for place in try await waymark.places(near: here, pageSize: 5).firstPage() {
      print(place.name, place.distanceMetres ?? 0)
    }
    var place = try await waymark.create(PointDraft(name: "Café Zentral", coordinate: here))
    place.tags["wheelchair"] = "yes"
    do {
      place = try await waymark.update(place)
    } catch WaymarkError.problem(let problem) where problem.code == .versionMismatch {
      print("Another client was faster: \(problem)")
    }
    // end
  }

  @Test func exampleOfChangesFollowsThem() async throws {
    let service = try MockService(
      .ok(#"{"changes":[],"position":"p1","more":false}"#), .problem(403, code: "forbidden"))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    await #expect(throws: WaymarkError.self) { try await followingChanges(waymark, since: nil) }

    #expect(service.requests.count == 2)
  }

  private func followingChanges(_ waymark: Waymark, since position: String?) async throws {
    // snippet: changes
    for try await change in waymark.changes(matching: PointFilter(categories: ["cafe"]), since: position) {
      switch change {
      case .place(let place): print("\(place.name) is new or has changed")
      case .removed(let id): print("\(id) is gone")
      case .position(let position): print("continue later at \(position)")
      case .reset: print("load all places again")
      }
    }
    // end
  }

  @MainActor @Test func exampleOfACopySearchesIt() async throws {
    let service = try MockService(.pending)
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    let box = try BoundingBox(west: -122.1, south: 37.2, east: -121.7, north: 37.5)
    let file = CacheFolder().url

    // snippet: copy
    let copy = AreaCopy(of: PointFilter(box: box), waymark: waymark, file: file)
    let following = Task { try await copy.follow() }
    let museums = copy.places(near: here, matching: "mus", category: "museum")
    let monitored = MonitoredPlaces(of: copy.places(near: here), around: here)
    print(museums.count, monitored.places.count, monitored.radiusMetres)
    following.cancel()
    // end

    #expect(museums.isEmpty)
    #expect(monitored.places.isEmpty)
  }

  @Test func exampleOfAllPlacesLoadsEachPage() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "<?cursor=1>; rel=\"next\""]), .ok(#"[{"name":"B"}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    // snippet: all
    for try await place in waymark.places(near: here, category: "museum") {
      print(place.name)
    }
    // end

    #expect(service.requests.count == 2)
  }

  @Test func exampleOfASearchFindsPlacesByName() async throws {
    let service = try MockService(.ok(#"[{"name":"A","score":2}]"#), .ok(#"{"name":"A","label":"A, B"}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let here = try Coordinate(latitude: 37.3293, longitude: -121.8893)

    // snippet: search
    for try await match in waymark.search("winchster mystery", near: here, languages: ["ko", "en"]) {
      print(match.place.name, match.score ?? 0)
    }
    let nearest = try await waymark.nearestPlace(to: here)
    print(nearest?.label ?? "There is no place.")
    // end

    #expect(nearest?.label == "A, B")
    #expect(service.requests.count == 2)
  }

  @Test func exampleOfARouteLoadsItsPlaces() async throws {
    let service = try MockService(.ok(#"[{"name":"A","alongMetres":1.5}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let (polyline, pattern) = ("_p~iF~ps|U_ulLnnqC_mqNvxq`@", "Hotel %")

    // snippet: route-overview
    let route = try SearchRoute(polyline: polyline, radiusMetres: 500)
    let filter = PointFilter(route: route, categories: ["hotel"], condition: "\(tag: "name:en") LIKE \(pattern)")
    for try await place in waymark.places(filter) {
      print(place.name, place.alongMetres ?? 0)
    }
    let tiles = try waymark.tiles(of: PointFilter(categories: ["hotel"]))
    print(tiles.template)
    // end

    #expect(service.requests.count == 1)
  }

  // snippet: interceptor
  struct RequestIDs: APIInterceptor {
    func prepare(_ request: URLRequest) async throws -> URLRequest {
      var request = request
      request.setValue(UUID().uuidString, forHTTPHeaderField: "X-Request-Id")
      return request
    }
  }
  // end

  @Test func exampleOfAnInterceptorIdentifiesRequests() async throws {
    let service = try MockService(.failure(.notConnectedToInternet))
    var waymark = Waymark(baseURL: service.baseURL, session: service.session)
    waymark.configuration.interceptors = [RequestIDs()]

    let error = await #expect(throws: WaymarkError.self) { try await waymark.categories() }

    #expect(error?.requestID != nil)
    #expect(service.requests.map { $0.value(forHTTPHeaderField: "X-Request-Id") } == [error?.requestID])
  }
}
