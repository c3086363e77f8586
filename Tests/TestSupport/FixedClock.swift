public import Points

/// A clock that always returns the same time.
public struct FixedClock: WallClock {
  private let time: Timestamp

  /// Creates a clock with a time.
  public init(_ time: Timestamp) {
    self.time = time
  }

  /// Returns the time.
  public func now() -> Timestamp { time }
}
