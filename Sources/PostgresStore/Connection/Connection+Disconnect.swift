import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Connection {
  /// The maximum time to wait for the server to close its side.
  private static let closeTimeout = Duration.seconds(30)

  /// Closes the connection and waits, on a separate thread, until the server has closed it too. The backend then no
  /// longer counts towards `max_connections`.
  ///
  /// A busy backend notices a closed connection only when it has something to send, so its command is cancelled.
  ///
  /// - Parameters:
  ///   - connection: the connection; the caller must hold the only reference.
  ///   - isBusy: a Boolean value that indicates whether the server may be executing a command, which is then cancelled.
  ///   - completion: called once the server has closed the connection, or after 30 seconds.
  static func disconnect(_ connection: Connection, isBusy: Bool, completion: @escaping @Sendable () -> Void) {
    let canceller = isBusy ? connection.makeCanceller() : nil
    // The duplicate outlives the connection's own descriptor, so that the end of the stream can still be read.
    let socket = dup(connection.socket)
    let closing = ClosingConnection(connection)
    let hasStarted = DetachedThread.start {
      canceller?.cancel()
      closing.close()
      if socket >= 0 {
        waitForClose(of: socket)
        _ = close(socket)
      }
      completion()
    }
    if !hasStarted {
      closing.close()
      if socket >= 0 { _ = close(socket) }
      completion()
    }
  }

  private static func waitForClose(of socket: Int32) {
    shutdown(socket, Int32(SHUT_WR))
    let deadline = ContinuousClock.now + closeTimeout
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let left = (deadline - ContinuousClock.now) / .milliseconds(1)
      guard left > 0 else { return }
      var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = poll(&event, 1, Int32(left.rounded(.up)))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { return }
      // Remaining data is discarded; 0 is the end of the stream.
      let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      if count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) { continue }
      return
    }
  }
}

/// A connection that is handed to the thread that closes it.
///
/// `@unchecked Sendable`: it is created on one thread and afterwards used by exactly one.
private final class ClosingConnection: @unchecked Sendable {
  private var connection: Connection?

  init(_ connection: Connection) {
    self.connection = connection
  }

  func close() {
    connection = nil
  }
}

/// A cancel request for a connection's command, which can be sent from any thread.
///
/// `@unchecked Sendable`: a `PGcancel` shares no state with its connection and is immutable.
final class Canceller: @unchecked Sendable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    PQfreeCancel(handle)
  }

  /// Sends the cancel request and returns when the server has received it. Blocks the calling thread.
  func cancel() {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
      _ = PQcancel(handle, message.baseAddress, Int32(message.count))
    }
  }
}
