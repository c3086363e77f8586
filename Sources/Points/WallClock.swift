#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

/// Where the time of day is read.
public protocol WallClock: Sendable {
  /// The time now.
  func now() -> Timestamp
}

/// The clock of the machine.
public struct SystemClock: WallClock {
  /// Makes the clock.
  public init() {}

  /// The time of the machine's real-time clock.
  public func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000)
  }
}
