import NIOCore

/// The time for which a client may acknowledge nothing because it has acknowledged much before.
///
/// A system whose receive buffer is full announces no window until a good part of the buffer is free, a sixteenth in
/// Linux (`__tcp_select_window`), so that it acknowledges in steps however steadily its program reads. Nothing in
/// `tcp_info` tells how far the program has come between two steps: the window's right edge moves with the
/// acknowledgements. So the time between two steps is earned by those before: a reader at ``bytesPerSecond`` or faster
/// is never late for the next one, where a step takes at most ``maximum`` at that rate. When the first step is due the
/// whole buffer has been acknowledged.
struct SilenceAllowance {
  /// The bytes that earn a second.
  static let bytesPerSecond = 10 * 1024

  /// The most that can be earned, in periods of ``HTTPServerConfiguration/Timeouts/write``.
  static let maximumPeriods = 5

  /// The most that can be earned.
  let maximum: TimeAmount

  private var earned = TimeAmount.zero
  private var bytes = 0
  private var time: NIODeadline

  /// Creates the allowance of a connection that has acknowledged nothing.
  init(_ timeouts: HTTPServerConfiguration.Timeouts, at now: NIODeadline = .now()) {
    maximum = TimeAmount(timeouts.write) * Self.maximumPeriods
    time = now
  }

  /// Returns the time that is left.
  ///
  /// - Parameter acknowledgedBytes: the number of bytes that the client's system has acknowledged in all.
  mutating func remaining(acknowledgedBytes: Int, at now: NIODeadline) -> TimeAmount {
    let left = max(.zero, earned - (now - time))
    let new = max(0, acknowledgedBytes - bytes)
    // More would be capped, and might be too large a number of nanoseconds.
    let seconds = min(Double(new) / Double(Self.bytesPerSecond), Double(maximum.nanoseconds) / 1e9)
    earned = min(maximum, left + .nanoseconds(Int64(seconds * 1e9)))
    bytes = max(bytes, acknowledgedBytes)
    time = now
    return earned
  }
}
