import Basics
import JSONText
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

  private func written(_ text: String) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: JSONString.maximumLength(utf8Count: text.utf8.count)) { buffer, count in
      guard let start = buffer.baseAddress else { return }
      var sink = UncheckedBytes(at: start)
      JSONString.write(text, to: &sink)
      count = sink.end - start
    }
  }
}
