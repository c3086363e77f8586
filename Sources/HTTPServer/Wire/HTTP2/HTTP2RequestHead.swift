import NIOCore
import NIOHPACK
import NIOHTTP1

/// The head of a request as HTTP/2 has it (RFC 9113, section 8.3), held to the same rules as one of HTTP/1.1.
///
/// Violations of HTTP/2 itself, such as fields of a connection or two pseudo-fields of a name, were rejected before.
struct HTTP2RequestHead {
  let method: HTTPMethod
  let target: RequestTarget
  let headers: HTTPHeaders

  /// The length of the body; `nil` where it is not announced.
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
    var headers = HTTPHeaders()
    headers.reserveCapacity(fields.count)
    for (name, value, _) in fields {
      switch name {
      case ":method": method = value
      case ":path": path = value
      case ":scheme": scheme = value
      case ":authority": headers.add(name: "host", value: value)
      case _ where name.utf8.first == UInt8(ascii: ":"): break
      // A proxy may repeat the authority in the field that it replaces; another value is contradictory.
      case "host" where headers.first(name: "host") == value: break
      default: headers.add(name: name, value: value)
      }
    }
    let head = HTTPRequestHead(
      version: HTTPVersion(major: 2, minor: 0),
      method: HTTPMethod(rawValue: method),
      uri: path,
      headers: headers
    )
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
    self.headers = headers
    bodyLength = isWhole ? 0 : headers.contains(name: "content-length") ? facts.bodyLength : nil
    awaitsContinue = facts.awaitsContinue && bodyLength != 0
    requestID = facts.requestID
  }
}
