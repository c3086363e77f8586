public import Foundation
public import Observation

/// A model of the service's featured place, which loads the next one when the response expires.
///
/// ```swift
/// let manager = FeaturedPlaceManager(waymark: waymark)
/// await manager.showFeaturedPlace()
/// print(manager.currentPlace?.name ?? "")
/// manager.stop()
/// ```
@MainActor
@Observable
public final class FeaturedPlaceManager {
  /// The featured place; `nil` before the first response, and while the service has no places.
  public private(set) var currentPlace: PointOfInterest?

  /// A Boolean value that indicates whether ``currentPlace`` comes from a cache, because the service is unreachable.
  public private(set) var isStale = false

  /// The time of the response with ``currentPlace``, by the device's clock; `nil` before the first one.
  public private(set) var receivedAt: Date?

  /// The error of the last request; `nil` where it succeeded. The previous place remains.
  public private(set) var error: (any Error)?

  /// The number of seconds after which a place is reloaded if the response does not specify a time.
  public static let defaultInterval: TimeInterval = 10

  /// The range of reload intervals in seconds, whatever the response specifies.
  static let intervals: ClosedRange<TimeInterval> = 1...3600

  @ObservationIgnored private let loader: any APILoading<Void, PointOfInterest>
  @ObservationIgnored private let timerScheduler: any TimerScheduler
  @ObservationIgnored private let now: () -> Date
  @ObservationIgnored private var timer: Timer?

  /// The number of calls to show or to stop. A response to an earlier call is ignored.
  @ObservationIgnored private var orders = 0

  package init(
    loader: any APILoading<Void, PointOfInterest>, timerScheduler: any TimerScheduler = RunLoop.main,
    now: @escaping () -> Date = { Date() }
  ) {
    self.loader = loader
    self.timerScheduler = timerScheduler
    self.now = now
  }

  /// Creates a manager without a place; ``showFeaturedPlace()`` starts it. It asks the network even if the client's
  /// ``OfflinePolicy`` would use a stored response first.
  ///
  /// - Parameters:
  ///   - waymark: the client.
  ///   - timerScheduler: the scheduler of the timer for the next request.
  public convenience init(waymark: Waymark, timerScheduler: any TimerScheduler = RunLoop.main) {
    var waymark = waymark
    waymark.configuration.offlinePolicy = waymark.configuration.offlinePolicy.confirming
    self.init(
      loader: waymark.loader(FeaturedPlaceRequest(baseURL: waymark.baseURL)), timerScheduler: timerScheduler,
      now: waymark.configuration.now)
  }

  /// Loads the current featured place, and schedules the next request.
  public func showFeaturedPlace() async {
    orders += 1
    let order = orders
    let outcome: Result<APIResponse<PointOfInterest>, any Error>
    do {
      outcome = .success(try await loader.load(requestData: ()))
    } catch {
      outcome = .failure(error)
    }
    guard order == orders else { return }
    if let interval = show(outcome) { scheduleNextPlace(after: interval) }
  }

  /// Stops loading. The current place remains.
  public func stop() {
    orders += 1
    timer?.invalidate()
    timer = nil
  }

  /// Applies the result of a request, and returns the seconds until the next one; `nil` where the request was
  /// cancelled.
  private func show(_ outcome: Result<APIResponse<PointOfInterest>, any Error>) -> TimeInterval? {
    switch outcome {
    case .success(let response):
      (currentPlace, isStale, receivedAt, error) = (response.value, response.isStale, response.receivedAt, nil)
      return response.isStale ? Self.defaultInterval : response.maxAge ?? Self.defaultInterval
    case .failure(WaymarkError.problem(let problem)) where problem.code == .notFound:
      (currentPlace, isStale, receivedAt, error) = (nil, false, now(), nil)
      return Self.defaultInterval
    case .failure(is CancellationError): return nil
    case .failure(let error):
      self.error = error
      guard case WaymarkError.problem(let problem) = error, let retryAfter = problem.retryAfter else {
        return Self.defaultInterval
      }
      return TimeInterval(retryAfter.components.seconds)
    }
  }

  private func scheduleNextPlace(after interval: TimeInterval) {
    timer?.invalidate()
    let seconds = min(max(interval, Self.intervals.lowerBound), Self.intervals.upperBound)
    let timer = Timer(fire: now().addingTimeInterval(seconds), interval: 0, repeats: false) { [weak self] _ in
      Task { @MainActor [weak self] in await self?.showFeaturedPlace() }
    }
    self.timer = timer
    // In common modes the timer fires while the user scrolls, too.
    timerScheduler.add(timer, forMode: .common)
  }
}

/// A scheduler of timers: a `RunLoop`, or a mock in tests.
///
/// ```swift
/// let scheduler: any TimerScheduler = RunLoop.main
/// scheduler.add(Timer(timeInterval: 1, repeats: false) { _ in }, forMode: .common)
/// ```
@MainActor
public protocol TimerScheduler: AnyObject {
  /// Schedules a timer to fire at its `fireDate`.
  func add(_ timer: Timer, forMode mode: RunLoop.Mode)
}

extension RunLoop: TimerScheduler {}
