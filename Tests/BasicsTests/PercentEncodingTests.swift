import Basics
import Testing

@Suite struct PercentEncodingTests {
  @Test(arguments: ["plain", "a b", "100%", "é", "日本", "😀", "a/b?c&d=e+f#g", "~._-", "\0\n"])
  func decodingUndoesEncoding(text: String) {
    let encoded = PercentEncoding.encode(text)
    let decoded = PercentEncoding.decode(encoded[...])

    #expect(decoded == text)
    #expect(encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
  }

  @Test func onlyUnreservedCharactersStayAsTheyAre() {
    let encoded = PercentEncoding.encode("AZaz09-._~ /+é")

    #expect(encoded == "AZaz09-._~%20%2F%2B%C3%A9")
  }

  @Test func plusIsASpaceOnlyInQueries() {
    let path = PercentEncoding.decode("a+b")
    let query = PercentEncoding.decode("a+b", plusIsSpace: true)

    #expect([path, query] == ["a+b", "a b"])
  }
}
