import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@MainActor
@Suite(.timeLimit(.minutes(5))) struct PointListModelTests {
  private let fetcher = MockLocationFetcher()
  private let center = NotificationCenter()
  private let provider: CurrentLocationProvider

  init() throws {
    let coordinate = try Coordinate(latitude: 1, longitude: 2)
    fetcher.handleRequestLocation = { coordinate }
    provider = CurrentLocationProvider(
      locationFetcher: fetcher, services: LocationsOn.self,
      checker: MockLoader { _ in APIResponse(PointCheck(isPointOfInterest: false)) }, notificationCenter: center)
  }

  private func model(
    _ load: @escaping @Sendable (Coordinate) async throws -> APIResponse<[PointOfInterest]>
  ) -> PointListModel {
    PointListModel(locationProvider: provider, loader: MockLoader(load), notificationCenter: center)
  }

  @Test func reloadShowsThePlacesAroundTheDevice() async throws {
    let model = model { coordinate in APIResponse([PointOfInterest(name: "\(coordinate.latitude)")], isStale: true) }

    await model.reload()

    #expect(model.places.map(\.name) == ["1.0"])
    #expect(model.isStale)
    #expect(model.error == nil)
    #expect(!model.isLoading)
  }

  @Test func failedReloadKeepsThePlaces() async throws {
    let fails = Locked(false)
    let model = model { _ in
      if fails.withLock({ $0 }) { throw WaymarkError.unexpectedStatus(500) }
      return APIResponse([PointOfInterest(name: "A")])
    }
    await model.reload()
    fails.withLock { $0 = true }

    await model.reload()

    #expect(model.places.map(\.name) == ["A"])
    #expect(model.error as? WaymarkError == .unexpectedStatus(500))
  }

  @Test func modelReloadsWhenTheAuthorizationChanges() async throws {
    let loaded = Gate()
    let model = model { _ in
      loaded.open()
      return APIResponse([PointOfInterest(name: "A")])
    }

    provider.locationFetcherDidChangeAuthorization(fetcher)

    await loaded.pass()
    while model.places.isEmpty { await Task.yield() }
    #expect(model.places.map(\.name) == ["A"])
  }

  @Test func notificationInAnotherCenterIsIgnored() async throws {
    let loads = Counter()
    let model = model { _ in
      loads.add()
      return APIResponse([])
    }
    NotificationCenter().post(name: CurrentLocationProvider.authChangedNotification, object: provider)

    // Work that the post had started would have run on the main actor before this.
    await model.reload()

    #expect(loads.value == 1)
  }

  @Test func deallocatedModelStopsObserving() async throws {
    let loads = Counter()
    var model: PointListModel? = model { _ in
      loads.add()
      return APIResponse([])
    }
    weak let weakModel = model
    model = nil

    provider.locationFetcherDidChangeAuthorization(fetcher)
    await Task { @MainActor in }.value

    #expect(weakModel == nil)
    #expect(loads.value == 0)
  }

  @Test func newestOfOverlappingReloadsCounts() async throws {
    let (firstStarted, firstMayEnd) = (Gate(), Gate())
    let calls = Counter()
    let model = model { _ in
      guard calls.add() == 1 else { return APIResponse([PointOfInterest(name: "new")]) }
      firstStarted.open()
      await firstMayEnd.pass()
      return APIResponse([PointOfInterest(name: "old")])
    }
    let first = Task { await model.reload() }
    await firstStarted.pass()
    await model.reload()
    #expect(model.isLoading)

    firstMayEnd.open()
    await first.value

    #expect(model.places.map(\.name) == ["new"])
    #expect(!model.isLoading)
  }

  // MARK: Filters

  private func model(
    filter: PointFilter = PointFilter(), clock: any Clock<Duration> = RecordingClock(),
    load: @escaping @Sendable (PointFilter) async throws -> PointPage
  ) -> PointListModel {
    PointListModel(filter: filter, clock: clock, load: load)
  }

  @Test func reloadUsesTheCurrentFilter() async throws {
    let filters = Locked<[PointFilter]>([])
    let model = model(filter: PointFilter(categories: ["cafe"])) { filter in
      filters.withLock { $0.append(filter) }
      return PointPage(response: APIResponse([]))
    }
    await model.reload()
    model.filter.box = try BoundingBox(west: 1, south: 2, east: 3, north: 4)

    await model.reload()

    #expect(filters.withLock { $0.map(\.categories) } == [["cafe"], ["cafe"]])
    #expect(filters.withLock { $0.map { $0.box?.west } } == [nil, 1])
  }

  @Test func devicesLocationIsTheCenterOfTheFilter() async throws {
    let centers = Locked<[Coordinate?]>([])
    let model = PointListModel(
      filter: PointFilter(radiusMetres: 500), locationProvider: provider, notificationCenter: center
    ) { filter in
      centers.withLock { $0.append(filter.center) }
      return PointPage(response: APIResponse([]))
    }

    await model.reload()

    #expect(centers.withLock { $0.map { $0?.longitude } } == [2])
    #expect(model.filter.center == nil)
  }

  @Test func reloadWaitsForAMapToStop() async throws {
    let clock = RecordingClock()
    let loads = Counter()
    let model = model(clock: clock) { _ in
      loads.add()
      return PointPage(response: APIResponse([]))
    }

    await model.reload(after: .milliseconds(300))

    #expect(clock.sleeps == [.milliseconds(300)])
    #expect(loads.value == 1)
  }

  @Test func reloadThatIsCancelledWhileItWaitsLoadsNothing() async throws {
    let clock = StoppedClock()
    let loads = Counter()
    let model = model(clock: clock) { _ in
      loads.add()
      return PointPage(response: APIResponse([]))
    }
    let reload = Task { await model.reload(after: .milliseconds(300)) }
    await clock.isWaitedFor.pass()

    reload.cancel()
    await reload.value

    #expect(loads.value == 0)
    #expect(model.error == nil)
    #expect(!model.isLoading)
  }

  // MARK: Cancellation

  /// Returns when the current task is cancelled.
  private nonisolated static func waitForCancellation() async {
    let (stream, continuation) = AsyncStream<Never>.makeStream()
    for await _ in stream {}
    withExtendedLifetime(continuation) {}
  }

  @Test func cancelledReloadChangesNothing() async throws {
    let isStarted = Gate()
    let calls = Counter()
    let model = model { _ in
      if calls.add() == 1 { return PointPage(response: APIResponse([PointOfInterest(name: "A")])) }
      isStarted.open()
      await Self.waitForCancellation()
      throw CancellationError()
    }
    await model.reload()
    let reload = Task { await model.reload() }
    await isStarted.pass()

    reload.cancel()
    await reload.value

    #expect(model.error == nil)
    #expect(model.places.map(\.name) == ["A"])
    #expect(!model.isLoading)
  }

  @Test func refreshSurvivesTheCancellationOfItsTask() async throws {
    let (isStarted, mayEnd) = (Gate(), Gate())
    let model = model { _ in
      isStarted.open()
      await mayEnd.pass()
      try Task.checkCancellation()
      return PointPage(response: APIResponse([PointOfInterest(name: "A")]))
    }
    let refresh = Task { await model.refresh() }
    await isStarted.pass()
    refresh.cancel()

    mayEnd.open()
    await refresh.value

    #expect(model.places.map(\.name) == ["A"])
  }

  // MARK: Pages

  private nonisolated static func place(_ number: Int) -> PointOfInterest {
    PointOfInterest(id: UUID(uuidString: "00000000-0000-7000-8000-00000000000\(number)"), name: "\(number)")
  }

  @Test func pagesAreAppendedUpToTheLast() async throws {
    let model = model { _ in
      PointPage(response: APIResponse([Self.place(1)])) {
        PointPage(response: APIResponse([Self.place(2), Self.place(3)], isStale: true))
      }
    }
    await model.reload()
    #expect(model.hasMore)

    await model.loadMore()
    await model.loadMore()

    #expect(model.places.map(\.name) == ["1", "2", "3"])
    #expect(model.isStale)
    #expect(!model.hasMore)
  }

  @Test func failedPageCanBeLoadedAgain() async throws {
    let calls = Counter()
    let model = model { _ in
      PointPage(response: APIResponse([Self.place(1)])) {
        if calls.add() == 1 { throw WaymarkError.unreachable(.timedOut) }
        return PointPage(response: APIResponse([Self.place(2)]))
      }
    }
    await model.reload()
    await model.loadMore()
    #expect(model.error as? WaymarkError == .unreachable(.timedOut))
    #expect(model.hasMore)

    await model.loadMore()

    #expect(model.error == nil)
    #expect(model.places.map(\.name) == ["1", "2"])
  }

  @Test func placeOnTwoPagesIsListedOnce() async throws {
    let model = model { _ in
      PointPage(response: APIResponse([Self.place(1), Self.place(2)])) {
        PointPage(response: APIResponse([Self.place(2), Self.place(3)]))
      }
    }
    await model.reload()

    await model.loadMore()

    #expect(model.places.map(\.name) == ["1", "2", "3"])
  }

  @Test func pageOfAnEarlierFilterIsIgnored() async throws {
    let (isStarted, mayEnd) = (Gate(), Gate())
    let calls = Counter()
    let model = model { _ in
      if calls.add() == 2 { return PointPage(response: APIResponse([Self.place(9)])) }
      return PointPage(response: APIResponse([Self.place(1)])) {
        isStarted.open()
        await mayEnd.pass()
        return PointPage(response: APIResponse([Self.place(2)]))
      }
    }
    await model.reload()
    let more = Task { await model.loadMore() }
    await isStarted.pass()
    await model.reload()

    mayEnd.open()
    await more.value

    #expect(model.places.map(\.name) == ["9"])
    #expect(!model.hasMore)
  }

  @Test func onePageIsLoadedAtATime() async throws {
    let (isStarted, mayEnd) = (Gate(), Gate())
    let calls = Counter()
    let model = model { _ in
      PointPage(response: APIResponse([Self.place(1)])) {
        calls.add()
        isStarted.open()
        await mayEnd.pass()
        return PointPage(response: APIResponse([Self.place(2)]))
      }
    }
    await model.reload()
    let more = Task { await model.loadMore() }
    await isStarted.pass()

    await model.loadMore()
    mayEnd.open()
    await more.value

    #expect(calls.value == 1)
    #expect(model.places.map(\.name) == ["1", "2"])
  }

  @Test func clientsPagesAreLoadedOnDemand() async throws {
    let service = try MockService(
      .ok(#"[{"name":"A","id":"00000000-0000-7000-8000-000000000001"}]"#, ["Link": "</locations?cursor=1>; rel=next"]),
      .ok(#"[{"name":"B","id":"00000000-0000-7000-8000-000000000002"}]"#))
    let model = PointListModel(
      waymark: Waymark(baseURL: service.baseURL, session: service.session), filter: PointFilter(categories: ["cafe"]))

    await model.reload()
    #expect(service.requests.count == 1)
    await model.loadMore()

    #expect(model.places.map(\.name) == ["A", "B"])
    #expect(service.requests.map { $0.url?.query() } == ["category=cafe&fields=%2A", "cursor=1"])
    #expect(!model.hasMore)
  }

  @Test func refreshDoesNotUseTheCacheFirst() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok(#"[{"name":"old"}]"#), .ok(#"[{"name":"new"}]"#))
    var waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))
    waymark.configuration.offlinePolicy = .cacheFirst(maximumAge: .seconds(1000))
    let model = PointListModel(waymark: waymark)
    await model.reload()
    await model.reload()
    #expect(model.places.map(\.name) == ["old"])

    await model.refresh()

    #expect(model.places.map(\.name) == ["new"])
    #expect(service.requests.count == 2)
  }

  // MARK: Stored places

  private nonisolated static func page(_ name: String, isStale: Bool = false, seconds: TimeInterval) -> PointPage {
    PointPage(
      response: APIResponse(
        value: [PointOfInterest(name: name)], receivedAt: Date(timeIntervalSinceReferenceDate: seconds),
        isStale: isStale))
  }

  @Test func storedPlacesAreShownWhileTheCurrentOnesAreLoaded() async {
    let (isLoading, mayEnd) = (Gate(), Gate())
    let model = PointListModel(
      stored: { _ in Self.page("old", isStale: true, seconds: 1) },
      load: { _ in
        isLoading.open()
        await mayEnd.pass()
        return Self.page("new", seconds: 2)
      })
    let reload = Task { await model.reload() }
    await isLoading.pass()

    #expect(model.places.map(\.name) == ["old"])
    #expect(model.isStale && model.isLoading)
    #expect(model.receivedAt == Date(timeIntervalSinceReferenceDate: 1))
    mayEnd.open()
    await reload.value

    #expect(model.places.map(\.name) == ["new"])
    #expect(!model.isStale && !model.isLoading)
    #expect(model.receivedAt == Date(timeIntervalSinceReferenceDate: 2))
  }

  @Test func storedPlacesDoNotReplaceCurrentOnesOfTheSameFilter() async {
    let loads = Counter()
    let stored = Counter()
    let model = PointListModel(
      stored: { _ in
        stored.add()
        return Self.page("old", isStale: true, seconds: 1)
      }, load: { _ in Self.page("new", seconds: TimeInterval(loads.add())) })

    await model.reload()
    await model.reload()
    #expect(stored.value == 1)
    model.filter.categories = ["cafe"]
    await model.reload()

    #expect(stored.value == 2)
    #expect(loads.value == 3)
  }

  @Test func storedPlacesRemainAfterAnError() async {
    let model = PointListModel(
      stored: { _ in Self.page("old", isStale: true, seconds: 1) },
      load: { _ in throw WaymarkError.unexpectedStatus(403) })

    await model.reload()

    #expect(model.places.map(\.name) == ["old"])
    #expect(model.isStale)
    #expect(model.error as? WaymarkError == .unexpectedStatus(403))
  }

  @Test func timeOfAListIsThatOfItsEarliestPage() async {
    let model = PointListModel { _ in
      var page = Self.page("A", seconds: 5)
      page.next = { Self.page("B", isStale: true, seconds: 3) }
      return page
    }

    await model.reload()
    await model.loadMore()

    #expect(model.receivedAt == Date(timeIntervalSinceReferenceDate: 3))
    #expect(model.isStale)
  }

  @Test func clientWithACacheShowsWhatItHasStored() async throws {
    let folder = CacheFolder()
    let service = try MockService(.ok(#"[{"name":"old"}]"#), .problem(403, code: "forbidden"))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session, cache: OnDiskCache(folder: folder.url))
    await PointListModel(waymark: waymark).reload()
    let model = PointListModel(waymark: waymark)

    await model.reload()

    #expect(model.places.map(\.name) == ["old"])
    #expect(model.isStale && model.error != nil && model.receivedAt != nil)
  }
}
