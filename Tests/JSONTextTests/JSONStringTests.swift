import Basics
import JSONText
import TestSupport
import Testing

@Suite struct JSONStringTests {
  @Test(arguments: [
    ("", #""""#), ("plain", #""plain""#), ("é€😀", #""é€😀""#), ("a\"b\\c/", #""a\"b\\c/""#),
    ("\n\r\t\u{8}\u{C}\0\u{1F}\u{7F}", #""\n\r\t\u0008\u000c\u0000\u001f"# + "\u{7F}\""),
    ("1234567\"", #""1234567\"""#), ("12345678\"12345678\\", #""12345678\"12345678\\""#),
  ])
  func onlyRequiredCharactersAreEscaped(text: String, json: String) {
    var appended: [UInt8] = []

    JSONString.write(text, to: &appended)

    #expect(String(decoding: appended, as: UTF8.self) == json)
    #expect(written(text) == appended)
  }

  @Test func everyScalarBelow300RoundTripsInEveryPosition() throws {
    for value in 0..<300 {
      let scalar = try #require(Unicode.Scalar(UInt32(value)))
      for padding in 0..<10 {
        let text = String(repeating: "x", count: padding) + String(scalar) + String(repeating: "y", count: 9 - padding)

        #expect(try JSONReader.value(of: written(text)) == .string(text))
      }
    }
  }

  @Test func anyTextRoundTrips() throws {
    var generator = Xorshift(state: 7)
    for _ in 0..<5_000 {
      var text = ""
      for _ in 0..<Int.random(in: 0...40, using: &generator) {
        let value = UInt32.random(in: 0...(generator.next() % 4 == 0 ? 0x10FFFF : 0x7F), using: &generator)
        text.unicodeScalars.append(Unicode.Scalar(value) ?? "\"")
      }
      let bytes = written(text)

      #expect(bytes.count <= JSONString.maximumLength(utf8Count: text.utf8.count))
      guard case .string(let read) = try JSONReader.value(of: bytes) else {
        Issue.record("not a string: \(bytes)")
        return
      }
      #expect(Array(read.utf8) == Array(text.utf8))
    }
  }

  @Test func maximumLengthIsReachedButNotExceeded() {
    let text = String(repeating: "\u{1}", count: 100)

    #expect(written(text).count == JSONString.maximumLength(utf8Count: 100))
  }

  @Test(arguments: 0...50) func everyByteIsWrittenAtEveryPosition(length: Int) {
    var generator = Xorshift(state: 31 + UInt64(length))
    if length == 0 { expectString([]) }
    for position in 0..<length {
      // Among others that need no escape.
      var text = (0..<length).map { _ in Self.plainBytes[Int(generator.next() % UInt64(Self.plainBytes.count))] }
      for byte in UInt8.min...UInt8.max {
        text[position] = byte
        expectString(text)
      }
    }
  }

  private static let plainBytes = Array("x !#[]\u{7F}é€😀".utf8)

  @Test func manyEscapesAreWritten() {
    var generator = Xorshift(state: 37)
    for _ in 0..<10_000 {
      let length = Int(generator.next() % 80)
      expectString((0..<length).map { _ in UInt8(generator.next() & 0x7F) })
    }
  }

  @Test(arguments: ["é", "€", "😀", "\u{2028}", "\u{2029}", "\u{7F}", "\u{80}", "\u{10FFFF}"])
  func charactersAreCopiedAcrossTheBordersOfBlocks(character: String) throws {
    for start in 0...40 {
      for end in 0...20 {
        let text = String(repeating: "x", count: start) + character + String(repeating: "y", count: end)

        expectString(Array(text.utf8))
        #expect(written(text) == Array("\"\(text)\"".utf8))
      }
    }
  }

  @Test(arguments: [4095, 4096, 4097, 8191, 8192, 8193, 20_000]) func longTextIsWrittenInPieces(length: Int) {
    var generator = Xorshift(state: 41)
    let plain = (0..<length).map { _ in Self.plainBytes[Int(generator.next() % UInt64(Self.plainBytes.count))] }
    expectString(plain)
    expectString([UInt8](repeating: 1, count: length))
    expectString((0..<length).map { _ in UInt8(truncatingIfNeeded: generator.next()) })
    for position in [0, 15, 16, 4080, 4094, 4095, 4096, 4097, 8191, 8192, length - 1] where position < length {
      var text = plain
      text[position] = UInt8(ascii: "\n")
      expectString(text)
    }
    // Two bytes in one piece, the other two in the next.
    let text = String(repeating: "x", count: 4094) + "😀" + String(repeating: "y", count: length)
    expectString(Array(text.utf8))
  }

  /// Expects the text to be written like that of a simple formatter, each piece into the room that it asks for.
  private func expectString(_ utf8: [UInt8]) {
    var sink = GuardedSink()
    utf8.withUnsafeBufferPointer { JSONString.write($0, to: &sink) }
    if !sink.holds(SimpleText.jsonString(utf8)) { Issue.record("\(utf8.count) bytes: \(utf8.prefix(100))") }
  }

  private func written(_ text: String) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: JSONString.maximumLength(utf8Count: text.utf8.count)) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var sink = UncheckedBytes(at: start)
      JSONString.write(text, to: &sink)
      count = sink.end - start
    }
  }
}
