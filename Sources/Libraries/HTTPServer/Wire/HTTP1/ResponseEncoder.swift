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

  /// The number of bytes that are reserved for the fields of a response: more than most take.
  static let usualFieldBytes = 1024

  /// Appends the head of a response up to the `Connection` field, which ``append(_:to:)`` adds.
  ///
  /// The fields about framing and the time are the server's own: those of the response are left out, except the
  /// `Content-Length` of a response without a body (HEAD and 304).
  ///
  /// - Parameter fieldBytes: the number of bytes to reserve for the fields; where they take more, that many are.
  /// - Returns: the fields that were found; if they are not valid, nothing is appended.
  func append(
    _ response: HTTPResponse, framing: Framing, keepsLength: Bool, requestID: String, date: [UInt8],
    to buffer: inout ByteBuffer, fieldBytes: Int = Self.usualFieldBytes
  ) -> SentFields {
    let reason = response.status.reasonPhrase
    let otherBytes = 256 + reason.utf8.count + requestID.utf8.count + date.count + serverLine.count
    var left = fieldBytes
    var sent = SentFields()
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: otherBytes + fieldBytes) { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      var writer = FieldWriter(at: start.assumingMemoryBound(to: UInt8.self))
      writer.writeStatus(response.status.code, reason)
      sent = response.headers.forEachSent(keepsLength: keepsLength) { name, value in
        left -= name.utf8.count + value.utf8.count + 4
        return left >= 0 && writer.writeField(name, value)
      }
      // Others are not the final response (RFC 9110, section 15.2).
      if response.status.code < 200 { sent.areValid = false }
      if !sent.hasLength { writer.write(framing) }
      writer.write(date)
      if !sent.hasRequestID {
        writer.write("x-request-id: ")
        sent.areValid = writer.writeFieldValue(requestID) && sent.areValid
        writer.write("\r\n")
      }
      writer.write(serverLine)
      return sent.areValid ? writer.count : 0
    }
    guard left < 0 else { return sent }
    return append(
      response, framing: framing, keepsLength: keepsLength, requestID: requestID, date: date, to: &buffer,
      fieldBytes: fieldBytes - left)
  }

  /// Appends the `Connection` field, and the end of the head.
  func append(_ persistence: Persistence, to buffer: inout ByteBuffer) {
    buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: 32) { bytes in
      guard let start = bytes.baseAddress else { return 0 }
      var writer = FieldWriter(at: start.assumingMemoryBound(to: UInt8.self))
      writer.write(persistence)
      return writer.count
    }
  }
}

extension ResponseEncoder.Framing {
  init(of response: HTTPResponse, isHTTP10: Bool) {
    if response.status == .noContent || response.status == .notModified {
      self = .none
    } else if let length = response.body.length {
      self = .length(length)
    } else {
      self = isHTTP10 ? .close : .chunked
    }
  }
}

/// The fields of a response that matter to the server.
struct SentFields {
  /// A Boolean value that indicates whether all fields may be sent.
  var areValid = true
  var hasLength = false
  var hasRequestID = false

  /// A Boolean value that indicates whether the response is to be the connection's last.
  var asksForClose = false
}

extension HTTPHeaders {
  /// Calls a function with each field of a response that is sent.
  ///
  /// - Parameters:
  ///   - keepsLength: a Boolean value that indicates whether the first `Content-Length` is among them.
  ///   - write: sends a field, and returns a Boolean value that indicates whether it may be sent.
  @inline(__always)
  func forEachSent(keepsLength: Bool, _ write: (_ name: String, _ value: String) -> Bool) -> SentFields {
    var sent = SentFields()
    for (name, value) in self {
      switch ResponseField(name) {
      case .serversOwn: continue
      case .connection:
        if value.equalsIgnoringCase("close") { sent.asksForClose = true }
        continue
      case .contentLength:
        guard keepsLength, !sent.hasLength else { continue }
        sent.hasLength = true
      case .requestID: sent.hasRequestID = true
      case .other: break
      }
      if !write(name, value) { sent.areValid = false }
    }
    return sent
  }
}

/// The kind of a response's header field, as the server treats it.
enum ResponseField {
  /// A field about framing or the time, which the server writes itself.
  case serversOwn
  case connection
  case contentLength
  case requestID
  case other

  /// Creates the kind of a name; the length alone distinguishes most of them.
  init(_ name: String) {
    self =
      switch name.utf8.count {
      case 4 where name.equalsIgnoringCase("date"), 17 where name.equalsIgnoringCase("transfer-encoding"): .serversOwn
      case 10 where name.equalsIgnoringCase("connection"): .connection
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
    var (count, power) = (1, 10 as UInt)
    while UInt(number) >= power { (count, power) = (count + 1, power * 10) }
    bytes.end += count
    var (rest, position) = (UInt(number), bytes.end)
    for _ in 0..<count {
      position -= 1
      position.pointee = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    }
  }

  /// Writes a value. Returns a Boolean value that indicates whether it may be sent: no control characters but tabs.
  mutating func writeFieldValue(_ value: String) -> Bool {
    write(value, areUsual: { !Self.mayHaveControls($0) }, isValid: Self.isValueByte)
  }

  private mutating func writeToken(_ name: String) -> Bool {
    write(name, areUsual: Self.areLettersAndHyphens, isValid: Self.isTokenByte) && !name.isEmpty
  }

  /// Writes a text. Returns a Boolean value that indicates whether all its bytes are valid.
  ///
  /// - Parameter areUsual: returns `true` only for eight bytes that are valid. For others they are checked one by one.
  @inline(__always)
  private mutating func write(_ text: String, areUsual: (UInt64) -> Bool, isValid: (UInt8) -> Bool) -> Bool {
    text.utf8.withContiguousBytes { text in
      guard text.count >= 8 else {
        bytes.write(text)
        return text.allSatisfy(isValid)
      }
      let (source, target) = (UnsafeRawBufferPointer(text), UnsafeMutableRawPointer(bytes.end))
      bytes.end += text.count
      var areAllUsual = true
      // The last eight bytes may overlap those before them.
      let last = text.count - 8
      var index = 0
      while true {
        let word = source.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        target.storeBytes(of: word, toByteOffset: index, as: UInt64.self)
        areAllUsual = areUsual(word) && areAllUsual
        if index == last { break }
        index = min(index + 8, last)
      }
      return areAllUsual || text.allSatisfy(isValid)
    }
  }

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highBits: UInt64 = 0x8080_8080_8080_8080

  /// Returns a Boolean value that indicates whether one of eight bytes may be below 0x20 or 0x7F. It is exact for ASCII
  /// up to the first such byte.
  private static func mayHaveControls(_ word: UInt64) -> Bool {
    let deletes = word ^ 0x7F * ones
    return ((word &- 0x20 * ones) & ~word | (deletes &- ones) & ~deletes) & highBits != 0
  }

  /// Returns a Boolean value that indicates whether eight bytes are ASCII letters and hyphens only.
  private static func areLettersAndHyphens(_ word: UInt64) -> Bool {
    guard word & highBits == 0 else { return false }
    // A byte of a sum has its high bit if the character is not below the first one; no byte carries into the next.
    let lowercase = word | 0x20 * ones
    let letters = (lowercase &+ (0x80 - 0x61) * ones) & ~(lowercase &+ (0x80 - 0x7B) * ones)
    let others = (word ^ 0x2D * ones) &+ 0x7F * ones
    return (letters | ~others) & highBits == highBits
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
