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

/// How much of what was written to a socket has come to its other end.
struct SendProgress {
  /// How many bytes the other end's system has acknowledged.
  let acknowledgedBytes: Int
  /// Whether there are more.
  let isOutstanding: Bool

  /// Asks the system; `nil` where it does not tell. To be called on the channel's event loop.
  init?(of channel: any Channel) {
    #if os(Linux)
      // `struct tcp_info` in words of 32 bits: Swift's Glibc module knows of its first 26 only. What the system has not
      // got reads as zero.
      var words: SIMD64<UInt32>?
      (channel as? any SocketOptionProvider)?
        .unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        .assumeIsolated().whenSuccess { words = $0 }
      guard let words else { return nil }
      let unacknowledgedSegments = words[6]
      acknowledgedBytes = Int(words[30]) | Int(words[31]) << 32
      let unsentBytes = words[36]
      isOutstanding = unacknowledgedSegments > 0 || unsentBytes > 0
    #else
      return nil
    #endif
  }
}
