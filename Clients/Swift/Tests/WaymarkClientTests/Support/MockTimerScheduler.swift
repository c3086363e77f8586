import Foundation
import WaymarkClient

/// Fires no timer, and hands each over to the test as it comes.
@MainActor
final class MockTimerScheduler: TimerScheduler {
  private(set) var timers: [Timer] = []

  func add(_ timer: Timer, forMode mode: RunLoop.Mode) {
    timers.append(timer)
  }
}
