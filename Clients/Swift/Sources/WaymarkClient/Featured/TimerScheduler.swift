public import Foundation

/// What fires timers: a `RunLoop`, or what a test puts in its place.
@MainActor
public protocol TimerScheduler: AnyObject {
  /// Takes a timer, to fire it at its `fireDate`.
  func add(_ timer: Timer, forMode mode: RunLoop.Mode)
}

extension RunLoop: TimerScheduler {}
