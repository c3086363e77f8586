import Synchronization

/// Counts events and reports their number once an interval, where there were any.
final class PeriodicCount: Sendable {
  private let interval: Duration
  private let sleep: @Sendable (Duration) async -> Void
  private let report: @Sendable (Int) -> Void
  private let count = Mutex(0)

  /// Creates a count that begins at 0.
  ///
  /// - Parameters:
  ///   - interval: the time from the first event to the report.
  ///   - sleep: waits for the interval.
  ///   - report: takes the number of events.
  init(
    interval: Duration, sleep: @escaping @Sendable (Duration) async -> Void, report: @escaping @Sendable (Int) -> Void
  ) {
    self.interval = interval
    self.sleep = sleep
    self.report = report
  }

  /// Counts an event.
  func add() {
    let isFirst = count.withLock { count in
      count += 1
      return count == 1
    }
    guard isFirst else { return }
    Task {
      await sleep(interval)
      report(
        count.withLock { count in
          defer { count = 0 }
          return count
        })
    }
  }
}
