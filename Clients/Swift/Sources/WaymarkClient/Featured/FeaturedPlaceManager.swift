public import Foundation
public import Observation

/// Shows the service's featured place, and the next one when it changes: the answer says when that is.
@MainActor
@Observable
public final class FeaturedPlaceManager {
  /// The featured place; `nil` before the first, and while the service has no places.
  public private(set) var currentPlace: PointOfInterest?

  /// Why the last look brought nothing; `nil` where it did. The place before is shown on.
  public private(set) var error: (any Error)?

  /// How many seconds a place is shown where no answer says how long.
  public static let defaultInterval: TimeInterval = 10

  /// How many seconds a place is shown at least and at most, whatever the answer says.
  static let intervals: ClosedRange<TimeInterval> = 1...3600

  @ObservationIgnored private let loader: any APILoading<Void, PointOfInterest>
  @ObservationIgnored private let timerScheduler: any TimerScheduler
  @ObservationIgnored private let now: () -> Date
  @ObservationIgnored private var timer: Timer?

  /// How often it was told to look or to stop. An answer counts only where it was told nothing since.
  @ObservationIgnored private var orders = 0

  /// Creates a manager that shows nothing yet; ``showFeaturedPlace()`` begins.
  ///
  /// - Parameters:
  ///   - loader: what asks the service, an ``APIRequestLoader`` of ``FeaturedPlaceRequest``.
  ///   - timerScheduler: what fires the timer for the next change.
  ///   - now: tells what time it is.
  public init(
    loader: any APILoading<Void, PointOfInterest>, timerScheduler: any TimerScheduler = RunLoop.main,
    now: @escaping () -> Date = { Date() }
  ) {
    self.loader = loader
    self.timerScheduler = timerScheduler
    self.now = now
  }

  /// Shows the featured place of the moment, and schedules the next change.
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

  /// Goes on showing what is shown, whatever is featured from now on.
  public func stop() {
    orders += 1
    timer?.invalidate()
    timer = nil
  }

  /// Shows what came of a look; answers for how many seconds, or `nil` where the look was cancelled.
  private func show(_ outcome: Result<APIResponse<PointOfInterest>, any Error>) -> TimeInterval? {
    switch outcome {
    case .success(let answer):
      (currentPlace, error) = (answer.value, nil)
      return answer.isStale ? Self.defaultInterval : answer.maxAge ?? Self.defaultInterval
    case .failure(APIError.problem(let problem)) where problem.code == .notFound:
      (currentPlace, error) = (nil, nil)
      return Self.defaultInterval
    case .failure(is CancellationError): return nil
    case .failure(let error):
      self.error = error
      guard case APIError.problem(let problem) = error, let retryAfter = problem.retryAfter else {
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
    // Common modes: the place changes while the user scrolls, too.
    timerScheduler.add(timer, forMode: .common)
  }
}
