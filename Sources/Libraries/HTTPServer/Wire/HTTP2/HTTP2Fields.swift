import NIOCore
import NIOHPACK
import NIOHTTP1

/// The head of a request as HTTP/2 has it (RFC 9113, section 8.3), held to the same rules as one of HTTP/1.1.
///
/// Violations of HTTP/2 itself, such as fields of a connection or two pseudo-fields of a name, were rejected before.
struct HTTP2RequestHead {
  let method: HTTPMethod
  let target: RequestTarget
  let headers: RequestFields

  /// The length of the body; `nil` if it is not announced.
  let bodyLength: Int?
  let awaitsContinue: Bool

  /// The client's own request id, if it is acceptable.
  let requestID: String?

  /// Creates a head from a block of fields.
  ///
  /// - Parameter isWhole: a Boolean value that indicates whether no body follows.
  /// - Throws: 501 `not-implemented` for an unknown method, 414 `uri-too-long`, 431 `headers-too-large`, 400
  ///   `malformed-request` or 417 where an expectation is not known.
  init(_ fields: HPACKHeaders, isWhole: Bool, limits: HTTPServerConfiguration.Limits) throws(Problem) {
    var method = ""
    var path = ""
    var scheme = ""
    var authority: String?
    var headers = HTTPHeaders()
    headers.reserveCapacity(fields.count)
    for (name, value, _) in fields {
      switch name {
      case ":method": method = value
      case ":path": path = value
      case ":scheme": scheme = value
      case ":authority":
        authority = value
        headers.add(name: "host", value: value)
      case _ where name.utf8.first == UInt8(ascii: ":"): break
      case "host" where authority != nil:
        // A proxy may repeat the authority in the field that it replaces (RFC 9113, section 8.3.1).
        guard Self.isSame(value, authority, scheme: scheme) else {
          throw .malformedRequest("the Host field differs from :authority")
        }
      default: headers.add(name: name, value: value)
      }
    }
    let head = RequestHead(
      method: HTTPMethod(rawValue: method), target: path, fields: RequestFields(headers), isHTTP10: false,
      persists: true)
    // NIO knows the registered methods by name.
    if case .RAW = head.method { throw .unknownMethod }
    let facts = try RequestHeadFacts(head, limits: limits)
    target = RequestTarget(path)
    let isPath = path.utf8.first == UInt8(ascii: "/") || path == "*" && head.method == .OPTIONS
    guard isPath, target.isValid, path.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
      throw .malformedRequest("the target must be a path")
    }
    guard scheme == "http" || scheme == "https" else {
      throw .malformedRequest("the scheme must be http or https")
    }
    self.method = head.method
    self.headers = head.fields
    bodyLength = isWhole ? 0 : headers.contains(name: "content-length") ? facts.bodyLength : nil
    awaitsContinue = facts.awaitsContinue && bodyLength != 0
    requestID = facts.requestID
  }

  /// Returns a Boolean value that indicates whether two texts are the same host and port: the case of a host and the
  /// scheme's default port have no meaning (RFC 9110, section 4.2.3).
  private static func isSame(_ one: String, _ other: String?, scheme: String) -> Bool {
    func normalized(_ text: String) -> [UInt8] {
      let bytes = text.utf8.map { $0 &- UInt8(ascii: "A") < 26 ? $0 | 0x20 : $0 }
      let ports = [scheme == "https" ? ":443" : ":80", ":"]
      let port = ports.first { bytes.suffix($0.utf8.count).elementsEqual($0.utf8) }
      return bytes.dropLast(port?.utf8.count ?? 0)
    }
    return one == other || other.map(normalized) == normalized(one)
  }
}

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
  /// - Returns: the head; `nil` if a field must not be sent.
  func head(
    of response: HTTPResponse,
    length: Int?,
    keepsLength: Bool,
    requestID: String,
    date: String
  ) -> HPACKHeaders? {
    var head = HPACKHeaders()
    head.reserveCapacity(response.headers.count + 5)
    // A client sets the size of the table of fields without a bound, and each field is looked up in all of it. So only
    // those of the static table are indexed.
    head.add(name: ":status", value: String(response.status.code), indexing: .nonIndexable)
    let sent = response.headers.forEachSent(keepsLength: keepsLength) { name, value in
      if name.equalsIgnoringCase("keep-alive") || name.equalsIgnoringCase("upgrade") { return true }
      guard !name.isEmpty, name.utf8.allSatisfy(FieldWriter.isTokenByte),
        value.utf8.allSatisfy(FieldWriter.isValueByte)
      else { return false }
      head.add(name: name.lowercased(), value: value, indexing: .nonIndexable)
      return true
    }
    guard sent.areValid else { return nil }
    if !sent.hasLength, let length { head.add(name: "content-length", value: String(length), indexing: .nonIndexable) }
    head.add(name: "date", value: date, indexing: .nonIndexable)
    if !sent.hasRequestID { head.add(name: "\(RequestID.headerName)", value: requestID, indexing: .nonIndexable) }
    if let serverName { head.add(name: "server", value: serverName, indexing: .nonIndexable) }
    return head
  }
}
