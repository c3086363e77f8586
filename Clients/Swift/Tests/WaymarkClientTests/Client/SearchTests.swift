import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

@Suite(.timeLimit(.minutes(5))) struct SearchTests {
  private let here: Coordinate

  init() throws {
    here = try Coordinate(latitude: 1, longitude: 2)
  }

  private func waymark(_ service: MockService) -> Waymark {
    Waymark(baseURL: service.baseURL, session: service.session, configuration: LoaderConfiguration(retries: .none))
  }

  @Test func searchSuggestionsAndNearestPlaceSendTheirRequests() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A","score":2}]"#), .ok(#"[{"type":"category","category":"cafe","count":2}]"#),
      .ok(#"{"name":"A","label":"A, B"}"#))
    let waymark = waymark(service)

    let matches = try await waymark.search("mystery", near: here, languages: ["ko"], pageSize: 2).firstPage()
    let suggestions = try await waymark.suggestions(for: "caf")
    let nearest = try await waymark.nearestPlace(to: here, radius: 5)

    #expect(matches.map(\.place.name) == ["A"])
    #expect(suggestions == [.category(CategoryCount(category: "cafe", count: 2))])
    #expect(nearest?.label == "A, B")
    #expect(service.requests.map { $0.url?.path() } == ["/locations", "/locations/suggest", "/locations/reverse"])
    #expect(service.requests.first?.url?.query()?.hasPrefix("q=mystery&lat=1.0&long=2.0&lang=ko&limit=2") == true)
  }

  @Test func absentNearestPlaceIsNil() async throws {
    let service = try MockService(.problem(404, code: "not-found"))

    #expect(try await waymark(service).nearestPlace(to: here) == nil)
  }

  @Test func pagesOfASearchFollowTheLink() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A"}]"#, ["Link": "<?q=a&cursor=1>; rel=\"next\""]), .ok(#"[{"name":"B"}]"#))
    var names: [String] = []

    for try await page in waymark(service).search("a", pageSize: 1).pages {
      names += page.value.map(\.place.name)
    }

    #expect(names == ["A", "B"])
    #expect(service.requests.last?.url?.query() == "q=a&cursor=1")
  }

  @MainActor @Test func modelOfAServiceSuggestsNearTheCoordinate() async throws {
    let service = try MockService(.ok(#"[{"type":"place","name":"Museum"}]"#))
    let clock = RecordingClock()
    let here = here
    let model = AutocompleteModel(waymark: waymark(service), limit: 3, clock: clock) { here }
    model.text = "mus "

    await model.search()

    #expect(model.suggestions.map(\.title) == ["Museum"])
    #expect(clock.sleeps == [.milliseconds(250)])
    #expect(service.requests.first?.url?.query() == "q=mus&lat=1.0&long=2.0&limit=3")
  }

  @MainActor @Test func suggestionsOfTheModelAreStaleWithoutANetwork() async throws {
    let folder = CacheFolder()
    let service = try MockService(
      .ok(#"[{"type":"place","name":"Museum","label":"Museum, Wien"}]"#), .failure(.notConnectedToInternet))
    let waymark = Waymark(
      baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url),
      configuration: LoaderConfiguration(retries: .none))
    let box = try BoundingBox(west: 1, south: 2, east: 3, north: 4)
    for isOffline in [false, true] {
      let model = AutocompleteModel(waymark: waymark, filter: PointFilter(box: box), clock: RecordingClock())
      model.text = "mus"

      await model.search()

      #expect(model.suggestions.map(\.subtitle) == ["Wien"])
      #expect(model.isStale == isOffline)
      #expect(model.receivedAt != nil)
    }
    #expect(service.requests.first?.url?.query() == "q=mus&bbox=1.0,2.0,3.0,4.0")
  }

  @MainActor @Test func cancelledSearchOfTheModelCancelsItsRequest() async throws {
    let (isRequested, isStopped) = (Gate(), Gate())
    let service = try MockService(
      stopHandler: { isStopped.open() },
      requestHandler: { _, _ in
        isRequested.open()
        return nil
      })
    let model = AutocompleteModel(waymark: waymark(service), clock: RecordingClock())
    model.text = "mus"
    let search = Task { await model.search() }
    await isRequested.pass()

    search.cancel()
    await search.value
    await isStopped.pass()

    #expect(model.suggestions.isEmpty)
    #expect(model.error == nil)
    #expect(!model.isSearching)
  }
}
