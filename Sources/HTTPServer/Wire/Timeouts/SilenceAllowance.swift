import NIOCore

/// The extra time for which a client may acknowledge nothing, in proportion to the bytes that it has acknowledged.
///
/// A receiver whose buffer is full advertises a zero window until a part of the buffer is free, a sixteenth in Linux
/// (`__tcp_select_window`). So it acknowledges in steps, even if its program reads steadily, and `tcp_info` does not
/// show the progress between two steps. Therefore acknowledged bytes earn time for the next step: a client that reads
/// ``bytesPerSecond`` or faster does not time out as long as a step takes at most ``maximum`` at that rate. Before the
/// first step, the whole receive buffer has been acknowledged.
struct SilenceAllowance {
  /// The number of bytes that earn one second.
  static let bytesPerSecond = 10 * 1024

  /// The maximum earned time, in periods of ``HTTPServerConfiguration/Timeouts/write``.
  static let maximumPeriods = 5
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
