import NIOCore

/// Follows what the system holds of the last bytes of a connection, until the client has them.
///
/// As a rule a system goes on sending when the socket is closed, and when its process has ended. A container's network
/// ends with the process, and what is held is lost.
struct Delivery {
  /// The client must take ``minimumBytes`` in each such time.
  let patience: TimeAmount
  let minimumBytes: Int

  private var acknowledgedBytes = 0
  private var start = NIODeadline.now()

  /// Begins now.
  init(_ timeouts: HTTPServerConfiguration.Timeouts) {
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
    return .now() - start < patience
  }
}
