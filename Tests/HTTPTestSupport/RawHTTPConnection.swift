import Dispatch
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// A TCP connection to an HTTP server on this machine, for tests that control the exact bytes on the wire.
///
/// Blocking calls run on threads of the connection, one for each direction, never on Swift's cooperative pool. They
/// time out after five minutes, so that a silent server fails a test instead of hanging it.
package final class RawHTTPConnection: Sendable {
  /// The error of a missing response.
  package enum Failure: Error, Hashable {
    /// The server closed the connection before the response was complete.
    case ended
    /// The server, or the system on its behalf, reset the connection.
    case reset
    /// Nothing listens on the port.
    case refused
    /// The call timed out after five minutes.
    case timedOut
    /// The received data is not an HTTP/1.1 response.
    case malformed(String)
    /// Another system error.
    case system(Int32)
  }

  private static let patienceMilliseconds: Int32 = 300_000

  private let descriptor: Int32
  private let sending = DispatchQueue(label: "RawHTTPConnection.sending")
  private let receiving = DispatchQueue(label: "RawHTTPConnection.receiving")
  private let received = Mutex<[UInt8]>([])

  private init(descriptor: Int32) {
    self.descriptor = descriptor
  }

  deinit { _ = systemClose(descriptor) }

  /// Connects to a port of this machine.
  ///
  /// - Parameter receiveBufferBytes: the size of the system's receive buffer; a small one makes a slow reader.
  package static func open(port: Int, receiveBufferBytes: Int32? = nil) async throws -> RawHTTPConnection {
    let descriptor = socket(AF_INET, Self.streamType, 0)
    guard descriptor >= 0 else { throw Failure.system(errno) }
    let connection = RawHTTPConnection(descriptor: descriptor)
    if var size = receiveBufferBytes {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout.size(ofValue: size)))
    }
    var one: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout.size(ofValue: one)))
    try await run(on: connection.sending) {
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(port).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      let result = withUnsafePointer(to: address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard result == 0 else { throw errno == ECONNREFUSED ? Failure.refused : Failure.system(errno) }
    }
    return connection
  }

  // MARK: Sending

  /// Returns when the system of the server has all bytes that were sent, which it may get later than ``send(_:)`` returns.
  package func arrival() async throws {
    try await Self.run(on: sending) { [descriptor] in
      var unacknowledged: Int32 = 0
      repeat {
        guard ioctl(descriptor, UInt(TIOCOUTQ), &unacknowledged) == 0 else { throw Failure.system(errno) }
        if unacknowledged > 0 { usleep(100) }
      } while unacknowledged > 0
    }
  }

  /// Sends the text unchanged; the caller is responsible for line endings.
  package func send(_ text: String) async throws {
    try await send(bytes: Array(text.utf8))
  }

  /// Sends the bytes.
  package func send(bytes: [UInt8]) async throws {
    try await Self.run(on: sending) { [descriptor] in
      var rest = bytes[...]
      while !rest.isEmpty {
        try Self.wait(descriptor, for: POLLOUT)
        let count = rest.withUnsafeBytes { systemSend(descriptor, $0.baseAddress, $0.count, Self.noSignal) }
        guard count > 0 else { throw Self.failure(errno) }
        rest = rest.dropFirst(count)
      }
    }
  }

  /// Sends as much as the system accepts without blocking, and returns the number of bytes.
  package func sendWithoutWaiting(bytes: [UInt8]) async -> Int {
    let count = bytes.withUnsafeBytes {
      systemSend(descriptor, $0.baseAddress, $0.count, Self.noSignal | Int32(MSG_DONTWAIT))
    }
    return max(count, 0)
  }

  /// Sends a request without a body and returns the response.
  package func get(_ target: String, headers: String = "") async throws -> RawHTTPResponse {
    try await send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
    return try await response()
  }

  // MARK: Receiving

  /// Returns the next response on the connection.
  ///
  /// - Parameter method: the request's method: a response to `HEAD` has no body.
  package func response(to method: String = "GET") async throws -> RawHTTPResponse {
    try await Self.run(on: receiving) { [self] in
      while true {
        if let response = try take(method: method, isAtEnd: false) { return response }
        let more = try receiveSome()
        guard !more.isEmpty else {
          if let response = try take(method: method, isAtEnd: true) { return response }
          throw Failure.ended
        }
        received.withLock { $0 += more }
      }
    }
  }

  /// Returns all data up to the end of the connection.
  package func rest() async throws -> [UInt8] {
    try await Self.run(on: receiving) { [self] in
      while true {
        let more = try receiveSome()
        guard !more.isEmpty else { break }
        received.withLock { $0 += more }
      }
      return received.withLock { bytes in
        defer { bytes = [] }
        return bytes
      }
    }
  }

  /// Returns the data of the next read; empty at the end.
  package func some(atMost count: Int = 65_536) async throws -> [UInt8] {
    try await Self.run(on: receiving) { [self] in
      let kept = received.withLock { bytes in
        defer { bytes = [] }
        return bytes
      }
      return kept.isEmpty ? try receiveSome(atMost: count) : kept
    }
  }

  private func take(method: String, isAtEnd: Bool) throws -> RawHTTPResponse? {
    try received.withLock { bytes in
      guard let (response, length) = try RawHTTPResponse.parse(bytes, method: method, isAtEnd: isAtEnd) else {
        return nil
      }
      bytes.removeFirst(length)
      return response
    }
  }

  private func receiveSome(atMost count: Int = 65_536) throws -> [UInt8] {
    try Self.wait(descriptor, for: POLLIN)
    var buffer = [UInt8](repeating: 0, count: count)
    let received = buffer.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
    guard received >= 0 else { throw Self.failure(errno) }
    return Array(buffer[..<received])
  }

  // MARK: Closing

  /// Closes the sending side; the connection can still be read.
  package func shutdownSending() { shutdown(descriptor, Self.sendingSide) }

  /// Resets the connection.
  package func reset() {
    var option = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout.size(ofValue: option)))
    // Connecting a socket to no address resets it and keeps the descriptor valid for `deinit`.
    var nowhere = sockaddr()
    nowhere.sa_family = sa_family_t(AF_UNSPEC)
    _ = connect(descriptor, &nowhere, socklen_t(MemoryLayout.size(ofValue: nowhere)))
  }

  // MARK: System calls

  private static func run<Value: Sendable>(
    on queue: DispatchQueue,
    _ body: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    // This lets a test's time limit end a loop that only polls.
    try Task.checkCancellation()
    return try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result { try body() }) }
    }
  }

  private static func wait(_ descriptor: Int32, for events: Int32) throws {
    var request = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    guard poll(&request, 1, patienceMilliseconds) > 0 else { throw Failure.timedOut }
  }

  private static func failure(_ code: Int32) -> Failure {
    code == ECONNRESET || code == EPIPE ? .reset : .system(code)
  }

  #if canImport(Glibc)
    private static let streamType = Int32(SOCK_STREAM.rawValue)
    private static let sendingSide = Int32(SHUT_WR)
  #else
    private static let streamType = SOCK_STREAM
    private static let sendingSide = Int32(SHUT_WR)
  #endif

  #if canImport(Darwin)
    private static let noSignal: Int32 = 0
  #else
    private static let noSignal = Int32(MSG_NOSIGNAL)
  #endif
}

private func systemClose(_ descriptor: Int32) -> Int32 { close(descriptor) }

private func systemSend(_ descriptor: Int32, _ bytes: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
  send(descriptor, bytes, count, flags)
}
