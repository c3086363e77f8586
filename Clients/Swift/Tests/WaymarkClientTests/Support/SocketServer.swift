import Foundation
import WaymarkClient

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A server on a socket of this machine, for what a `URLProtocol` can't imitate: redirects, dropped connections, and
/// bodies in parts.
final class SocketServer: Sendable {
  /// A connection, whose functions block.
  struct Connection: Sendable {
    fileprivate let socket: Int32

    /// Returns the head of the next request; `nil` where the client closes the connection.
    func readHead() -> String? {
      var bytes: [UInt8] = []
      while !bytes.suffix(4).elementsEqual("\r\n\r\n".utf8) {
        var byte: UInt8 = 0
        guard recv(socket, &byte, 1, 0) == 1 else { return nil }
        bytes.append(byte)
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Writes a text and returns whether that succeeded.
    @discardableResult
    func write(_ text: String) -> Bool { write(Array(text.utf8)) }

    /// Writes bytes and returns whether that succeeded.
    @discardableResult
    func write(_ bytes: [UInt8]) -> Bool {
      var rest = bytes[...]
      while !rest.isEmpty {
        #if canImport(Darwin)
          let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, 0) }
        #else
          let count = rest.withUnsafeBytes { send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        #endif
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
      }
      return true
    }

    /// Writes a complete response, after which the connection is closed.
    func respond(_ status: Int, _ fields: [String: String] = [:], body: String = "") {
      let lines = fields.merging(["Content-Length": "\(body.utf8.count)", "Connection": "close"]) { given, _ in given }
      write("HTTP/1.1 \(status) S\r\n" + lines.map { "\($0): \($1)\r\n" }.joined() + "\r\n" + body)
    }

    /// Waits until the client closes the connection.
    func waitForClose() {
      var byte: UInt8 = 0
      while recv(socket, &byte, 1, 0) > 0 {}
    }
  }

  /// The URL of the server.
  let baseURL: URL

  private let listener: Int32
  private let refusesConnections: Bool

  /// Creates a server.
  ///
  /// - Parameters:
  ///   - refusesConnections: whether connections are refused. The port belongs to this server meanwhile.
  ///   - handler: handles a connection, given the number of earlier ones, on a thread of its own.
  init(refusesConnections: Bool = false, _ handler: @escaping @Sendable (Connection, Int) -> Void) throws {
    self.refusesConnections = refusesConnections
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutableBytes(of: &address) { bytes in
      let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress
      return address.map { bind(listener, $0, length) == 0 && (refusesConnections || listen(listener, 16) == 0) }
        ?? false
        && address.map { getsockname(listener, $0, &length) == 0 } ?? false
    }
    guard isListening else { throw URLError(.cannotConnectToHost) }
    baseURL = try URL(text: "http://127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
    self.listener = listener
    guard !refusesConnections else { return }
    Thread.detachNewThread {
      var count = 0
      while true {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { break }
        #if canImport(Darwin)
          var yes: Int32 = 1
          setsockopt(client, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
        #endif
        let index = count
        count += 1
        Thread.detachNewThread {
          handler(Connection(socket: client), index)
          shutdown(client, Int32(SHUT_RDWR))
          close(client)
        }
      }
      close(listener)
    }
  }

  deinit {
    // This ends `accept`, and the thread closes the socket.
    if refusesConnections { close(listener) } else { shutdown(listener, Int32(SHUT_RDWR)) }
  }
}

/// A list that many tasks append to.
final class Log<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])

  /// The elements in order.
  var all: [Element] { elements.withLock { $0 } }

  /// Appends an element.
  func append(_ element: Element) { elements.withLock { $0.append(element) } }
}
