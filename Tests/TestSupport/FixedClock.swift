public import Points

/// A clock that always tells the same time.
public struct FixedClock: WallClock {
  private let time: Timestamp

  /// Creates a clock that tells this time.
  public init(_ time: Timestamp) {
    self.time = time
  }

  /// That time.
  public func now() -> Timestamp { time }
}
