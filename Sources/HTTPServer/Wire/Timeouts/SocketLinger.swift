import NIOCore
import NIOSSL

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
