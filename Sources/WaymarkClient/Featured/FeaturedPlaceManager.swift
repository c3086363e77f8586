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

  /// Makes a manager that shows nothing yet; ``showFeaturedPlace()`` begins.
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
    var interval = Self.defaultInterval
    do {
      let answer = try await loader.load(requestData: ())
      (currentPlace, error) = (answer.value, nil)
      if let maxAge = answer.maxAge, !answer.isStale { interval = maxAge }
    } catch APIError.problem(let problem) where problem.code == .notFound {
      (currentPlace, error) = (nil, nil)
    } catch is CancellationError {
      return
    } catch {
      self.error = error
      if case APIError.problem(let problem) = error, let retryAfter = problem.retryAfter {
        interval = TimeInterval(retryAfter.components.seconds)
      }
    }
    scheduleNextPlace(after: interval)
  }

  /// Shows what is shown from now on.
  public func stop() {
    timer?.invalidate()
    timer = nil
  }

  private func scheduleNextPlace(after interval: TimeInterval) {
    stop()
    let seconds = min(max(interval, Self.intervals.lowerBound), Self.intervals.upperBound)
    let timer = Timer(fire: now().addingTimeInterval(seconds), interval: 0, repeats: false) { [weak self] _ in
      Task { @MainActor [weak self] in await self?.showFeaturedPlace() }
    }
    self.timer = timer
    // Common modes: the place changes while the user scrolls, too.
    timerScheduler.add(timer, forMode: .common)
  }
}
