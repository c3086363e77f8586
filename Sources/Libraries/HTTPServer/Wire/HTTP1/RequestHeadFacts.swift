import Basics
import NIOHTTP1

/// The head of a request, as it was parsed.
struct RequestHead {
  let method: HTTPMethod
  let target: String
  let fields: RequestFields

  /// A Boolean value that indicates whether the request is of HTTP/1.0, which has neither chunks nor persistent
  /// connections by default.
  let isHTTP10: Bool

  /// A Boolean value that indicates whether the client permits the connection to persist.
  let persists: Bool
}

extension RequestHead {
  /// Creates a head from one that NIO's parser has found.
  init(_ head: HTTPRequestHead) {
    self.init(
      method: head.method, target: head.uri, fields: RequestFields(head.headers),
      isHTTP10: head.version == .http1_0, persists: head.isKeepAlive)
  }
}

/// The parts of a request's head that concern the server itself, found in one pass over its fields, and the rules of
/// HTTP that the parser leaves to its user.
struct RequestHeadFacts {
  /// The length of the body; `nil` if it is chunked.
  private(set) var bodyLength: Int? = 0
  private(set) var awaitsContinue = false
  private(set) var persists: Bool

  /// The client's own request id, if it is acceptable.
  private(set) var requestID: String?

  /// Creates the facts of a head.
  ///
  /// - Throws: 414 `uri-too-long`, 431 `headers-too-large`, 400 `malformed-request`, 417 where an expectation is not
  ///   known, or 501 where a transfer coding is not.
  init(_ head: RequestHead, limits: HTTPServerConfiguration.Limits) throws(Problem) {
    guard head.target.utf8.count <= limits.uriBytes else { throw .uriTooLong(limit: limits.uriBytes) }
    persists = head.persists
    var fields = Fields()
    head.fields.forEachBytes { name, value in fields.record(name, value, in: &self) }
    guard fields.bytes <= limits.headerBytes, head.fields.count <= limits.headerCount else {
      throw .headersTooLarge(limits)
    }
    try check(isOld: head.isHTTP10, fields)
  }

  private struct Fields {
    var bytes = 0
    var hosts = 0
    var hasInvalidHost = false
    var expectations = 0
    var lengths = 0
    var contentTypes = 0
    var codings = 0
    var isChunked = false
    var hasUnknownCoding = false
    var isUpgrade = false
    var hasUnknownExpectation = false

    /// Records a field. Most are irrelevant to the connection, and their length alone excludes them.
    mutating func record(
      _ name: UnsafeBufferPointer<UInt8>, _ value: UnsafeBufferPointer<UInt8>, in facts: inout RequestHeadFacts
    ) {
      bytes += name.count + value.count
      switch name.count {
      case 4 where name.isEqual(toLowercase: "host"):
        hosts += 1
        if !HostField.isValid(value) { hasInvalidHost = true }
      case 6 where name.isEqual(toLowercase: "expect"):
        expectations += 1
        if value.isEqual(toLowercase: "100-continue") {
          facts.awaitsContinue = true
        } else {
          hasUnknownExpectation = true
        }
      case 7 where name.isEqual(toLowercase: "upgrade"):
        isUpgrade = true
      case 12 where name.isEqual(toLowercase: "content-type"):
        contentTypes += 1
      case 12 where name.isEqual(toLowercase: "x-request-id"):
        if facts.requestID == nil, RequestID.isAcceptable(value) {
          facts.requestID = String(decoding: value, as: UTF8.self)
        }
      case 14 where name.isEqual(toLowercase: "content-length"):
        lengths += 1
        facts.bodyLength =
          value.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? Int(String(decoding: value, as: UTF8.self)) : nil
      case 17 where name.isEqual(toLowercase: "transfer-encoding"):
        codings += 1
        isChunked = value.isEqual(toLowercase: "chunked")
        hasUnknownCoding = hasUnknownCoding || (!isChunked && Self.namesUnknownCoding(value))
      default: break
      }
    }

    /// Returns a Boolean value that indicates whether a well-formed list of transfer codings has another than `chunked`
    /// (RFC 9112, sections 6.1 and 7).
    private static func namesUnknownCoding(_ list: UnsafeBufferPointer<UInt8>) -> Bool {
      let names = list.split(separator: UInt8(ascii: ",")).map { element in
        element.prefix { $0 != UInt8(ascii: ";") }.filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
      }
      return names.allSatisfy { !$0.isEmpty && $0.allSatisfy(FieldWriter.isTokenByte) }
        && names.contains { !String(decoding: $0, as: UTF8.self).equalsIgnoringCase("chunked") }
    }
  }

  private mutating func check(isOld: Bool, _ fields: Fields) throws(Problem) {
    guard fields.hosts == 1 || (isOld && fields.hosts == 0) else {
      throw .malformedRequest("a request has one Host field")
    }
    guard !fields.hasInvalidHost else { throw .malformedRequest("the Host field must be a host, or host:port") }
    guard fields.expectations <= 1 else { throw .malformedRequest("a request has one Expect field at most") }
    guard fields.contentTypes <= 1 else {
      throw .malformedRequest("a request has one Content-Type field at most")
    }
    guard fields.lengths <= 1, fields.lengths == 0 || bodyLength != nil, fields.lengths == 0 || fields.codings == 0
    else { throw .malformedRequest("the length of the body is contradictory") }
    if fields.codings > 0 {
      guard !fields.hasUnknownCoding || isOld else { throw .unknownTransferCoding }
      guard fields.codings == 1, fields.isChunked, !isOld else {
        throw .malformedRequest("chunked is the only Transfer-Encoding")
      }
      bodyLength = nil
    }
    guard !fields.hasUnknownExpectation else {
      throw Problem(.expectationFailed, code: "malformed-request", detail: "100-continue is the only expectation")
    }
    if isOld { awaitsContinue = false }
    // The parser stops after a request for another protocol; that request is served, and is the last.
    if fields.isUpgrade { persists = false }
  }
}

extension Problem {
  static func malformedRequest(_ detail: String) -> Problem {
    Problem(.badRequest, code: "malformed-request", detail: detail)
  }

  static let unknownTransferCoding = Problem(
    .notImplemented, code: "not-implemented", detail: "chunked is the only Transfer-Encoding")

  static let unknownMethod = Problem(
    .notImplemented, code: "not-implemented", detail: "the request's method is not known here")

  static func uriTooLong(limit: Int) -> Problem {
    Problem(.uriTooLong, code: "uri-too-long", detail: "the target may have at most \(limit) bytes")
  }

  static func headersTooLarge(_ limits: HTTPServerConfiguration.Limits) -> Problem {
    Problem(
      .requestHeaderFieldsTooLarge,
      code: "headers-too-large",
      detail: "there may be at most \(limits.headerCount) header fields with \(limits.headerBytes) bytes together"
    )
  }
}

extension String {
  /// Returns a Boolean value that indicates whether the texts are equal, ignoring the case of ASCII letters.
  ///
  /// - Parameter lowercase: the text in lower case.
  package func equalsIgnoringCase(_ lowercase: StaticString) -> Bool {
    guard utf8.count == lowercase.utf8CodeUnitCount else { return false }
    return utf8.withContiguousBytes { bytes in
      for index in bytes.indices {
        let byte = bytes[index]
        guard (byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte) == lowercase.utf8Start[index] else { return false }
      }
      return true
    }
  }
}

/// The value of a request's `Host` field or `:authority` (RFC 9110, section 7.2; RFC 3986, section 3.2).
enum HostField {
  /// Returns whether the value is a host with or without a port: a name, an IPv4 address, or an IP literal in brackets.
  /// Without a host, as a client sends that has none to name, it is empty.
  static func isValid(_ value: String) -> Bool {
    var value = value
    return value.withUTF8 { isValid($0) }
  }

  static func isValid(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
    var index = 0
    if bytes.first == UInt8(ascii: "[") {
      index = 1
      while index < bytes.count, isLiteralByte(bytes[index]) { index += 1 }
      guard index > 1, index < bytes.count, bytes[index] == UInt8(ascii: "]") else { return false }
      index += 1
    } else {
      while index < bytes.count, isNameByte(bytes[index]) { index += 1 }
    }
    guard index < bytes.count else { return true }
    guard bytes[index] == UInt8(ascii: ":") else { return false }
    var port = 0
    for byte in bytes[(index + 1)...] {
      guard byte &- UInt8(ascii: "0") < 10 else { return false }
      port = port * 10 + Int(byte &- UInt8(ascii: "0"))
      guard port <= 65_535 else { return false }
    }
    return true
  }

  /// Returns a Boolean value that indicates whether a byte is unreserved, `%`, or one of the sub-delimiters: not `@`,
  /// `/`, `?` and `#`. There is a bit for each of the first 128 bytes.
  private static func isNameByte(_ byte: UInt8) -> Bool {
    let bits: UInt64 = byte < 64 ? 0x2BFF_7FF2_0000_0000 : 0x47FF_FFFE_87FF_FFFE
    return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
  }

  private static func isLiteralByte(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ":") || isNameByte(byte) }
}
