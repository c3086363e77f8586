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
    let reason = response.status.reasonPhrase
    var bound = 256 + reason.utf8.count + requestID.utf8.count + date.count + serverLine.count
    for (name, value) in response.headers { bound += name.utf8.count + value.utf8.count + 4 }
    let count = buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: bound) { bytes in
      var writer = FieldWriter(bytes)
      writer.writeStatus(response.status.code, reason)
      var hasLength = false
      var hasRequestID = false
      for (name, value) in response.headers {
        switch ResponseField(name) {
        case .serversOwn: continue
        case .contentLength:
          guard keepsLength, !hasLength else { continue }
          hasLength = true
        case .requestID: hasRequestID = true
        case .other: break
        }
        guard writer.writeField(name, value) else { return 0 }
      }
      if !hasLength { writer.write(framing) }
      writer.write(date)
      if !hasRequestID {
        writer.write("x-request-id: ")
        guard writer.writeFieldValue(requestID) else { return 0 }
        writer.write("\r\n")
      }
      writer.write(serverLine)
      writer.write(persistence)
      return writer.count
    }
    return count > 0
  }
}
