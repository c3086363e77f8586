import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests of what an app sees from its cache after it has written.
@Suite(.timeLimit(.minutes(5))) struct OwnWritesTests {
  /// A service with two places, which can be disconnected.
  private final class Service: Sendable {
    struct State {
      var places: [PointOfInterest]
      var isConnected = true
      var writeOutcome: MockResponse?
    }

    let state: Locked<State>
    let mock: MockService

    init(_ places: [PointOfInterest]) throws {
      let state = Locked(State(places: places))
      self.state = state
      mock = try MockService { request, _ in
        try state.withLock { state in try Self.response(to: request, &state).response(to: request) }
      }
    }

    private static func response(to request: URLRequest, _ state: inout State) throws -> MockResponse {
      guard state.isConnected else { return .failure(.notConnectedToInternet) }
      let id = request.url.flatMap { UUID(uuidString: $0.lastPathComponent) }
      let index = state.places.firstIndex { $0.id == id }
      if request.httpMethod != "GET", let outcome = state.writeOutcome { return outcome }
      switch (request.httpMethod, index) {
      case ("GET", let index?): return try .json(state.places[index])
      case ("GET", nil): return id == nil ? try .json(state.places) : .problem(404, code: "not-found")
      case ("DELETE", let index?):
        state.places.remove(at: index)
        return .response(status: 204, fields: [:], body: "")
      case ("POST", nil):
        if request.url?.lastPathComponent == "import" {
          return .ok(#"{"created":1,"updated":0,"unchanged":0,"rejected":0,"errors":[]}"#)
        }
        var place = try JSONDecoder().decode(PointOfInterest.self, from: request.httpBody ?? Data())
        (place.id, place.version) = (UUID(), 100)
        state.places.append(place)
        return try .json(place)
      case (_, let index?):
        let tag = request.value(forHTTPHeaderField: "If-Match")
        guard tag == EntityTag(version: state.places[index].version ?? 0).rawValue else {
          return .problem(412, code: "version-mismatch")
        }
        var place = try JSONDecoder().decode(PointOfInterest.self, from: request.httpBody ?? Data())
        (place.id, place.version) = (state.places[index].id, (state.places[index].version ?? 0) + 1)
        state.places[index] = place
        return try .json(place)
      default: return .problem(404, code: "not-found")
      }
    }

    func disconnect() { state.withLock { $0.isConnected = false } }
    func reconnect() { state.withLock { $0.isConnected = true } }
    func answerWrites(with outcome: MockResponse?) { state.withLock { $0.writeOutcome = outcome } }
    var reads: Int { mock.requests.count { $0.httpMethod == "GET" } }
  }

  private let folder = CacheFolder()
  private let time = Counter()
  private let here: Coordinate
  private let service: Service
  private let old: PointOfInterest
  private let other: PointOfInterest

  init() throws {
    here = try Coordinate(latitude: 48.2, longitude: 16.3)
    old = PointOfInterest(
      id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"), name: "Old", category: "cafe", coordinate: here,
      distanceMetres: 0, version: 1)
    other = PointOfInterest(
      id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000002"), name: "Other", category: "cafe",
      coordinate: try Coordinate(latitude: 48.201, longitude: 16.3), distanceMetres: 111.2, version: 1)
    service = try Service([old, other])
  }

  /// Returns a client as a new start of the app, or its widget, has one. Each call happens at a later second.
  private func waymark(_ policy: OfflinePolicy = .networkFirst, user: String? = nil) -> Waymark {
    Waymark(
      baseURL: service.mock.baseURL, credentials: user.map { user in Credentials(user: user) { _ in "token" } },
      session: service.mock.session, cache: OnDiskCache(folder: folder.url),
      configuration: LoaderConfiguration(
        retries: .none, offlinePolicy: policy,
        now: { [time] in Date(timeIntervalSinceReferenceDate: Double(time.add())) }))
  }

  private static let cacheFirst = OfflinePolicy.cacheFirst(maximumAge: .seconds(3600))

  @Test func updatedPlaceIsTheOneThatIsStored() async throws {
    var place = try await waymark().place(old.id)
    place.name = "New"
    try await waymark().update(place)
    service.disconnect()

    let stored = try await waymark().responses.place(old.id)

    #expect(stored.value.name == "New")
    #expect(stored.value.version == 2)
    #expect(stored.isStale)
  }

  @Test func storedListsHaveTheNewName() async throws {
    _ = try await waymark().places(near: here).firstPage()
    var place = try await waymark().place(old.id)
    place.name = "New"
    try await waymark().update(place)
    service.disconnect()

    let places = try await waymark().responses.places(near: here)

    #expect(places.value.map(\.name) == ["New", "Other"])
    #expect(places.isStale)
  }

  @Test func storedListsHaveTheNewPositionAndOrder() async throws {
    _ = try await waymark().places(near: here).firstPage()
    var place = try await waymark().place(old.id)
    place.coordinate = try Coordinate(latitude: 48.202, longitude: 16.3)
    try await waymark().update(place)
    service.disconnect()

    let places = try await waymark().places(near: here).firstPage()

    #expect(places.map(\.name) == ["Other", "Old"])
    #expect(places.last?.distanceMetres == 222.4)
  }

  @Test func placeThatLeavesTheSearchLeavesItsStoredList() async throws {
    let box = try BoundingBox(west: 16.2, south: 48.1, east: 16.4, north: 48.3)
    _ = try await waymark().places(near: here, radius: 500).firstPage()
    _ = try await waymark().places(in: box, category: "cafe").firstPage()
    var (moved, changed) = (try await waymark().place(old.id), try await waymark().place(other.id))
    moved.coordinate = try Coordinate(latitude: 50, longitude: 16.3)
    changed.category = "bar"
    try await waymark().update(moved)
    try await waymark().update(changed)
    service.disconnect()

    #expect(try await waymark().places(near: here, radius: 500).firstPage().map(\.name) == ["Other"])
    #expect(try await waymark().places(in: box, category: "cafe").firstPage().isEmpty)
  }

  @Test func deletedPlaceIsNeitherStoredNorInLists() async throws {
    _ = try await waymark().places(near: here).firstPage()
    let place = try await waymark().place(old.id)
    try await waymark().delete(place)
    service.disconnect()

    #expect(try await waymark().places(near: here).firstPage().map(\.name) == ["Other"])
    await #expect(throws: WaymarkError.unreachable(.notConnectedToInternet)) { try await waymark().place(old.id) }
  }

  @Test func placeThatOthersDeletedLeavesTheListsAfterAWrite() async throws {
    _ = try await waymark().places(near: here).firstPage()
    var place = try await waymark().place(old.id)
    service.state.withLock { state in state.places.removeAll { $0.id == old.id } }
    place.name = "New"
    await #expect(throws: WaymarkError.self) { try await waymark().update(place) }
    service.disconnect()

    #expect(try await waymark().places(near: here).firstPage().map(\.name) == ["Other"])
  }

  @Test func createdPlaceIsStored() async throws {
    let created = try await waymark().create(PointDraft(name: "New", coordinate: here))
    service.disconnect()

    #expect(try await waymark().place(created.id).name == "New")
  }

  @Test func placeFromTheCacheCanBeEditedAgain() async throws {
    var place = try await waymark(Self.cacheFirst).place(old.id)
    place.name = "New"
    try await waymark(Self.cacheFirst).update(place)

    var again = try await waymark(Self.cacheFirst).place(old.id)
    again.name = "Newer"
    try await waymark(Self.cacheFirst).update(again)

    #expect(try await waymark(Self.cacheFirst).place(old.id).name == "Newer")
    #expect(service.reads == 1)
  }

  @Test(arguments: ["update", "create", "delete", "import"])
  func listsFromBeforeAWriteAreNotCurrent(write: String) async throws {
    _ = try await waymark(Self.cacheFirst).places(near: here).firstPage()
    let place = try await waymark(Self.cacheFirst).place(old.id)
    let client = waymark(Self.cacheFirst)
    switch write {
    case "update": _ = try await client.update(place, with: PointPatch(name: "New"))
    case "create": _ = try await client.create(PointDraft(name: "New", coordinate: here))
    case "delete": try await client.delete(place)
    default: _ = try await client.importPlaces([PointDraft(name: "New", coordinate: here)])
    }
    let reads = service.reads

    let first = try await waymark(Self.cacheFirst).responses.places(near: here)
    let second = try await waymark(Self.cacheFirst).responses.places(near: here)

    #expect(service.reads == reads + 1)
    #expect(first.value == second.value)
  }

  @Test func importOutdatesSinglePlaces() async throws {
    _ = try await waymark(Self.cacheFirst).place(old.id)
    _ = try await waymark().importPlaces([PointDraft(name: "New", coordinate: here)])

    _ = try await waymark(Self.cacheFirst).place(old.id)

    #expect(service.reads == 2)
  }

  @Test func rejectedVersionIsNotTakenFromTheCacheAgain() async throws {
    var place = try await waymark(Self.cacheFirst).place(old.id)
    service.state.withLock { $0.places[0].version = 7 }
    place.name = "New"
    await #expect(throws: WaymarkError.self) { try await waymark(Self.cacheFirst).update(place) }

    let current = try await waymark(Self.cacheFirst).place(old.id)

    #expect(current.version == 7)
  }

  @Test(arguments: [
    MockResponse.failure(.timedOut), .problem(504, code: "outcome-unknown"),
    .response(status: 502, fields: [:], body: ""),
  ])
  func placeIsLoadedAgainAfterAWriteOfUnknownOutcome(outcome: MockResponse) async throws {
    var place = try await waymark(Self.cacheFirst).place(old.id)
    place.name = "New"
    service.answerWrites(with: outcome)
    await #expect(throws: WaymarkError.self) { try await waymark().update(place) }

    _ = try await waymark(Self.cacheFirst).place(old.id)
    service.disconnect()

    #expect(service.reads == 2)
    #expect(try await waymark().place(old.id).name == "Old")
  }

  @Test func writesOfOneUserDoNotReachAnother() async throws {
    _ = try await waymark(user: "a").places(near: here).firstPage()
    _ = try await waymark(user: "b").places(near: here).firstPage()
    let place = try await waymark(user: "a").place(old.id)
    try await waymark(user: "a").update(place, with: PointPatch(name: "New"))
    service.state.withLock { $0.places[0].name = "New" }
    service.disconnect()

    #expect(try await waymark(user: "b").places(near: here).firstPage().map(\.name) == ["Old", "Other"])
  }

  @Test func responseFromBeforeAWriteDoesNotReplaceIt() async throws {
    let (isAsked, mayRespond) = (Gate(), DispatchSemaphore(value: 0))
    let (old, time) = (old, time)
    let fields = ["Content-Type": "application/json"]
    func body(_ place: PointOfInterest) throws -> String {
      String(decoding: try JSONEncoder().encode(place), as: UTF8.self)
    }
    var new = old
    (new.name, new.version) = ("New", 2)
    let (oldBody, newBody) = (try body(old), try body(new))
    let server = try SocketServer { connection, _ in
      guard connection.readHead()?.hasPrefix("GET") == true else {
        return connection.respond(200, fields, body: newBody)
      }
      isAsked.open()
      mayRespond.wait()
      connection.respond(200, fields, body: oldBody)
    }
    let configuration = LoaderConfiguration(
      retries: .none, cache: OnDiskCache(folder: folder.url),
      now: { Date(timeIntervalSinceReferenceDate: Double(time.add())) })
    let session = URLSession(configuration: .ephemeral)
    let reader = Waymark(baseURL: server.baseURL, session: session, configuration: configuration)
    let writer = Waymark(baseURL: server.baseURL, session: session, configuration: configuration)
    async let read = reader.place(old.id)
    await isAsked.pass()

    try await writer.update(old, with: PointPatch(name: "New"))
    mayRespond.signal()
    _ = try await read

    var offline = reader
    offline.configuration.offlinePolicy = .cacheOnly
    #expect(try await offline.place(old.id).name == "New")
  }

  @Test func searchesAndLabelsHaveTheNewName() async throws {
    let known: [UUID: OwnWrites.Known] = [
      old.id: OwnWrites.Known(
        place: PointOfInterest(id: old.id, name: "New", tags: ["name:en": "New in English"], version: 2), version: 2,
        receivedAt: Date(timeIntervalSinceReferenceDate: 0))
    ]
    let translated = PointOfInterest(
      id: old.id, name: "Old in English", tags: ["name:en": "Old in English", "name:local": "Old"])

    let match = PointMatch(place: translated, score: 2).replacingPlaces(known)

    #expect(match?.place.name == "New in English")
    #expect(match?.place.localName == "New")
    #expect(match?.place.version == nil)
    #expect(LabeledPoint(place: old, label: "Old, Main Street 1").replacingPlaces(known)?.label == "New, Main Street 1")
    #expect(
      PointCheck(isPointOfInterest: true, place: old).replacingPlaces(known)?.place?.name == "New")
    #expect(SearchSuggestion.place(LabeledPoint(place: old, label: "Old")).replacingPlaces(known)?.title == "New")
    #expect([old, other].replacingPlaces(known)?.map(\.name) == ["New", "Other"])
  }
}
