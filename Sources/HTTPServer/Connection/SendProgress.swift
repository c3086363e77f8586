import CTCPInfo
import NIOCore

/// How much of what was written to a socket has come to its other end.
struct SendProgress {
  /// The number of bytes that the peer's system has acknowledged.
  let acknowledgedBytes: Int
  /// A Boolean value that indicates whether there are more.
  let isOutstanding: Bool

  /// Asks the system; `nil` where it does not tell. To be called on the channel's event loop.
  init?(of channel: any Channel) {
    #if os(Linux)
      // What an old system has not got reads as zero.
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
