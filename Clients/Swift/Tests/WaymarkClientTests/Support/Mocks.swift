import Foundation
import WaymarkClient

/// A loader whose responses a closure provides.
struct MockLoader<RequestDataType: Sendable, ResponseDataType: Sendable>: APILoading {
  let response: @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>

  init(_ response: @escaping @Sendable (RequestDataType) async throws -> APIResponse<ResponseDataType>) {
    self.response = response
  }

  func load(requestData: RequestDataType) async throws -> APIResponse<ResponseDataType> {
    try await response(requestData)
  }
}

extension APIResponse {
  /// Creates a response received at the Unix epoch.
  init(_ value: Value, maxAge: TimeInterval? = nil, isStale: Bool = false) {
    self.init(value: value, maxAge: maxAge, receivedAt: Date(timeIntervalSince1970: 0), isStale: isStale)
  }
}

/// A location fetcher whose location a closure provides; without one, it never responds.
final class MockLocationFetcher: LocationFetcher {
  weak var locationFetcherDelegate: (any LocationFetcherDelegate)?
  var desiredAccuracy = 0.0
  var handleRequestLocation: (() throws -> Coordinate)?

  /// The number of requests.
  private(set) var requestCount = 0

  func requestLocation() {
    requestCount += 1
    guard let handleRequestLocation else { return }
    do {
      locationFetcherDelegate?.locationFetcher(self, didUpdateLocations: [try handleRequestLocation()])
    } catch {
      locationFetcherDelegate?.locationFetcher(self, didFailWithError: error)
    }
  }
}

/// A device with enabled location services.
enum LocationsOn: LocationServices {
  static func locationServicesEnabled() -> Bool { true }
}

/// A device with disabled location services.
enum LocationsOff: LocationServices {
  static func locationServicesEnabled() -> Bool { false }
}

/// A URL opener that only records the URLs.
final class MockURLOpener: URLOpening {
  let canOpen: (URL) -> Bool
  private(set) var openedURLs: [URL] = []

  init(canOpen: @escaping (URL) -> Bool = { _ in true }) {
    self.canOpen = canOpen
  }

  func canOpenURL(_ url: URL) -> Bool { canOpen(url) }

  func open(_ url: URL, completion: (@MainActor @Sendable (Bool) -> Void)?) {
    openedURLs.append(url)
    completion?(true)
  }
}

/// A timer scheduler that only records the timers.
@MainActor
final class MockTimerScheduler: TimerScheduler {
  private(set) var timers: [Timer] = []

  func add(_ timer: Timer, forMode mode: RunLoop.Mode) {
    timers.append(timer)
  }
}
