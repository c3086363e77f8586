import NIOCore

/// Follows what the system holds of the last bytes of a connection, until the client has them.
///
/// As a rule a system goes on sending when the socket is closed, and when its process has ended. A container's network
/// ends with the process, and what is held is lost.
struct Delivery {
  /// The client must take ``minimumBytes`` in each such time, or have earned more.
  let patience: TimeAmount
  let minimumBytes: Int

  private var silence: SilenceAllowance
  private var acknowledgedBytes = 0
  private var start = NIODeadline.now()

  /// Begins now.
  ///
  /// - Parameter silence: how long the client may acknowledge nothing.
  init(_ timeouts: HTTPServerConfiguration.Timeouts, _ silence: SilenceAllowance) {
    self.silence = silence
    patience = TimeAmount(timeouts.write)
    minimumBytes = timeouts.minimumBytesPerPeriod
  }

  /// Whether something is held, and the client takes it.
  mutating func isUnderWay(on channel: any Channel) -> Bool {
    guard let progress = SendProgress(of: channel), progress.isOutstanding else { return false }
    if progress.acknowledgedBytes >= acknowledgedBytes + minimumBytes {
      acknowledgedBytes = progress.acknowledgedBytes
      start = .now()
    }
    let now = NIODeadline.now()
    return silence.remaining(acknowledgedBytes: acknowledgedBytes, at: now) > .zero || now - start < patience
  }
}
