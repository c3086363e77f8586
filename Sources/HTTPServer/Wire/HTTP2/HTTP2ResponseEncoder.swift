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
    var hasLength = false
    var hasRequestID = false
    for (name, value) in response.headers {
      switch ResponseField(name) {
      case .serversOwn: continue
      case .contentLength:
        guard keepsLength, !hasLength else { continue }
        hasLength = true
      case .requestID: hasRequestID = true
      case .other:
        if name.equalsIgnoringCase("keep-alive") || name.equalsIgnoringCase("upgrade") { continue }
      }
      guard !name.isEmpty, name.utf8.allSatisfy(FieldWriter.isTokenByte),
        value.utf8.allSatisfy(FieldWriter.isValueByte)
      else { return nil }
      head.add(name: name.lowercased(), value: value)
    }
    if !hasLength, let length { head.add(name: "content-length", value: String(length)) }
    head.add(name: "date", value: date)
    if !hasRequestID { head.add(name: "\(RequestID.headerName)", value: requestID) }
    if let serverName { head.add(name: "server", value: serverName) }
    return head
  }
}
