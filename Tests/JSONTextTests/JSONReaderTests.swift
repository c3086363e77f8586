import JSONText
import Testing

@Suite struct JSONReaderTests {
  @Test(arguments: [
    ("null", JSONValue.null), ("true", .bool(true)), (" \t\r\nfalse ", .bool(false)),
    ("0", .number("0")), ("-0", .number("-0")), ("-0.0e-0", .number("-0.0e-0")), ("1E+400", .number("1E+400")),
    ("123456789012345678901234567890", .number("123456789012345678901234567890")), ("1.50", .number("1.50")),
    ("\"\"", .string("")), (#""a\"\\\/\b\f\n\r\tz""#, .string("a\"\\/\u{8}\u{C}\n\r\tz")),
    (#""\u0041\u00e9\u20AC\uD83D\uDE00""#, .string("Aé€😀")), (#""\u0000""#, .string("\0")),
    (#""\uDBFF\uDFFF\uFFFF""#, .string("\u{10FFFF}\u{FFFF}")),
    ("\"\u{7F}\u{80}\u{2028}é€😀\"", .string("\u{7F}\u{80}\u{2028}é€😀")),
    ("[]", .array([])), ("[ ]", .array([])), ("[1 , [ ] ,{}]", .array([.number("1"), .array([]), .object([])])),
    ("{}", .object([])), ("{ }", .object([])),
    (
      #"{ "a" : 1 , "" : { "a" : [ null ] } , "A":2}"#,
      .object([
        .init(name: "a", value: .number("1")),
        .init(name: "", value: .object([.init(name: "a", value: .array([.null]))])),
        .init(name: "A", value: .number("2")),
      ])
    ),
  ])
  func whatIsJSONIsRead(text: String, value: JSONValue) throws {
    #expect(try JSONReader.value(of: text.utf8) == value)
  }

  @Test(arguments: [
    ("", 0), (" ", 1), ("nul", 3), ("nulL", 3), ("True", 0), ("NaN", 0), ("Infinity", 0), ("-Infinity", 1), ("'a'", 0),
    ("01", 1), ("-", 1), ("-01", 2), ("+1", 0), (".5", 0), ("1.", 2), ("1.e1", 2), ("1e", 2), ("1e+", 3), ("0x1", 1),
    ("1 2", 2), ("1,", 1), ("--1", 1), ("1_000", 1),
    ("\"", 1), ("\"a", 2), (#""\"#, 2), (#""\""#, 3), (#""\x""#, 2), (#""\'""#, 2), (#""\u12"#, 5), (#""\u12g4""#, 5),
    (#""\ud800""#, 7), (#""\ud800\n""#, 8), (#""\ud800\u0041""#, 13), (#""\udc00""#, 7), (#""\udc00\ud800""#, 7),
    ("\"\n\"", 1), ("\"abcdefghij\t\"", 11), ("\"\0\"", 1), ("\"abcdefg\u{1F}\"", 8),
    ("[", 1), ("[1", 2), ("[1,", 3), ("[1,]", 3), ("[,1]", 1), ("[1 2]", 3), ("[1}", 2), ("]", 0), ("[]]", 2),
    ("{", 1), ("{a:1}", 1), ("{1:1}", 1), (#"{"a"}"#, 4), (#"{"a":}"#, 5), (#"{"a":1,}"#, 7), (#"{,"a":1}"#, 1),
    (#"{"a":1"b":2}"#, 6), (#"{"a":1]"#, 6), (#"{"a" 1}"#, 5), ("{}}", 2), ("/**/1", 0), ("\u{FEFF}1", 0),
    ("\u{A0}1", 0),
  ])
  func invalidJSONIsRejectedAtItsOffset(text: String, offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSONReader.value(of: text.utf8) }

    #expect(error?.offset == offset)
  }

  @Test(arguments: [
    (#"{"a":1,"a":2}"#, "/a", 7), (#"{"":1,"a":2,"":3}"#, "/", 12),
    (#"[1,{"b":{"c/~":1,"d":0,"c/~":2}}]"#, "/1/b/c~1~0", 23),
    (#"{"a":1,"\u0061":2}"#, "/a", 7), (#"{"\u0061":1,"b":0,"a":2}"#, "/a", 18), (#"{"é":1,"\u00e9":2}"#, "/é", 8),
  ])
  func nameThatStandsTwiceIsRejectedWithItsPointer(text: String, pointer: String, offset: Int) {
    let error = #expect(throws: JSONError.self) { try JSONReader.value(of: text.utf8) }
    let skipped = #expect(throws: JSONError.self) {
      try Array(text.utf8).withUnsafeBufferPointer { bytes throws(JSONError) in
        var reader = JSONReader(bytes)
        try reader.skipValue()
      }
    }

    #expect(error?.pointer == pointer)
    #expect(error?.offset == offset)
    #expect(error?.description == "not valid JSON at byte \(offset): duplicate member \(pointer)")
    #expect(skipped == error)
  }

  @Test(arguments: [2, 15, 16, 17, 18, 40, 100_000])
  func anyTwoOfManyNamesAreCompared(count: Int) throws {
    func text(_ names: [String]) -> String { "{" + names.map { "\"\($0)\":0" }.joined(separator: ",") + "}" }
    // Each but the last begins another one, and one is the longest.
    let names = (0..<count).map { "n\($0)" }

    #expect(throws: Never.self) { try JSONReader.value(of: text(names).utf8) }
    for (former, latter) in [(0, count - 1), (count / 2, count - 1), (0, count / 2)] where former < latter {
      var twice = names
      twice[latter] = names[former]
      let error = #expect(throws: JSONError.self) { try JSONReader.value(of: text(twice).utf8) }
      #expect(error?.pointer == "/\(names[former])")
    }
  }

  @Test func namesOfOtherObjectsAndOtherNormalFormsDiffer() throws {
    let text = #"{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"é":1,"e\u0301":2,"":3,"a ":4}"#

    #expect(throws: Never.self) { try JSONReader.value(of: text.utf8) }
  }

  @Test(
    arguments: [
      [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80],
      [0xE2, 0x82],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xF0, 0x9F, 0x98], [0xFE], [0xFF],
    ] as [[UInt8]]
  )
  func nonUTF8StringIsRejectedEvenWhenSkipped(bytes: [UInt8]) {
    for padding in 0..<9 {
      let text =
        Array(repeating: UInt8(ascii: "x"), count: padding) + bytes + Array(repeating: UInt8(ascii: "y"), count: 9)
      let value = [UInt8(ascii: "\"")] + text + [UInt8(ascii: "\"")]
      let member = Array("{".utf8) + value + Array(":1}".utf8)

      #expect(throws: JSONError.self) { try JSONReader.value(of: value) }
      #expect(throws: JSONError.self) { try skip(value) }
      #expect(throws: JSONError.self) { try JSONReader.value(of: member) }
      #expect(throws: JSONError.self) { try skip(member) }
    }
  }

  @Test func nestingIsLimitedToTheMaximumDepth() throws {
    let deep = String(repeating: "[", count: 64) + String(repeating: "]", count: 64)
    let deeper = String(repeating: #"{"a":"#, count: 65) + "1" + String(repeating: "}", count: 65)

    #expect(throws: Never.self) { try JSONReader.value(of: deep.utf8) }
    #expect(throws: JSONError.self) { try JSONReader.value(of: deeper.utf8) }
    #expect(throws: JSONError.self) { try JSONReader.value(of: String(repeating: "[", count: 10_000_000).utf8) }
    #expect(throws: JSONError.self) { try JSONReader.value(of: "[]".utf8, maximumDepth: 0) }
    #expect(throws: Never.self) { try JSONReader.value(of: "[[1],[2],[3]]".utf8, maximumDepth: 2) }
  }

  @Test func valuesAreTakenOneByOneAndSkipped() throws {
    let text = Array(#" {"skip":{"a":[1,"x\n",{}]},"s":"\u0041","n":-1.5e1,"b":true,"z":null,"l":[1,2]} "#.utf8)

    let seen = try text.withUnsafeBufferPointer { bytes in
      var reader = JSONReader(bytes)
      var seen: [String] = []
      try reader.enterObject()
      while let name = try reader.nextMember() {
        switch try reader.nextKind() {
        case .object: seen.append(String(decoding: try reader.skipValue(), as: UTF8.self))
        case .string: seen.append(try reader.string(of: try reader.readString()))
        case .number: seen.append(DecimalText.value(of: try reader.readNumber())?.description ?? "")
        case .boolean: seen.append(try reader.readBoolean().description)
        case .null:
          try reader.readNull()
          seen.append("null")
        case .array:
          try reader.enterArray()
          var count = 0
          while try reader.nextElement() {
            try reader.skipValue()
            count += 1
          }
          seen.append("\(try reader.string(of: name)) of \(count)")
        }
      }
      try reader.finish()
      return seen
    }

    #expect(seen == [#"{"a":[1,"x\n",{}]}"#, "A", "-15.0", "true", "null", "l of 2"])
  }

  @Test func textIsComparedAfterUnescaping() throws {
    let text = Array(#"["name","n\u0061me","nam","namé"]"#.utf8)

    let equal = try text.withUnsafeBufferPointer { bytes in
      var reader = JSONReader(bytes)
      var equal: [Bool] = []
      try reader.enterArray()
      while try reader.nextElement() { equal.append(try reader.readString().isEqual(to: "name")) }
      return equal
    }

    #expect(equal == [true, true, false, false])
  }

  @Test func memberIsFoundByItsName() throws {
    let value = try JSONReader.value(of: #"{"a":1,"c":2}"#.utf8)

    #expect(value["c"] == .number("2"))
    #expect(value["b"] == nil)
  }

  /// Whatever bytes are given, parsing ends, and reading and skipping accept the same texts.
  @Test func anyBytesAreParsedOrRejected() {
    var generator = Xorshift(state: 42)
    let alphabet = Array(#"{}[]":,\u0123eE+-. tfn"#.utf8) + [0x00, 0x0A, 0x7F, 0x80, 0xC3, 0xA9, 0xED, 0xF0, 0xFF]
    var accepted = 0
    for _ in 0..<20_000 {
      let bytes = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
        alphabet.randomElement(using: &generator) ?? 0
      }
      let isTaken = (try? JSONReader.value(of: bytes)) != nil
      let isSkipped = (try? skip(bytes)) != nil
      #expect(isTaken == isSkipped, "\(bytes)")
      if isTaken { accepted += 1 }
    }
    #expect(accepted > 100)
  }

  @Test(arguments: [
    (#""a""#, ["a"]), (#"["a","b"]"#, ["a", "b"]), ("[]", []), (#"["a",1]"#, nil), (#"[["a"]]"#, nil), ("1", nil),
  ])
  func stringsAreThoseOfAStringOrOfAnArrayOfStrings(text: String, strings: [String]?) throws {
    #expect(try JSONReader.value(of: Array(text.utf8)).strings == strings)
  }

  private func skip(_ text: [UInt8]) throws {
    try text.withUnsafeBufferPointer { bytes in
      var reader = JSONReader(bytes)
      try reader.skipValue()
      try reader.finish()
    }
  }
}
