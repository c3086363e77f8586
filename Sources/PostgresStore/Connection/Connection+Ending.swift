import CLibPQ

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

extension Connection {
  /// How long the server may take to end its side.
  private static let patience = Duration.seconds(30)

  /// Closes the connection and waits, on a thread of its own, until the server has ended it too: the backend is then no
  /// longer among those that `max_connections` counts.
  ///
  /// A backend that is busy notices a closed connection only when it has something to send; it is told to stop.
  ///
  /// - Parameters:
  ///   - connection: the connection, which nobody else has any more.
  ///   - isBusy: a Boolean value that indicates whether the server may be working on a command, which is to be stopped.
  ///   - completion: called once the server has ended the connection, or after half a minute in which it has not.
  static func end(_ connection: Connection, isBusy: Bool, completion: @escaping @Sendable () -> Void) {
    let canceller = isBusy ? connection.makeCanceller() : nil
    // Outlives the connection's own, so that the server's end of the stream can still be seen.
    let socket = dup(connection.socket)
    let closing = ClosingConnection(connection)
    let hasStarted = DetachedThread.start {
      canceller?.cancel()
      closing.close()
      if socket >= 0 {
        waitForEnd(of: socket)
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

  private static func waitForEnd(of socket: Int32) {
    shutdown(socket, Int32(SHUT_WR))
    let deadline = ContinuousClock.now + patience
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    while true {
      let left = (deadline - ContinuousClock.now) / .milliseconds(1)
      guard left > 0 else { return }
      var event = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      let ready = poll(&event, 1, Int32(left.rounded(.up)))
      if ready < 0, errno == EINTR { continue }
      guard ready > 0 else { return }
      // What still comes is of no interest; 0 is the end of the stream.
      let count = recv(socket, &bytes, bytes.count, Int32(MSG_DONTWAIT))
      if count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR)) { continue }
      return
    }
  }
}

/// A connection on its way to the thread that closes it.
///
/// `@unchecked Sendable`: it is made by one thread and used by one, the other or the same, later.
private final class ClosingConnection: @unchecked Sendable {
  private var connection: Connection?

  init(_ connection: Connection) {
    self.connection = connection
  }

  func close() {
    connection = nil
  }
}

/// A means to stop the command of a connection from any thread.
///
/// `@unchecked Sendable`: a `PGcancel` shares nothing with its connection and is not changed after it is made.
final class Canceller: @unchecked Sendable {
  private let handle: OpaquePointer

  init(_ handle: OpaquePointer) {
    self.handle = handle
  }

  deinit {
    PQfreeCancel(handle)
  }

  /// Asks the server to stop the command, and returns when the server has taken note. It blocks.
  func cancel() {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 256) { message in
      _ = PQcancel(handle, message.baseAddress, Int32(message.count))
    }
  }
}
