import Basics
import Testing

@Suite struct Base64URLTests {
  /// The vectors of RFC 4648, section 10, without padding, and the two characters of the URL-safe alphabet.
  @Test(
    arguments: [
      ([], ""), (Array("f".utf8), "Zg"), (Array("fo".utf8), "Zm8"), (Array("foo".utf8), "Zm9v"),
      (Array("foob".utf8), "Zm9vYg"), (Array("fooba".utf8), "Zm9vYmE"), (Array("foobar".utf8), "Zm9vYmFy"),
      ([0xFB, 0xFF], "-_8"), ([0, 0, 0, 0xFF, 0xFF, 0xFF], "AAAA____"),
    ] as [([UInt8], String)])
  func bytesAreEncodedWithoutPadding(bytes: [UInt8], expected: String) {
    let text = Base64URL.encode(bytes)

    #expect(text == expected)
    #expect(Base64URL.decode(text, count: bytes.count) == bytes)
  }
}
