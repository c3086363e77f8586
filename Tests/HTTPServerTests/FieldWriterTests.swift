import Testing

@testable import HTTPServer

@Suite struct FieldWriterTests {
  /// Writes a value, and returns whether it may be sent.
  private static func accepts(_ value: String) -> Bool {
    let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 256)
    defer { memory.deallocate() }
    var writer = FieldWriter(at: memory)
    return writer.writeFieldValue(value)
  }

  @Test func valueMayHaveNoControlCharacterButTabsAtAnyPosition() {
    for length in 0...40 {
      #expect(Self.accepts(String(repeating: "é ~", count: length)))
      for position in 0..<length {
        for byte in [0x00, 0x09, 0x0A, 0x0D, 0x1F, 0x20, 0x7E, 0x7F] as [UInt8] {
          var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: length)
          bytes[position] = byte
          let isAccepted = Self.accepts(String(decoding: bytes, as: UTF8.self))
          #expect(isAccepted == [0x09, 0x20, 0x7E].contains(byte), "\(byte) at \(position) of \(length)")
        }
      }
    }
  }
}
