import JSONText
import Testing

@Suite struct MergePatchTests {
  /// The examples of RFC 7396, appendix A, and a few more.
  @Test(arguments: [
    (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
    (#"{"a":"b"}"#, #"{"a":null}"#, "{}"),
    (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
    (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#),
    (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
    (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
    (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#),
    (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
    (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#),
    (#"{"a":"foo"}"#, "null", "null"),
    (#"{"a":"foo"}"#, #""bar""#, #""bar""#),
    (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
    ("[1,2]", #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
    ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
    (#"{"a":{"x":1},"b":2}"#, #"{"a":1.50}"#, #"{"a":1.50,"b":2}"#),
    (#"{"\u00e9":1}"#, #"{"e\u0301":true}"#, "{\"é\":1,\"e\u{301}\":true}"),
  ])
  func aPatchReplacesRemovesAndMerges(target: String, patch: String, outcome: String) throws {
    let target = try JSONReader.value(of: target.utf8)
    let patch = try JSONReader.value(of: patch.utf8)

    let json = target.merging(patch).text

    #expect(String(decoding: json, as: UTF8.self) == outcome)
    #expect(try JSONReader.value(of: json) == JSONReader.value(of: outcome.utf8))
  }

  @Test func mergingManyMembersTakesLinearTime() {
    let members = (0..<50_000).map { JSONValue.Member(name: "n\($0)", value: .bool(true)) }

    let merged = JSONValue.object(members).merging(.object(members.map { .init(name: $0.name, value: .null) }))

    #expect(merged == .object([]))
  }
}
