import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The copy of an area, without a network.
@MainActor
@Suite(.timeLimit(.minutes(5))) struct AreaCopyTests {
  private let folder = CacheFolder()
  private let file: URL

  init() throws {
    try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
    file = folder.url.appending(path: "copy")
  }

  private func place(_ number: Int, _ name: String, _ category: String, lat: Double) -> String {
    let id = String(format: "0199a1b2-0000-7000-8000-%012d", number)
    return #"{"id":"\#(id)","name":"\#(name)","category":"\#(category)","lat":\#(lat),"long":8}"#
  }

  private func change(_ number: Int, _ place: String?) -> String {
    let id = String(format: "0199a1b2-0000-7000-8000-%012d", number)
    return #"{"id":"\#(id)","version":1,\#(place.map { "\"place\":\($0)" } ?? #""outside":true"#)}"#
  }

  private func page(_ position: String, _ changes: [String]) -> MockResponse {
    .ok(#"{"changes":[\#(changes.joined(separator: ","))],"position":"\#(position)","more":false}"#)
  }

  private func export(_ position: String, _ places: String...) -> MockResponse {
    .ok(places.map { $0 + "\n" }.joined(), ["Waymark-Position": position, "Content-Type": "application/x-ndjson"])
  }

  /// Follows until the responses have been used up.
  private func follow(
    _ responses: [MockResponse], filter: PointFilter = PointFilter()
  ) async throws -> (copy: AreaCopy, queries: [String]) {
    let isUsedUp = Gate()
    let service = try MockService { request, index in
      guard index < responses.count else {
        isUsedUp.open()
        return nil
      }
      return try responses[index].response(to: request)
    }
    let waymark = Waymark(
      baseURL: service.baseURL, session: service.session,
      configuration: LoaderConfiguration(retries: .none, clock: RecordingClock(), random: { 0 }))
    let copy = AreaCopy(of: filter, waymark: waymark, file: file)
    let following = Task { try await copy.follow() }
    await isUsedUp.pass()
    following.cancel()
    try await following.value
    return (copy, service.requests.compactMap { $0.url.map { $0.path() + "?" + ($0.query() ?? "") } })
  }

  private var initial: MockResponse {
    export("p1", place(1, "Café Müller", "cafe", lat: 47), place(2, "Museum", "museum", lat: 46))
  }

  @Test func theCopyIsFilledAndFollowsAndIsSearched() async throws {
    let changes = [change(3, place(3, "Alte Mühle", "museum", lat: 46.5)), change(2, nil)]
    let (copy, queries) = try await follow([initial, page("p2", changes)])
    let here = try Coordinate(latitude: 46.4, longitude: 8)

    #expect(copy.count == 2)
    #expect(queries == ["/locations/export?f=ndjson", "/changes?since=p1&wait=30", "/changes?since=p2&wait=30"])
    #expect(copy.places().map(\.name) == ["Alte Mühle", "Café Müller"])
    #expect(copy.places(near: here).map(\.name) == ["Alte Mühle", "Café Müller"])
    #expect(copy.places(near: here, limit: 1).allSatisfy { (11_000...11_200).contains($0.distanceMetres ?? 0) })
    #expect(copy.places(matching: "MU").map(\.name) == ["Alte Mühle", "Café Müller"])
    #expect(copy.places(matching: "cafe m").map(\.name) == ["Café Müller"])
    #expect(copy.places(matching: "u").isEmpty)
    #expect(copy.places(category: "cafe").map(\.name) == ["Café Müller"])
    #expect(copy.places(limit: -1).isEmpty)
  }

  @Test func aLaterRunContinuesAtTheStoredPosition() async throws {
    _ = try await follow([initial, page("p2", [change(2, nil)])])

    let (copy, queries) = try await follow([.failure(.notConnectedToInternet)])

    #expect(copy.places().map(\.name) == ["Café Müller"])
    #expect(queries == ["/changes?since=p2&wait=30", "/changes?since=p2&wait=30"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.url.path) == ["copy"])
  }

  @Test func anExpiredPositionFillsTheCopyAnew() async throws {
    _ = try await follow([initial])

    let (copy, _) = try await follow([
      .problem(410, code: "position-expired"), page("p8", []), export("p9", place(4, "New", "cafe", lat: 1)),
    ])

    #expect(copy.places().map(\.name) == ["New"])
  }

  @Test func aFileOfAnotherFilterOrADamagedOneCountsAsNone() async throws {
    _ = try await follow([initial])

    let (other, queries) = try await follow([initial], filter: PointFilter(categories: ["cafe"]))
    try Data("nonsense".utf8).write(to: file)
    let (again, _) = try await follow([initial])

    #expect(queries.first == "/locations/export?category=cafe&f=ndjson")
    #expect(other.count == 2)
    #expect(again.count == 2)
  }

  @Test func aDeniedRequestEndsTheCopyAndKeepsThePlaces() async throws {
    _ = try await follow([initial])
    let service = try MockService(.problem(403, code: "forbidden"))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let copy = AreaCopy(of: PointFilter(), waymark: waymark, file: file)

    await #expect(throws: WaymarkError.self) { try await copy.follow() }
    #expect(copy.count == 2)
  }
}

/// The selection of the places to monitor.
struct MonitoredPlacesTests {
  private func places(_ metres: [Double]) throws -> [PointOfInterest] {
    try metres.map { metres in
      PointOfInterest(name: "\(metres)", coordinate: try Coordinate(latitude: metres / 110_574.3, longitude: 0))
    }
  }

  private func center() throws -> Coordinate { try Coordinate(latitude: 0, longitude: 0) }

  @Test func theNearestNineteenAreMonitoredUntilAnotherIsWithinReach() throws {
    let candidates = try places((1...30).map { Double($0) * 1000 }).shuffled()

    let monitored = MonitoredPlaces(of: candidates, around: try center(), regionRadiusMetres: 150)

    #expect(monitored.places.map(\.name) == (1...19).map { "\(Double($0) * 1000)" })
    #expect(abs(monitored.radiusMetres - 19_850) < 10)
  }

  @Test func theCircleHasALeastAndAGreatestRadius() throws {
    let dense = MonitoredPlaces(of: try places(Array(repeating: 50, count: 25)), around: try center())
    let few = MonitoredPlaces(of: try places([10, 20]) + [PointOfInterest(name: "nowhere")], around: try center())

    #expect(dense.places.count == 19)
    #expect(dense.radiusMetres == 200)
    #expect(few.places.map(\.name) == ["10.0", "20.0"])
    #expect(few.radiusMetres == 50_000)
  }
}
