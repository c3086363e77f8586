/// Writes status lines and header fields (RFC 9112, sections 4 and 5) into memory that is large enough for them.
struct FieldWriter {
  private let bytes: UnsafeMutableRawBufferPointer

  /// How many bytes are written.
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

  /// Writes a field; answers whether its name and value may be sent.
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

  /// Writes what the `Connection` field says, and the end of the head.
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

  /// Writes a value; answers whether it may be sent: no control characters but tabs.
  mutating func writeFieldValue(_ value: String) -> Bool {
    write(value) { byte in byte >= 0x20 && byte != 0x7F || byte == 0x09 }
  }

  private mutating func writeToken(_ name: String) -> Bool {
    write(name) { byte in Self.isTokenByte(byte) } && !name.isEmpty
  }

  private mutating func write(_ text: String, where isAllowed: (UInt8) -> Bool) -> Bool {
    // A native string's bytes are there to be read; the copy is for those that are not.
    let isValid = text.utf8.withContiguousStorageIfAvailable { write($0, where: isAllowed) }
    return isValid ?? Array(text.utf8).withUnsafeBufferPointer { write($0, where: isAllowed) }
  }

  private mutating func write(_ source: UnsafeBufferPointer<UInt8>, where isAllowed: (UInt8) -> Bool) -> Bool {
    UnsafeMutableRawBufferPointer(rebasing: bytes[count...]).copyMemory(from: UnsafeRawBufferPointer(source))
    count += source.count
    return source.allSatisfy(isAllowed)
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "!"), UInt8(ascii: "#"),
      UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"),
      UInt8(ascii: "+"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"),
      UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
