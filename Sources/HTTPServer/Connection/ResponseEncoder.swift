import NIOCore
import NIOHTTP1

/// Writes the heads of answers as HTTP/1.1 has them on the wire.
struct ResponseEncoder {
  /// How the client finds the end of a body.
  enum Framing: Equatable {
    /// There is none and never could be: 204 and 304.
    case none
    /// `Content-Length`.
    case length(Int)
    /// `Transfer-Encoding: chunked`.
    case chunked
    /// The connection's end.
    case close
  }

  /// What the `Connection` field says; nothing where the client takes for granted what it would say.
  enum Persistence {
    case implied
    case keepAlive
    case close
  }

  private let serverLine: [UInt8]

  init(serverName: String?) {
    serverLine = serverName.map { Array("server: \($0)\r\n".utf8) } ?? []
  }

  /// Appends the head of an answer.
  ///
  /// The fields that say how the message is framed and when it was made are the server's own: where the answer has them
  /// they are left out, but for the `Content-Length` of an answer that has a body only in name (HEAD and 304).
  ///
  /// - Returns: whether all the fields may be sent; where one holds what must not be in a field, nothing is appended.
  func append(
    _ response: HTTPResponse,
    framing: Framing,
    keepsLength: Bool,
    persistence: Persistence,
    requestID: String,
    date: [UInt8],
    to buffer: inout ByteBuffer
  ) -> Bool {
    let start = buffer.writerIndex
    appendStatus(response.status, to: &buffer)
    var hasLength = false
    var hasRequestID = false
    for (name, value) in response.headers {
      switch name.utf8.count {
      case 4 where name.equalsIgnoringCase("date"), 10 where name.equalsIgnoringCase("connection"),
        17 where name.equalsIgnoringCase("transfer-encoding"):
        continue
      case 14 where name.equalsIgnoringCase("content-length"):
        guard keepsLength, !hasLength else { continue }
        hasLength = true
      case 12 where name.equalsIgnoringCase("x-request-id"):
        hasRequestID = true
      default: break
      }
      guard Self.isToken(name), Self.isFieldValue(value) else {
        buffer.moveWriterIndex(to: start)
        return false
      }
      buffer.writeString(name)
      buffer.writeStaticString(": ")
      buffer.writeString(value)
      buffer.writeStaticString("\r\n")
    }
    if !hasLength { appendFraming(framing, to: &buffer) }
    buffer.writeBytes(date)
    if !hasRequestID {
      buffer.writeStaticString("x-request-id: ")
      buffer.writeString(requestID)
      buffer.writeStaticString("\r\n")
    }
    buffer.writeBytes(serverLine)
    switch persistence {
    case .implied: buffer.writeStaticString("\r\n")
    case .keepAlive: buffer.writeStaticString("connection: keep-alive\r\n\r\n")
    case .close: buffer.writeStaticString("connection: close\r\n\r\n")
    }
    return true
  }

  private func appendStatus(_ status: HTTPResponseStatus, to buffer: inout ByteBuffer) {
    switch status {
    case .ok: buffer.writeStaticString("HTTP/1.1 200 OK\r\n")
    case .notFound: buffer.writeStaticString("HTTP/1.1 404 Not Found\r\n")
    default:
      buffer.writeStaticString("HTTP/1.1 ")
      buffer.writeString(String(status.code))
      buffer.writeStaticString(" ")
      // A reason phrase of one's own is a place to put line ends in; none is needed.
      buffer.writeString(Self.isFieldValue(status.reasonPhrase) ? status.reasonPhrase : "")
      buffer.writeStaticString("\r\n")
    }
  }

  private func appendFraming(_ framing: Framing, to buffer: inout ByteBuffer) {
    switch framing {
    case .none, .close: break
    case .length(let length):
      buffer.writeStaticString("content-length: ")
      buffer.writeString(String(length))
      buffer.writeStaticString("\r\n")
    case .chunked:
      buffer.writeStaticString("transfer-encoding: chunked\r\n")
    }
  }

  // MARK: What may be in a field (RFC 9110, section 5)

  private static func isToken(_ name: String) -> Bool {
    !name.isEmpty
      && name.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
          true
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
          UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "^"),
          UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
          true
        default: false
        }
      }
  }

  private static func isFieldValue(_ value: String) -> Bool {
    value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
  }
}
