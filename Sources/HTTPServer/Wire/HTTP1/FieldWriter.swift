/// A writer of status lines and header fields (RFC 9112, sections 4 and 5) into memory that is large enough for them.
struct FieldWriter {
  private let bytes: UnsafeMutableRawBufferPointer
  private(set) var count = 0

  init(_ bytes: UnsafeMutableRawBufferPointer) {
    self.bytes = bytes
  }

  // MARK: Lines

  /// Writes the status line. A reason phrase that could hold a line of its own is left out.
  mutating func writeStatus(_ code: UInt, _ reason: String) {
    write("HTTP/1.1 ")
    write(decimal: Int(code))
    write(" ")
    let start = count
    if !writeFieldValue(reason) { count = start }
    write("\r\n")
  }

  /// Writes a field. Returns a Boolean value that indicates whether its name and value may be sent.
  mutating func writeField(_ name: String, _ value: String) -> Bool {
    guard writeToken(name) else { return false }
    write(": ")
    guard writeFieldValue(value) else { return false }
    write("\r\n")
    return true
  }

  mutating func write(_ framing: ResponseEncoder.Framing) {
    switch framing {
    case .none, .close: break
    case .length(let length):
      write("content-length: ")
      write(decimal: length)
      write("\r\n")
    case .chunked:
      write("transfer-encoding: chunked\r\n")
    }
  }

  /// Writes the `Connection` field, and the end of the head.
  mutating func write(_ persistence: ResponseEncoder.Persistence) {
    switch persistence {
    case .implied: write("\r\n")
    case .keepAlive: write("connection: keep-alive\r\n\r\n")
    case .close: write("connection: close\r\n\r\n")
    }
  }

  // MARK: Parts of lines

  mutating func write(_ text: StaticString) {
    let source = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: source)
    count += source.count
  }

  mutating func write(_ source: [UInt8]) {
    source.withUnsafeBytes { UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: $0) }
    count += source.count
  }

  mutating func write(decimal number: Int) {
    precondition(number >= 0, "lengths and codes are not negative")
    var divisor = 1
    while number / divisor >= 10 { divisor *= 10 }
    while divisor > 0 {
      bytes[count] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: number / divisor % 10)
      count += 1
      divisor /= 10
    }
  }

  /// Writes a value. Returns a Boolean value that indicates whether it may be sent: no control characters but tabs.
  mutating func writeFieldValue(_ value: String) -> Bool {
    let start = count
    append(value)
    var isValid = true
    for byte in bytes[start..<count] where !Self.isValueByte(byte) { isValid = false }
    return isValid
  }

  private mutating func writeToken(_ name: String) -> Bool {
    let start = count
    append(name)
    var isValid = start < count
    for byte in bytes[start..<count] where !Self.isTokenByte(byte) { isValid = false }
    return isValid
  }

  private mutating func append(_ text: String) {
    let rest = UnsafeMutableRawBufferPointer(rebasing: bytes[count...])
    // The bytes of a native string can be copied; only those of other strings must be fetched one by one.
    if text.utf8.withContiguousStorageIfAvailable({ rest.copyMemory(from: UnsafeRawBufferPointer($0)) }) == nil {
      rest.copyBytes(from: text.utf8)
    }
    count += text.utf8.count
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
