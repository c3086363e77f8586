import Basics
import JSONText
import Testing

@Suite struct ExactTextTests {
  private struct Pair: Hashable {
    @ComparedByBytes var text: String
    @ComparedByBytes var optional: String?
  }

  @Test func normalFormsOfATextAreEqualAsStringsAndTwoExactTexts() {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")

    #expect(composed == decomposed)
    #expect(ExactText(composed) != ExactText(decomposed))
    #expect(Set([ExactText(composed), ExactText(decomposed), ExactText(composed)]).count == 2)
  }

  @Test func exactTextsAreInTheOrderOfUnicodeScalars() {
    let texts: [ExactText] = ["", "Z", "a", "e\u{301}", "\u{E9}", "\u{65E5}", "\u{FF5E}", "\u{1F600}"]

    #expect(texts.reversed().sorted() == texts)
  }

  @Test func wrappedPropertiesMakeATypeEqualByBytes() {
    let pairs = [("\u{E9}", nil), ("e\u{301}", nil), ("\u{E9}", "\u{E9}"), ("\u{E9}", "e\u{301}"), ("\u{E9}", "")]
      .map { Pair(text: $0.0, optional: $0.1) }

    #expect(Set(pairs).count == pairs.count)
    #expect(pairs[3] == Pair(text: "\u{E9}", optional: "e\u{301}"))
  }

  @Test func memberNamesAndStringsOfJSONAreComparedByBytes() throws {
    let value = try JSONReader.value(of: #"{"\u00e9":1,"e\u0301":2}"#.utf8)

    #expect(value["\u{E9}"] == .number("1"))
    #expect(value["e\u{301}"] == .number("2"))
    #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
    #expect(Set([JSONValue.string("\u{E9}"), .string("e\u{301}")]).count == 2)
  }
}
