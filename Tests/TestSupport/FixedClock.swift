package import Points

/// A clock that always returns the same time.
package struct FixedClock: WallClock {
  private let time: Timestamp

  /// Creates a clock with a time.
  package init(_ time: Timestamp) {
    self.time = time
  }

  /// Returns the time.
  package func now() -> Timestamp { time }
}
