import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Lists: the query, its sequence, its pages, and what they leave in the cache.
@Suite(.timeLimit(.minutes(5))) struct PointQueryTests {
  private let folder = CacheFolder()
  private let here: Coordinate

  init() throws {
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private func waymark(_ service: MockService, _ policy: OfflinePolicy = .networkFirst) -> Waymark {
    Waymark(
      baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url),
      configuration: LoaderConfiguration(retries: .none, offlinePolicy: policy))
  }

  private static func page(_ name: String, next: Int? = nil) -> MockResponse {
    .ok(#"[{"name":"\#(name)"}]"#, next.map { ["Link": "<?cursor=\($0)>; rel=\"next\""] } ?? [:])
  }

  private var storedCount: Int { OnDiskCache(folder: folder.url).currentItems.count }

  @Test func queryIsASequenceAndSendsNothingByItself() async throws {
    let service = try MockService(Self.page("A", next: 1), Self.page("B"))
    let query = waymark(service).places(near: here)
    #expect(service.requests.isEmpty)
    var names: [String] = []

    for try await place in query { names.append(place.name) }

    #expect(names == ["A", "B"])
    #expect(try await query.firstPage().map(\.name) == ["B"])
  }

  @Test func bulkReadStoresNothing() async throws {
    let service = try MockService(Self.page("A", next: 1), Self.page("B", next: 2), Self.page("C"))

    for try await _ in waymark(service).places(near: here) {}

    #expect(service.requests.count == 3)
    #expect(storedCount == 0)
  }

  @Test func bulkReadUsesWhatScreensHaveStored() async throws {
    let service = try MockService(Self.page("A"), .failure(.notConnectedToInternet))
    _ = try await waymark(service).places(near: here).firstPage()
    var names: [String] = []

    for try await place in waymark(service).places(near: here) { names.append(place.name) }

    #expect(names == ["A"])
  }

  @Test func pagesAndFirstPageAreStored() async throws {
    let service = try MockService(Self.page("A", next: 1), Self.page("B"))

    for try await _ in waymark(service).places(near: here).pages {}

    #expect(storedCount == 2)
  }

  @Test func responsesHaveEachCallOfTheClient() throws {
    let sources = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources").standardized
    let declarations = try PublicDeclaration.all(inFolder: sources).flatMap(\.declarations)
    func calls(of type: String) -> [String] {
      declarations.filter { $0.owners == [type] && $0.kind == .function }.map(\.signature).sorted()
    }

    // Those that send no request or any, and those that return a client or a loader.
    let others: Set = [
      "changes(matching:since:)", "reading(after:)", "loader(_:)", "storedThenCurrent(_:)", "tiles(of:matching:tags:)",
    ]
    #expect(calls(of: "Waymark").filter { !others.contains($0) } == calls(of: "WaymarkResponses"))
    #expect(calls(of: "WaymarkResponses").count > 20)
  }

  // MARK: Stored, then current

  @Test func storedResponseComesBeforeTheCurrentOne() async throws {
    let service = try MockService(Self.page("A"), Self.page("B"))
    let waymark = waymark(service)
    _ = try await waymark.places(near: here).firstPage()
    var seen: [String] = []

    for try await response in waymark.storedThenCurrent({ [here] in try await $0.places(near: here) }) {
      seen.append("\(response.value[0].name) \(response.isStale)")
    }

    #expect(seen == ["A true", "B false"])
  }

  @Test func storedResponseIsTheOnlyOneWithoutANetwork() async throws {
    let service = try MockService(Self.page("A"), .failure(.notConnectedToInternet))
    let waymark = waymark(service)
    _ = try await waymark.places(near: here).firstPage()
    var seen: [String] = []

    for try await response in waymark.storedThenCurrent({ [here] in try await $0.places(near: here) }) {
      seen.append("\(response.value[0].name) \(response.isStale)")
    }

    #expect(seen == ["A true"])
  }

  @Test func errorFollowsTheStoredResponse() async throws {
    let service = try MockService(Self.page("A"), .problem(403, code: "forbidden"))
    let waymark = waymark(service)
    _ = try await waymark.places(near: here).firstPage()
    var responses = waymark.storedThenCurrent { [here] in try await $0.places(near: here) }.makeAsyncIterator()

    #expect(try await responses.next()?.isStale == true)
    await #expect(throws: WaymarkError.self) { try await responses.next() }
  }

  @Test func clientWithoutACacheHasOnlyTheCurrentResponse() async throws {
    let service = try MockService(.ok("[]"))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    var count = 0

    for try await response in waymark.storedThenCurrent({ try await $0.categories() }) {
      count += response.isStale ? 10 : 1
    }

    #expect(service.requests.count == 1)
    #expect(count == 1)
  }

  @Test func writeIsSentOnce() async throws {
    let service = try MockService(.ok(#"{"name":"A"}"#))
    let draft = PointDraft(name: "A", coordinate: here)
    var names: [String] = []

    for try await response in waymark(service).storedThenCurrent({ try await $0.create(draft) }) {
      names.append(response.value.name)
    }

    #expect(names == ["A"])
    #expect(service.requests.count == 1)
  }
}
