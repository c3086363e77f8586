#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Tells the time of day. Passed to whatever needs it, so that a test can say what time it is.
public protocol WallClock: Sendable {
  /// The time now. It may jump, backwards too, when the machine's clock is set.
  func now() -> Timestamp
}

/// The machine's clock.
public struct SystemClock: WallClock {
  /// Makes a clock.
  public init() {}

  /// The machine's time of day, to the microsecond.
  public func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}
