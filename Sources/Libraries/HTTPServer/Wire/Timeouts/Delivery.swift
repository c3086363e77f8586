import CTCPInfo
import NIOCore
import NIOSSL

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

  /// Creates the present progress from the system's data; `nil` if the system has none. Call it on the channel's
  /// event loop.
  init?(of channel: any Channel) {
    guard let info = channel.tcpInfo else { return nil }
    acknowledgedBytes = Int(truncatingIfNeeded: info.bytes_acked)
    isOutstanding = info.unacked > 0 || info.notsent_bytes > 0
  }
}

extension Channel {
  /// The system's data about the socket, in which a field that an old system does not have is zero; `nil` if the
  /// system has none. Call it on the channel's event loop.
  var tcpInfo: linux_tcp_info? {
    var info: linux_tcp_info?
    #if os(Linux)
      (self as? any SocketOptionProvider)?
        .unsafeGetSocketOption(level: .tcp, name: .tcp_info)
        .assumeIsolated().whenSuccess { info = $0 }
    #endif
    return info
  }
}

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

/// The behaviour of a socket when it is closed: the value of the option `SO_LINGER`, laid out as C's `struct linger`.
struct SocketLinger {
  private let isOn: CInt
  private let seconds: CInt

  /// The value with which the next `close` resets the connection, so that the peer can't take it for an orderly end.
  static let reset = SocketLinger(isOn: 1, seconds: 0)
}

extension Channel {
  /// Closes the connection with a reset, and without the closing message of TLS, which would make an incomplete
  /// response look complete.
  func closeWithReset() {
    let options = self as? any SocketOptionProvider
    _ = options?.unsafeSetSocketOption(level: .socket, name: .so_linger, value: SocketLinger.reset)
    if let secure = try? pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self) {
      secure.close(promise: nil)
    } else {
      close(promise: nil)
    }
  }
}
