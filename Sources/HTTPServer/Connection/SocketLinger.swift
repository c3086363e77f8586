import NIOCore

/// How a socket ends when it is closed: the value of the option `SO_LINGER`, laid out as C's `struct linger`.
struct SocketLinger {
  private let isOn: CInt
  private let seconds: CInt

  /// What makes the next `close` reset the connection, so that the peer can't take it for an orderly end.
  static let reset = SocketLinger(isOn: 1, seconds: 0)
}

extension Channel {
  /// Closes the connection with a reset.
  func closeWithReset() {
    let options = self as? any SocketOptionProvider
    _ = options?.unsafeSetSocketOption(level: .socket, name: .so_linger, value: SocketLinger.reset)
    close(promise: nil)
  }
}
