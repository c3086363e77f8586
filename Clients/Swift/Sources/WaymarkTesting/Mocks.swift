public import Foundation
public import WaymarkClient

/// A loader whose responses a closure provides.
package struct MockLoader<RequestDataType: Sendable, ResponseDataType: Sendable>: APILoading {
  private let response: @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>

  /// Creates a loader.
  package init(_ response: @escaping @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>) {
    self.response = response
  }

  /// Returns the closure's response.
  ///
  /// - Throws: the closure's errors.
  package func load(requestData: RequestDataType) async throws -> APIResponse<ResponseDataType> {
    try await response(requestData)
  }
}

extension APIResponse {
  /// Creates a response that was received at the Unix epoch.
  ///
  /// ```swift
  /// let response = APIResponse([PointOfInterest(name: "A")], maxAge: 5, isStale: true)
  /// ```
  public init(_ value: Value, maxAge: TimeInterval? = nil, isStale: Bool = false) {
    self.init(value: value, maxAge: maxAge, receivedAt: Date(timeIntervalSince1970: 0), isStale: isStale)
  }
}

/// A location fetcher whose location a closure provides; without one, it never responds.
///
/// ```swift
/// let fetcher = MockLocationFetcher()
/// fetcher.handleRequestLocation = { try Coordinate(latitude: 37.3293, longitude: -121.8893) }
/// ```
@MainActor
public final class MockLocationFetcher: LocationFetcher {
  /// The delegate, which receives the locations.
  public weak var locationFetcherDelegate: (any LocationFetcherDelegate)?

  /// The accuracy that was set, in metres.
  public var desiredAccuracy = 0.0

  /// Returns the location or throws the error of a request.
  public var handleRequestLocation: (() throws -> Coordinate)?

  /// The number of requests.
  public private(set) var requestCount = 0

  /// Creates a fetcher that never responds.
  public init() {}

  /// Passes the closure's location or error to the delegate.
  public func requestLocation() {
    requestCount += 1
    guard let handleRequestLocation else { return }
    do {
      locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [try handleRequestLocation()])
    } catch {
      locationFetcherDelegate?.locationFetcher(self, didFailWithError: error)
    }
  }
}

/// A device with enabled location services: `services: LocationsOn.self`.
///
/// ```swift
/// let services: any LocationServices.Type = LocationsOn.self
/// ```
public enum LocationsOn: LocationServices {
  /// Returns `true`.
  public static func locationServicesEnabled() -> Bool { true }
}

/// A device with disabled location services: `services: LocationsOff.self`.
///
/// ```swift
/// let services: any LocationServices.Type = LocationsOff.self
/// ```
public enum LocationsOff: LocationServices {
  /// Returns `false`.
  public static func locationServicesEnabled() -> Bool { false }
}

/// A URL opener that only records the URLs.
///
/// ```swift
/// let urlOpener = MockURLOpener { $0.scheme == "https" }
/// try PointOpener(scheme: "placesapp", urlOpener: urlOpener).open(place, mode: .view)
/// #expect(urlOpener.openedURLs.count == 1)
/// ```
@MainActor
public final class MockURLOpener: URLOpening {
  private let canOpen: (URL) -> Bool

  /// The opened URLs, in order.
  public private(set) var openedURLs: [URL] = []

  /// Creates an opener of the URLs for which a closure returns `true`; by default of all.
  public init(canOpen: @escaping (URL) -> Bool = { _ in true }) {
    self.canOpen = canOpen
  }

  /// Returns whether the closure accepts a URL.
  public func canOpenURL(_ url: URL) -> Bool { canOpen(url) }

  /// Records a URL, and reports success.
  public func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
    openedURLs.append(url)
    completion?(true)
  }
}

/// A timer scheduler that only records the timers. A test calls `fire()` on one to let its time come.
///
/// ```swift
/// let timerScheduler = MockTimerScheduler()
/// let manager = FeaturedPlaceManager(waymark: waymark, timerScheduler: timerScheduler)
/// await manager.showFeaturedPlace()
/// timerScheduler.timers.last?.fire()
/// ```
@MainActor
public final class MockTimerScheduler: TimerScheduler {
  /// The timers, in order.
  public private(set) var timers: [Timer] = []

  /// Creates a scheduler without timers.
  public init() {}

  /// Records a timer.
  public func add(_ timer: Timer, forMode mode: RunLoop.Mode) {
    timers.append(timer)
  }
}
