import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

/// The sequence of changes, without a network.
@Suite(.timeLimit(.minutes(5))) struct ChangesTests {
  private let clock = RecordingClock()
  private let id = UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001") ?? UUID()

  private func waymark(_ service: MockService) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session,
      configuration: LoaderConfiguration(clock: clock, random: { 1 }))
  }

  /// Returns a page of changes.
  private func page(_ position: String, _ changes: String...) -> MockResponse {
    .ok(#"{"changes":[\#(changes.joined(separator: ","))],"position":"\#(position)","more":false}"#)
  }

  private var put: String { #"{"id":"\#(id.uuidString)","version":1,"place":{"id":"\#(id.uuidString)","name":"A"}}"# }
  private var removal: String { #"{"id":"\#(id.uuidString)","version":2,"deleted":true}"# }

  private func elements(
    _ count: Int, of changes: AsyncThrowingStream<PlaceChange, any Error>
  ) async throws -> [PlaceChange] {
    var iterator = changes.makeAsyncIterator()
    var elements: [PlaceChange] = []
    while elements.count < count, let element = try await iterator.next() { elements.append(element) }
    return elements
  }

  @Test func changesComeFromThePresentOnWithTheirPositions() async throws {
    let service = try MockService(page("p1"), page("p1"), page("p2", put, removal), .pending)

    let elements = try await elements(4, of: waymark(service).changes(matching: PointFilter(categories: ["a"])))

    #expect(
      elements == [
        .position("p1"), .place(PointOfInterest(id: id, name: "A")), .removed(id), .position("p2"),
      ])
    #expect(
      service.requests.map { $0.url?.query() } == [
        "category=a", "category=a&since=p1&wait=30", "category=a&since=p1&wait=30",
      ])
    #expect(service.requests.map(\.timeoutInterval) == [45, 45, 45])
  }

  @Test func lostNetworksAndBusyServicesDelayTheChanges() async throws {
    let service = try MockService(
      .failure(.networkConnectionLost), .failure(.notConnectedToInternet),
      .problem(503, code: "too-many-requests", fields: ["Retry-After": "7"]), page("p2", put), .failure(.timedOut),
      page("p3", removal))

    let elements = try await elements(4, of: waymark(service).changes(since: "p1"))

    #expect(
      elements == [.place(PointOfInterest(id: id, name: "A")), .position("p2"), .removed(id), .position("p3")])
    #expect(clock.sleeps == [1, 2, 4 + 7, 1].map { .seconds($0) })
  }

  @Test func anExpiredPositionIsAResetFromThePresentOn() async throws {
    let service = try MockService(.problem(410, code: "position-expired"), page("p9"), page("p10", put))

    let elements = try await elements(4, of: waymark(service).changes(since: "p1"))

    #expect(elements == [.reset, .position("p9"), .place(PointOfInterest(id: id, name: "A")), .position("p10")])
    #expect(service.requests.map { $0.url?.query() } == ["since=p1&wait=30", nil, "since=p9&wait=30"])
  }

  @Test func aDeniedRequestEndsTheChanges() async throws {
    let service = try MockService(.problem(401, code: "unauthenticated"))

    await #expect(throws: WaymarkError.self) { try await elements(1, of: waymark(service).changes()) }
    #expect(clock.sleeps == [])
  }

  @Test func conditionsThatChangesDoNotTakeAreRejected() async throws {
    let service = try MockService(page("p1"))

    await #expect(throws: RequestError.unsupportedFilter) {
      try await elements(1, of: waymark(service).changes(matching: PointFilter(open: .now)))
    }
    await #expect(throws: RequestError.invalidPosition) {
      try await elements(1, of: waymark(service).changes(since: "a b"))
    }
    #expect(service.requests.isEmpty)
  }
}
