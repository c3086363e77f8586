import NIOCore
import NIOHPACK
import NIOHTTP1

/// An encoder of the heads of responses in HTTP/2 (RFC 9113, section 8.3.2).
struct HTTP2ResponseEncoder {
  private let serverName: String?

  init(serverName: String?) {
    self.serverName = serverName
  }

  /// Returns the head of a response.
  ///
  /// - Parameters:
  ///   - length: the length of the body, if it is to be announced.
  ///   - keepsLength: a Boolean value that indicates whether the response's own `Content-Length` is kept: it has no
  ///     body (HEAD and 304).
  /// - Returns: the head; `nil` where a field must not be sent.
  func head(
    of response: HTTPResponse,
    length: Int?,
    keepsLength: Bool,
    requestID: String,
    date: String
  ) -> HPACKHeaders? {
    var head = HPACKHeaders()
    head.reserveCapacity(response.headers.count + 5)
    head.add(name: ":status", value: String(response.status.code))
    let known = response.headers.forEachSent(keepsLength: keepsLength) { name, value in
      if name.equalsIgnoringCase("keep-alive") || name.equalsIgnoringCase("upgrade") { return true }
      guard !name.isEmpty, name.utf8.allSatisfy(FieldWriter.isTokenByte),
        value.utf8.allSatisfy(FieldWriter.isValueByte)
      else { return false }
      head.add(name: name.lowercased(), value: value)
      return true
    }
    guard let known else { return nil }
    if !known.hasLength, let length { head.add(name: "content-length", value: String(length)) }
    head.add(name: "date", value: date)
    if !known.hasRequestID { head.add(name: "\(RequestID.headerName)", value: requestID) }
    if let serverName { head.add(name: "server", value: serverName) }
    return head
  }
}
