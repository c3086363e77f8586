import CTCPInfo
import NIOCore

/// The delivery of the last bytes of a connection from the socket's send buffer.
///
/// Usually the system continues to send after the socket is closed, and after its process has ended. But a container's
/// network ends with its process, and unsent bytes are lost.
struct Delivery {
  /// The period in which the client must take ``minimumBytes``, unless it has earned more.
  let period: TimeAmount
  let minimumBytes: Int

  private var silence: SilenceAllowance
  private var acknowledgedBytes = 0
  private var start = NIODeadline.now()

  /// Creates a delivery that begins now.
  ///
  /// - Parameter silence: the time for which the client may acknowledge nothing.
  init(_ timeouts: HTTPServerConfiguration.Timeouts, _ silence: SilenceAllowance) {
    self.silence = silence
    period = TimeAmount(timeouts.write)
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
    return silence.remaining(acknowledgedBytes: acknowledgedBytes, at: now) > .zero || now - start < period
  }
}

struct SendProgress {
  /// The number of bytes that the peer's system has acknowledged.
  let acknowledgedBytes: Int
  /// A Boolean value that indicates whether there are bytes that it has not acknowledged.
  let isOutstanding: Bool

  /// Creates the present progress from the system's data; `nil` where the system has none. Call it on the channel's
  /// event loop.
  init?(of channel: any Channel) {
    guard let info = channel.tcpInfo else { return nil }
    acknowledgedBytes = Int(truncatingIfNeeded: info.bytes_acked)
    isOutstanding = info.unacked > 0 || info.notsent_bytes > 0
  }
}

extension Channel {
  /// The system's data about the socket, in which a field that an old system does not have is zero; `nil` where the
  /// system has none. Call it on the channel's event loop.
  var tcpInfo: waymark_tcp_info? {
    var info: waymark_tcp_info?
    #if os(Linux)
      (self as? any SocketOptionProvider)?
        .unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        .assumeIsolated().whenSuccess { info = $0 }
    #endif
    return info
  }
}
