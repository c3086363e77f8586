#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// How a socket ends when it is closed.
enum SocketLinger {
  /// What makes the next `close` reset the connection, so that the peer can't take it for an orderly end.
  static let reset = linger(l_onoff: 1, l_linger: 0)
}
