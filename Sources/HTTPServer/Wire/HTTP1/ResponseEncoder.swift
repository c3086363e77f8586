import Basics
import NIOCore
import NIOHTTP1

/// An encoder of the heads of responses in HTTP/1.1.
struct ResponseEncoder {
  /// The means by which the client finds the end of a body.
  enum Framing: Equatable {
    /// There is no body: 204 and 304.
    case none
    case length(Int)
    case chunked
    /// The end of the connection.
    case close
  }

  /// The value of the `Connection` field; none where the client assumes it by default.
  enum Persistence {
    case implied
    case keepAlive
    case close
  }

  private let serverLine: [UInt8]

  init(serverName: String?) {
    serverLine = serverName.map { Array("server: \($0)\r\n".utf8) } ?? []
  }

  /// Appends the head of a response.
  ///
  /// The fields about framing and the time are the server's own: those of the response are left out, except the
  /// `Content-Length` of a response without a body (HEAD and 304).
  ///
  /// - Returns: a Boolean value that indicates whether all fields may be sent; where one must not, nothing is appended.
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
      guard let start = bytes.baseAddress else { return 0 }
      var writer = FieldWriter(at: start.assumingMemoryBound(to: UInt8.self))
      writer.writeStatus(response.status.code, reason)
      guard let known = response.headers.forEachSent(keepsLength: keepsLength, { writer.writeField($0, $1) }) else {
        return 0
      }
      if !known.hasLength { writer.write(framing) }
      writer.write(date)
      if !known.hasRequestID {
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

extension Exchange {
  func framing(of response: HTTPResponse) -> ResponseEncoder.Framing {
    if response.status == .noContent || response.status == .notModified { return .none }
    if let length = response.body.length { return .length(length) }
    return isHTTP10 ? .close : .chunked
  }
}

extension HTTPHeaders {
  /// Calls a function with each field of a response that is sent, until it returns `false`.
  ///
  /// - Parameter keepsLength: a Boolean value that indicates whether the first `Content-Length` is among them.
  /// - Returns: Boolean values that indicate which fields the server need not add; `nil` where the function returned
  ///   `false`.
  @inline(__always)
  func forEachSent(
    keepsLength: Bool, _ write: (_ name: String, _ value: String) -> Bool
  ) -> (hasLength: Bool, hasRequestID: Bool)? {
    var hasLength = false
    var hasRequestID = false
    for (name, value) in self {
      switch ResponseField(name) {
      case .serversOwn: continue
      case .contentLength:
        guard keepsLength, !hasLength else { continue }
        hasLength = true
      case .requestID: hasRequestID = true
      case .other: break
      }
      guard write(name, value) else { return nil }
    }
    return (hasLength, hasRequestID)
  }

  /// A Boolean value that indicates whether the response is to be the connection's last.
  var asksForClose: Bool {
    contains { $0.name.equalsIgnoringCase("connection") && $0.value.equalsIgnoringCase("close") }
  }
}

/// The kind of a response's header field, as the server treats it.
enum ResponseField {
  /// A field about framing or the time, which the server writes itself.
  case serversOwn
  case contentLength
  case requestID
  case other

  /// Creates the kind of a name; the length alone distinguishes most of them.
  init(_ name: String) {
    self =
      switch name.utf8.count {
      case 4 where name.equalsIgnoringCase("date"), 10 where name.equalsIgnoringCase("connection"),
        17 where name.equalsIgnoringCase("transfer-encoding"):
        .serversOwn
      case 14 where name.equalsIgnoringCase("content-length"): .contentLength
      case 12 where name.equalsIgnoringCase(RequestID.headerName): .requestID
      default: .other
      }
  }
}

/// A writer of status lines and header fields (RFC 9112, sections 4 and 5) into memory that is large enough for them.
struct FieldWriter {
  private let start: UnsafeMutablePointer<UInt8>
  private var bytes: UncheckedBytes

  init(at start: UnsafeMutablePointer<UInt8>) {
    self.start = start
    bytes = UncheckedBytes(at: start)
  }

  /// The number of bytes that were written.
  var count: Int { bytes.end - start }

  // MARK: Lines

  /// Writes the status line. A reason phrase that could hold a line of its own is left out.
  mutating func writeStatus(_ code: UInt, _ reason: String) {
    bytes.write("HTTP/1.1 ")
    write(decimal: Int(code))
    bytes.write(" ")
    let end = bytes.end
    if !writeFieldValue(reason) { bytes.end = end }
    bytes.write("\r\n")
  }

  /// Writes a field. Returns a Boolean value that indicates whether its name and value may be sent.
  mutating func writeField(_ name: String, _ value: String) -> Bool {
    guard writeToken(name) else { return false }
    bytes.write(": ")
    guard writeFieldValue(value) else { return false }
    bytes.write("\r\n")
    return true
  }

  mutating func write(_ framing: ResponseEncoder.Framing) {
    switch framing {
    case .none, .close: break
    case .length(let length):
      bytes.write("content-length: ")
      write(decimal: length)
      bytes.write("\r\n")
    case .chunked:
      bytes.write("transfer-encoding: chunked\r\n")
    }
  }

  /// Writes the `Connection` field, and the end of the head.
  mutating func write(_ persistence: ResponseEncoder.Persistence) {
    switch persistence {
    case .implied: bytes.write("\r\n")
    case .keepAlive: bytes.write("connection: keep-alive\r\n\r\n")
    case .close: bytes.write("connection: close\r\n\r\n")
    }
  }

  // MARK: Parts of lines

  mutating func write(_ text: StaticString) { bytes.write(text) }

  mutating func write(_ source: [UInt8]) { source.withUnsafeBufferPointer { bytes.write($0) } }

  mutating func write(decimal number: Int) {
    precondition(number >= 0, "lengths and codes are not negative")
    var divisor = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      bytes.write(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10))
      divisor /= 10
    }
  }

  /// Writes a value. Returns a Boolean value that indicates whether it may be sent: no control characters but tabs.
  mutating func writeFieldValue(_ value: String) -> Bool {
    let written = UnsafeRawBufferPointer(append(value))
    var index = 0
    while index + 8 <= written.count {
      let word = written.loadUnaligned(fromByteOffset: index, as: UInt64.self)
      // Tabs are rare enough to be looked at one by one.
      if Self.mayHaveControls(word), !written[index..<index + 8].allSatisfy(Self.isValueByte) { return false }
      index += 8
    }
    return written[index...].allSatisfy(Self.isValueByte)
  }

  /// Returns a Boolean value that indicates whether one of eight bytes may be below 0x20 or 0x7F. It is exact for ASCII
  /// up to the first such byte.
  private static func mayHaveControls(_ word: UInt64) -> Bool {
    let (ones, highBits) = (0x0101_0101_0101_0101 as UInt64, 0x8080_8080_8080_8080 as UInt64)
    let deletes = word ^ 0x7F * ones
    return ((word &- 0x20 * ones) & ~word | (deletes &- ones) & ~deletes) & highBits != 0
  }

  private mutating func writeToken(_ name: String) -> Bool {
    let written = append(name)
    var isValid = !written.isEmpty
    for byte in written { isValid = isValid && Self.isTokenByte(byte) }
    return isValid
  }

  /// Writes a text, and returns its bytes.
  private mutating func append(_ text: String) -> UnsafeBufferPointer<UInt8> {
    let start = bytes.end
    bytes.write(text: text)
    return UnsafeBufferPointer(start: start, count: bytes.end - start)
  }

  /// Returns a Boolean value that indicates whether a byte may be in a value: no control characters other than tabs.
  static func isValueByte(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == 0x09 }

  /// Returns a Boolean value that indicates whether a byte may be in a name: letters, digits and ``!#$%&'*+-.^_`|~``, a
  /// bit for each of the first 128 bytes.
  static func isTokenByte(_ byte: UInt8) -> Bool {
    let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
    return byte < 128 && bits >> UInt64(byte & 63) & 1 == 1
  }
}
