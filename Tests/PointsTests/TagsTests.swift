import Basics
import JSONText
import Points
import Testing

@Suite struct TagsTests {
  @Test func tagsAreKeptAsJSONSortedByTheScalarsOfTheirKeys() throws {
    let tags = try Tags(["b": "2", "a\"": "q", "a": "1", "😀": "s", "\u{FFFD}": "r", "é": "\n", "a!": "", "": "empty"])

    #expect(
      tags.json
        == "{\"\":\"empty\",\"a\":\"1\",\"a!\":\"\",\"a\\\"\":\"q\",\"b\":\"2\",\"é\":\"\\n\",\"\u{FFFD}\":\"r\",\"😀\":\"s\"}"
    )
  }

  @Test func tagsAreReturnedUnchanged() throws {
    let dictionary: [ExactText: String] = ["a": "1", "b\\": "\"2\"", "😀": "\u{1}\u{7F}"]

    let tags = try Tags(dictionary.map { (key: $0.key.text, value: $0.value) })

    #expect(tags.dictionary == dictionary)
    #expect(tags.pairs.map(\.key) == ["a", "b\\", "😀"])
    #expect(tags["b\\"] == "\"2\"")
    #expect(tags["c"] == nil)
    #expect(!tags.isEmpty)
  }

  @Test func missingTagsAreAnEmptyObject() throws {
    #expect(try Tags([:]) == .none)
    #expect(Tags.none.json == "{}")
    #expect(Tags.none.isEmpty)
    #expect(Tags.none.pairs.isEmpty)
  }

  @Test func tagsOfTheSameContentAreEqualInAnyOrder() throws {
    let one = try Tags(JSONReader.value(of: #"{"a":"1","b":"\u0032"}"#.utf8))
    let other = try Tags(JSONReader.value(of: #" { "b" : "2" , "a" : "1" } "#.utf8))

    #expect(one == other)
    #expect(one.json == #"{"a":"1","b":"2"}"#)
  }

  @Test func canonicallyEquivalentKeysAreDistinct() throws {
    let tags = try Tags(JSONReader.value(of: #"{"\u00e9":"1","e\u0301":"2"}"#.utf8))

    #expect(tags.pairs.map(\.value) == ["2", "1"])
  }

  @Test(arguments: [
    ("[]", ["/tags must be an object of strings, got an array"]),
    ("null", ["/tags must be an object of strings, got null"]),
    (
      #"{"a":1,"b/~":null,"c":"x"}"#,
      ["/tags/a must be a string, got a number", "/tags/b~1~0 must be a string, got null"]
    ),
    (#"{"a":"\u0000","\u0000":""}"#, ["/tags/\0 the key must not contain U+0000", "/tags/a must not contain U+0000"]),
  ])
  func valueOtherThanAnObjectOfStringsIsRejectedWithEachViolation(json: String, violations: [String]) throws {
    let value = try JSONReader.value(of: json.utf8)

    let error = #expect(throws: InvalidPoint.self) { try Tags(value) }

    #expect(error?.violations.map { "\($0.pointer) \($0.detail)" } == violations)
  }

  @Test func keysAndValuesAreLimitedInUnicodeScalars() throws {
    let key = String(repeating: "é", count: 200)
    let value = String(repeating: "😀", count: 2000)

    #expect(try Tags([key: value]).dictionary == [ExactText(key): value])
    let keyError = #expect(throws: InvalidPoint.self) { try Tags([key + "x": ""]) }
    let valueError = #expect(throws: InvalidPoint.self) { try Tags(["k": value + "x"]) }
    #expect(keyError?.violations.map(\.detail) == ["the key must have at most 200 characters, got 201"])
    #expect(keyError?.violations.map(\.pointer) == ["/tags/" + key])
    #expect(valueError?.description == "/tags/k must have at most 2000 characters, got 2001")
  }

  @Test func placeHasAtMostFiveHundredTags() throws {
    let five = Dictionary(uniqueKeysWithValues: (0..<500).map { ("k\($0)", "v") })

    #expect(try Tags(five).pairs.count == 500)
    let error = #expect(throws: InvalidPoint.self) { try Tags(five.merging(["more": ""]) { first, _ in first }) }
    #expect(error?.description == "/tags must have at most 500 members, got 501")
  }

  @Test(arguments: [
    ("", "{}"), ("{}", "{}"), ("{ }", "{}"), (#"{"b": "2", "a": "1"}"#, #"{"a":"1","b":"2"}"#),
    (#"{"a":1,"b":"2"}"#, #"{"b":"2"}"#), ("[]", "{}"), ("{\"a\"", "{}"), (#"{"a":"\u00e9"}"#, #"{"a":"é"}"#),
    (#"{"":"1","a":"\"\\\n"}"#, #"{"":"1","a":"\"\\\n"}"#), (#"{"ab":"1","a":"2"}"#, #"{"a":"2","ab":"1"}"#),
    (#"{"a":"1","a":"2"}"#, #"{"a":"2"}"#), (#"{"":"1","":"2"}"#, #"{"":"2"}"#), (#"{"a\/":"\/"}"#, #"{"a/":"/"}"#),
    (#"{"a":"1"}x"#, "{}"), (#"{"a":"1","#, "{}"), (#"{"a":"\"#, "{}"),
    (#"{"a":"1",}"#, "{}"),
    (#"{"a":"1""b":"2"}"#, "{}"),
    (#"{"a":"1" ,"b":"2"}"#, #"{"a":"1","b":"2"}"#), ("{\"a\":\"\u{1}\"}", "{}"), (#"{"a":{}}"#, "{}"),
  ])
  func storedTagsAreBroughtIntoCanonicalForm(stored: String, json: String) {
    let tags = Array(stored.utf8).withUnsafeBufferPointer { Tags(stored: $0) }

    #expect(tags.json == json)
  }

  @Test func builderIsReusableForManyPlaces() throws {
    var builder = TagsBuilder()
    builder.append(key: "b", value: "1")
    builder.append(key: "a", value: "2")
    builder.append(key: "b", value: "3")

    let first = try builder.build()
    builder.removeAll()
    let none = try builder.build()
    builder.append(key: "c", value: "4")
    let second = try builder.build()

    #expect(first.json == #"{"a":"2","b":"3"}"#)
    #expect(none == .none)
    #expect(second.json == #"{"c":"4"}"#)
  }

  @Test func aValueThatIsNotUTF8IsRefused() {
    var builder = TagsBuilder()
    builder.append(key: "good", value: "1")
    [0xC3, 0x28].withUnsafeBufferPointer { builder.append(key: "bad", value: $0) }

    let error = #expect(throws: InvalidPoint.self) { try builder.build() }

    #expect(error?.description == "/tags/bad must be UTF-8")
  }
}
