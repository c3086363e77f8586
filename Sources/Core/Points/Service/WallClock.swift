#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#endif

import Synchronization

/// A source of the time of day, passed to the code that needs it, so that a test can set the time.
public protocol WallClock: Sendable {
  /// Returns the time. It may jump, backwards too, when the machine's clock is set.
  func now() -> Timestamp
}

/// The machine's clock.
public struct SystemClock: WallClock {
  public init() {}

  /// Returns the machine's time of day, to the microsecond.
  public func now() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(microsecondsSinceEpoch: Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000)
  }
}

/// A clock that never goes back: while its base clock is behind an earlier time, it stands still.
///
/// Parts that compare times with one another share one such clock.
public final class MonotoneClock: WallClock {
  private let base: any WallClock
  private let last = Atomic(Int64.min)

  /// Creates a clock on top of another.
  public init(_ base: any WallClock = SystemClock()) {
    self.base = base
  }

  /// Returns the time, never less than an earlier call returned.
  public func now() -> Timestamp {
    let now = base.now().microsecondsSinceEpoch
    let former = last.max(now, ordering: .relaxed).oldValue
    return Timestamp(microsecondsSinceEpoch: Swift.max(now, former))
  }
}

/// Returns a monotonic time: the duration since an arbitrary moment in the past.
@Sendable
public func monotonicTime() -> Duration {
  monotonicOrigin.duration(to: .now)
}

private let monotonicOrigin = ContinuousClock.now
