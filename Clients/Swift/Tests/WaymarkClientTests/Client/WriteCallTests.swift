import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Tests of writes: when they are sent again, and which place they are about.
@Suite struct WriteCallTests {
  private let place: PointOfInterest

  init() throws {
    place = PointOfInterest(
      id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"), name: "A",
      coordinate: try Coordinate(latitude: 1, longitude: 2), version: 1)
  }

  private func waymark(_ service: MockService) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session,
      configuration: LoaderConfiguration(clock: RecordingClock(), random: { 0 }))
  }

  @Test(arguments: [(429, "rate-limited"), (503, "overloaded"), (503, "store-unavailable")])
  func conditionalWriteIsSentAgainIfNothingHappened(status: Int, code: String) async throws {
    let service = try MockService(.problem(status, code: code, fields: ["Retry-After": "1"]), .json(place))

    try await waymark(service).update(place)

    #expect(service.requests.map { $0.value(forHTTPHeaderField: "If-Match") } == ["\"1\"", "\"1\""])
  }

  @Test(arguments: [
    MockResponse.problem(504, code: "outcome-unknown"), .response(status: 503, fields: [:], body: ""),
    .response(status: 429, fields: [:], body: ""), .failure(.timedOut),
  ])
  func conditionalWriteIsNotSentAgainOtherwise(response: MockResponse) async throws {
    let service = try MockService(response, .json(place))

    await #expect(throws: WaymarkError.self) { try await waymark(service).update(place) }

    #expect(service.requests.count == 1)
  }

  @Test func deletionByIdHasNoCondition() async throws {
    let service = try MockService(.response(status: 204, fields: [:], body: ""))

    try await waymark(service).delete(id: place.id)

    #expect(service.requests.map(\.httpMethod) == ["DELETE"])
    #expect(service.requests.first?.value(forHTTPHeaderField: "If-Match") == nil)
  }

  @Test func problemHasTheGivenTexts() async throws {
    let service = try MockService(.problem(403, code: "forbidden", title: "No", detail: "the key \"a\" may only read"))

    let error = await #expect(throws: WaymarkError.self) { try await waymark(service).update(place) }

    guard case .problem(let problem)? = error else { return #expect(error == nil) }
    #expect(problem.title == "No")
    #expect(problem.detail == "the key \"a\" may only read")
  }

  @Test func linkIsParsedAsItWasBuilt() throws {
    let link = try PointLink(scheme: "placesapp")
    let url = try #require(link.candidates(for: place, mode: .edit).first)

    let parsed = try #require(link.place(in: url))

    #expect(parsed.id == place.id)
    #expect(parsed.mode == .edit)
    for text in ["other://open?id=\(place.id)&mode=edit", "placesapp://open?id=7&mode=edit", "placesapp://close"] {
      #expect(link.place(in: try #require(URL(string: text))) == nil)
    }
  }
}
