import Foundation
import Synchronization
import Testing
import WaymarkClient

@MainActor
@Suite(.timeLimit(.minutes(1))) struct PointListModelTests {
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
    let fails = Mutex(false)
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

    // What the post had started would be on the main actor before this.
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
}
