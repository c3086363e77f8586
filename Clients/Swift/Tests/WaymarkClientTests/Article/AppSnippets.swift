import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@MainActor
@Suite(.timeLimit(.minutes(5))) struct AppSnippets {
  // snippet: fetcher
  final class StandingStill: LocationFetcher {
    weak var locationFetcherDelegate: (any LocationFetcherDelegate)?
    var desiredAccuracy = 0.0
    var handleRequestLocation: (() -> Coordinate)?

    func requestLocation() {
      guard let location = handleRequestLocation?() else { return }
      locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [location])
    }
  }
  // end

  private func provider(
    _ fetcher: any LocationFetcher, services: any LocationServices.Type = LocationsOn.self,
    notificationCenter: NotificationCenter = NotificationCenter()
  ) -> CurrentLocationProvider {
    CurrentLocationProvider(
      locationFetcher: fetcher, services: services,
      checker: MockLoader { _ in APIResponse(PointCheck(isPointOfInterest: true)) },
      notificationCenter: notificationCenter)
  }

  // snippet: location
  @Test func theCheckIsOfWhereTheDeviceIs() async throws {
    let coordinate = try Coordinate(latitude: 37.3293, longitude: -121.8893)
    let fetcher = StandingStill()
    fetcher.handleRequestLocation = { coordinate }
    let service = try MockService(.ok(#"{"isPointOfInterest":true}"#))
    let provider = CurrentLocationProvider(
      locationFetcher: fetcher, services: LocationsOn.self,
      waymark: Waymark(baseURL: service.baseURL, session: service.session),
      notificationCenter: NotificationCenter())

    let check = try await provider.checkCurrentLocation()

    #expect(check.isPointOfInterest)
    #expect(service.requests.first?.url?.query() == "lat=37.3293&long=-121.8893")
  }
  // end

  // snippet: type
  enum SwitchedOff: LocationServices {
    static func locationServicesEnabled() -> Bool { false }
  }

  @Test func aDeviceWithoutLocationsSaysSo() async {
    let provider = provider(StandingStill(), services: SwitchedOff.self)

    await #expect(throws: LocationError.servicesDisabled) { try await provider.currentLocation() }
  }
  // end

  // snippet: centre
  @Test func aChangeOfAuthorizationIsPosted() {
    let notificationCenter = NotificationCenter()
    let fetcher = StandingStill()
    let provider = provider(fetcher, notificationCenter: notificationCenter)
    let posted = Counter()
    let token = notificationCenter.addObserver(
      forName: CurrentLocationProvider.authChangedNotification, object: provider, queue: nil
    ) { _ in posted.add() }

    provider.locationFetcherDidChangeAuthorization(fetcher)

    #expect(posted.value == 1)
    notificationCenter.removeObserver(token)
  }
  // end

  // snippet: timer
  @Test func nextRequestIsScheduledForTheResponsesExpiry() async throws {
    let now = Date(timeIntervalSinceReferenceDate: 800_000_000)
    let timerScheduler = MockTimerScheduler()
    let service = try MockService(.ok(#"{"name":"A"}"#, ["Cache-Control": "max-age=7"]))
    let waymark = Waymark(
      baseURL: service.baseURL, session: service.session,
      configuration: LoaderConfiguration(now: { now }))
    let manager = FeaturedPlaceManager(waymark: waymark, timerScheduler: timerScheduler)

    await manager.showFeaturedPlace()

    #expect(manager.currentPlace?.name == "A")
    #expect(timerScheduler.timers.map(\.fireDate) == [now.addingTimeInterval(7)])
  }
  // end

  // snippet: subclass
  class WebsiteOpener {
    func openWebsite(of place: PointOfInterest) {
      if let website = place.website { open(website) }
    }

    func open(_ url: URL) { /* The real one goes to the system from here. */  }
  }

  final class RecordingWebsiteOpener: WebsiteOpener {
    var openedURLs: [URL] = []

    override func open(_ url: URL) { openedURLs.append(url) }
  }
  // end

  @Test func aSubclassSeesWhatIsOpened() {
    let opener = RecordingWebsiteOpener()

    opener.openWebsite(of: PointOfInterest(name: "A", tags: ["website": "https://a.example"]))

    #expect(opener.openedURLs.map(\.absoluteString) == ["https://a.example"])
  }

  // snippet: opener
  @Test func thePlaceIsOpenedByItsDeepLink() throws {
    let urlOpener = MockURLOpener()
    let place = PointOfInterest(id: UUID(uuidString: "0199A1B2-0000-7000-8000-000000000001"), name: "A")

    try PointOpener(scheme: "placesapp", urlOpener: urlOpener).open(place, mode: .edit)

    #expect(
      urlOpener.openedURLs.map(\.absoluteString)
        == ["placesapp://open?id=0199a1b2-0000-7000-8000-000000000001&mode=edit"])
  }
  // end
}
