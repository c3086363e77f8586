import Testing
import TextFiles

@Suite struct TextDecoderTests {
  /// A text that was decoded from chunks, with the encoding that was detected.
  private struct Decoded: Equatable {
    var text: [UInt8] = []
    var encoding: String?

    init(_ bytes: [UInt8], charset: TextCharset? = nil, chunkSize: Int = .max) throws {
      let found = try TextEncoding(ofTextBeginningWith: bytes, charset: charset)
      var decoder = found.decoder ?? ByteTextDecoder()
      var rest = bytes.dropFirst(found.markBytes)
      while !rest.isEmpty {
        try Array(rest.prefix(chunkSize)).withUnsafeBufferPointer { try decoder.decode($0, into: &text) }
        rest = rest.dropFirst(chunkSize)
      }
      try decoder.finish(into: &text)
      encoding = decoder.detectedEncoding
    }

    init(_ text: String, encoding: String? = nil) {
      self.text = Array(text.utf8)
      self.encoding = encoding
    }
  }

  @Test(arguments: [1, 3, .max]) func windows1252IsDetected(chunkSize: Int) throws {
    let plain = String(repeating: "plain,1,2\n", count: 900)
    let bytes =
      Array(plain.utf8) + Array("Caf".utf8) + [0xE9, 0x20, 0x80, 0x20, 0x93] + Array("Gr".utf8) + [0xF6, 0xDF, 0x65]

    #expect(
      try Decoded(bytes, chunkSize: chunkSize) == Decoded(plain + "Café € “Größe", encoding: "Windows-1252"))
  }

  @Test(arguments: ["", "a", "plain", "Café 東京", "\u{FEFF}Café"], [1, 3, .max])
  func aTextInUTF8IsUnchangedButForItsMark(text: String, chunkSize: Int) throws {
    let expected = text.unicodeScalars.first == "\u{FEFF}" ? "Café" : text

    #expect(try Decoded(Array(text.utf8), chunkSize: chunkSize) == Decoded(expected))
  }

  @Test func aTextThatHasUTF8KeepsTheBytesThatAreNone() throws {
    let bytes = Array("Café A".utf8) + [0xE9] + Array(" 東京".utf8)

    #expect(try Decoded(bytes).text == bytes)
  }

  @Test(arguments: [false, true], [false, true])
  func textInUTF16IsReadWithAndWithoutAMark(isBigEndian: Bool, hasMark: Bool) throws {
    let text = "name \u{1F9ED} Caf\u{E9} \u{6771}"
    let bytes = ((hasMark ? [0xFEFF] : []) + Array(text.utf16)).flatMap { unit in
      isBigEndian ? [UInt8(unit >> 8), UInt8(unit & 0xFF)] : [UInt8(unit & 0xFF), UInt8(unit >> 8)]
    }

    for chunkSize in [1, 3, Int.max] {
      #expect(try Decoded(bytes, chunkSize: chunkSize) == Decoded(text, encoding: hasMark ? nil : "UTF-16"))
    }
    let broken = bytes + (isBigEndian ? [0xD8, 0, 0] : [0, 0xD8, 0])
    #expect(try Decoded(broken).text == Array((text + "\u{FFFD}\u{FFFD}").utf8))
  }

  @Test(arguments: [[0xFF, 0xFE, 0, 0, 0x41, 0, 0, 0], [0, 0, 0xFE, 0xFF, 0, 0, 0, 0x41]] as [[UInt8]])
  func textInUTF32IsAnError(bytes: [UInt8]) {
    #expect(throws: TextEncodingError.utf32) { try Decoded(bytes) }
  }

  @Test(
    arguments: [
      // Seoul station in Korean, test in Japanese, Moscow in Russian, also in capitals, Athens in Greek, Beijing in Chinese.
      ([0xBC, 0xAD, 0xBF, 0xEF, 0xBF, 0xAA], "EUC-KR"),
      ([0x83, 0x65, 0x83, 0x58, 0x83, 0x67, 0x83, 0x65], "Shift_JIS"),
      ([0xCC, 0xEE, 0xF1, 0xEA, 0xE2, 0xE0], "windows-1251"), ([0xCC, 0xCE, 0xD1, 0xCA, 0xC2, 0xC0], "windows-1251"),
      ([0xED, 0xCF, 0xD3, 0xCB, 0xD7, 0xC1], "KOI8-R"), ([0xC1, 0xE8, 0xDE, 0xED, 0xE1], "windows-1253"),
      ([0xB1, 0xB1, 0xBE, 0xA9, 0xD5, 0xBE], "GBK"),
    ] as [([UInt8], String)])
  func anotherEncodingIsGuessed(name: [UInt8], charset: String) throws {
    let bytes = Array("name,lat,long\n".utf8) + name + Array(",1,2\n".utf8)
    let likely = try #require(TextCharset(named: charset))

    #expect(throws: TextEncodingError.undetected(likely: likely)) { try Decoded(bytes) }
  }

  @Test(
    arguments: [
      ("iso-8859-2", [0xA3, 0xF3, 0x64, 0xBC], "Łódź"), ("windows-1250", [0xA3, 0xF3, 0x64, 0x9F], "Łódź"),
      ("windows-1251", [0xCA, 0xE8, 0xBF, 0xE2], "Київ"), ("WINDOWS-1252", [0x80, 0xE9], "€é"),
      ("ISO-8859-15", [0xA4, 0xBD], "€œ"), ("latin1", [0x80, 0xE9], "€é"), ("utf-16le", [0x41, 0x01], "Ł"),
      ("UTF-16BE", [0x01, 0x41], "Ł"), ("Shift_JIS", [0x93, 0x8C, 0x8B, 0x9E, 0x83, 0x5C], "東京ソ"),
      ("euc-kr", [0xBC, 0xAD, 0xBF, 0xEF], "서울"),
    ] as [(String, [UInt8], String)], [1, 3, .max])
  func aDeclaredEncodingIsRead(_ sample: (name: String, bytes: [UInt8], text: String), chunkSize: Int) throws {
    let charset = try #require(TextCharset(named: sample.name))

    #expect(try Decoded(sample.bytes, charset: charset, chunkSize: chunkSize) == Decoded(sample.text))
  }

  @Test func aByteThatTheDeclaredEncodingLacksIsNoUTF8() throws {
    let charset = try #require(TextCharset(named: "shift_jis"))

    #expect(try Decoded([0x41, 0x82, 0xFF, 0x42], charset: charset).text.contains(0xFF))
  }

  @Test(arguments: ["", "utf", "iso-8859-99", "latin 1"]) func unknownNamesAreNoEncodings(name: String) {
    #expect(TextCharset(named: name) == nil)
  }
}
