import CTCPInfo
import NIOCore

/// The delivery of the last bytes of a connection, which the system holds until the client has them.
///
/// As a rule a system continues to send when the socket is closed, and when its process has ended. A container's
/// network ends with the process, and what is held is lost.
struct Delivery {
  /// The period in which the client must take ``minimumBytes``, unless it has earned more.
  let patience: TimeAmount
  let minimumBytes: Int

  private var silence: SilenceAllowance
  private var acknowledgedBytes = 0
  private var start = NIODeadline.now()

  /// Creates a delivery that begins now.
  ///
  /// - Parameter silence: the time for which the client may acknowledge nothing.
  init(_ timeouts: HTTPServerConfiguration.Timeouts, _ silence: SilenceAllowance) {
    self.silence = silence
    patience = TimeAmount(timeouts.write)
    minimumBytes = timeouts.minimumBytesPerPeriod
  }

  /// Returns a Boolean value that indicates whether bytes are held and the client takes them.
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

/// The progress of the bytes that were written to a socket.
struct SendProgress {
  /// The number of bytes that the peer's system has acknowledged.
  let acknowledgedBytes: Int
  /// A Boolean value that indicates whether there are bytes that it has not acknowledged.
  let isOutstanding: Bool

  /// Creates the present progress from the system's data; `nil` where the system has none. Call it on the channel's
  /// event loop.
  init?(of channel: any Channel) {
    #if os(Linux)
      // A field that an old system does not have reads as zero.
      var info: waymark_tcp_info?
      (channel as? any SocketOptionProvider)?
        .unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        .assumeIsolated().whenSuccess { info = $0 }
      guard let info else { return nil }
      acknowledgedBytes = Int(truncatingIfNeeded: info.bytes_acked)
      isOutstanding = info.unacked > 0 || info.notsent_bytes > 0
    #else
      return nil
    #endif
  }
}
