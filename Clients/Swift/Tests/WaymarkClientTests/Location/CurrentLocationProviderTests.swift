import Foundation
import Testing
import WaymarkTesting

@testable import WaymarkClient

@MainActor
@Suite(.timeLimit(.minutes(5))) struct CurrentLocationProviderTests {
  private let fetcher = MockLocationFetcher()
  private let coordinate: Coordinate

  init() throws {
    coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)
  }

  private func provider(
    services: any LocationServices.Type = LocationsOn.self, notificationCenter: NotificationCenter = .init(),
    check: @escaping @Sendable (Coordinate) throws -> PointCheck = { _ in PointCheck(isPointOfInterest: false) }
  ) -> CurrentLocationProvider {
    CurrentLocationProvider(
      locationFetcher: fetcher, services: services, checker: MockLoader { APIResponse(try check($0)) },
      notificationCenter: notificationCenter)
  }

  @Test func serviceIsAskedAboutTheDevicesLocation() async throws {
    fetcher.handleRequestLocation = { [coordinate] in coordinate }
    let asked = Locked<[Coordinate]>([])
    let found = PointCheck(isPointOfInterest: true, place: PointOfInterest(name: "A"))
    let provider = provider { coordinate in
      asked.withLock { $0.append(coordinate) }
      return found
    }

    let check = try await provider.checkCurrentLocation()

    #expect(check == found)
    #expect(asked.withLock { $0 } == [coordinate])
  }

  @Test func theCompletionGetsTheCheck() async throws {
    fetcher.handleRequestLocation = { [coordinate] in coordinate }
    let provider = provider { _ in PointCheck(isPointOfInterest: true) }

    let result = await withCheckedContinuation { continuation in
      provider.checkCurrentLocation { continuation.resume(returning: $0) }
    }

    #expect(try result.get().isPointOfInterest)
  }

  @Test func theAccuracyIsSet() {
    let provider = provider()

    #expect(fetcher.desiredAccuracy == 10)
    #expect(fetcher.locationFetcherDelegate === provider)
  }

  @Test func fetchersErrorIsThrown() async throws {
    fetcher.handleRequestLocation = { throw LocationError.noLocation }
    let provider = provider()

    await #expect(throws: LocationError.noLocation) { try await provider.checkCurrentLocation() }
  }

  @Test func servicesErrorIsThrown() async throws {
    fetcher.handleRequestLocation = { [coordinate] in coordinate }
    let provider = provider { _ in throw WaymarkError.unreachable(.timedOut) }

    let result = await withCheckedContinuation { continuation in
      provider.checkCurrentLocation { continuation.resume(returning: $0) }
    }

    #expect(throws: WaymarkError.unreachable(.timedOut)) { try result.get() }
  }

  @Test func disabledLocationServicesAreNotQueried() async throws {
    let provider = provider(services: LocationsOff.self)

    await #expect(throws: LocationError.servicesDisabled) { try await provider.checkCurrentLocation() }

    #expect(fetcher.requestCount == 0)
  }

  @Test func concurrentCallersShareOneLocation() async throws {
    let provider = provider()
    let first = Task { try await provider.currentLocation() }
    while fetcher.requestCount == 0 { await Task.yield() }
    let second = Task { try await provider.currentLocation() }
    // The newest of several counts.
    let other = try Coordinate(latitude: 0, longitude: 0)
    while provider.waiting.count < 2 { await Task.yield() }

    provider.locationFetcher(fetcher, didUpdateLocations: [other, coordinate])

    #expect(try await [first.value, second.value] == [coordinate, coordinate])
    #expect(fetcher.requestCount == 1)
  }

  @Test func noLocationAtAllIsAnError() async throws {
    let provider = provider()
    let task = Task { try await provider.currentLocation() }
    while fetcher.requestCount == 0 { await Task.yield() }

    provider.locationFetcher(fetcher, didUpdateLocations: [])

    await #expect(throws: LocationError.noLocation) { try await task.value }
  }

  @Test func cancelledCallerStopsWaiting() async throws {
    let provider = provider()
    let task = Task { try await provider.currentLocation() }
    while fetcher.requestCount == 0 { await Task.yield() }

    task.cancel()

    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test func aChangeOfAuthorizationIsPosted() {
    let center = NotificationCenter()
    let provider = provider(notificationCenter: center)
    let posted = Counter()
    let token = center.addObserver(
      forName: CurrentLocationProvider.authChangedNotification, object: provider, queue: nil
    ) { _ in posted.add() }

    provider.locationFetcherDidChangeAuthorization(fetcher)

    #expect(posted.value == 1)
    center.removeObserver(token)
  }
}
