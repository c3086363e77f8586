import Basics
import SearchWords
import Testing

@Suite struct LanguagePriorityListTests {
  private func list(_ text: String) -> LanguagePriorityList? {
    LanguagePriorityList(text.split(separator: ",", omittingEmptySubsequences: false))
  }

  @Test(arguments: [
    "", "de,,en", "de_AT", "d3", "123456789", "de-123456789", "de-", "-de", "de\u{0}", "ä", "a-b-c-d-e-f-g-h-i", "* ",
  ])
  func malformedRangesAreRejected(ranges: String) {
    #expect(list(ranges) == nil)
  }

  @Test func numberOfRangesIsLimited() {
    let ranges = (0..<21).map { "a\(Unicode.Scalar(UInt8(97 + $0)))" }

    #expect(list(ranges.dropLast().joined(separator: ","))?.ranges.count == 20)
    #expect(list(ranges.joined(separator: ",")) == nil)
    #expect(list("de,DE,de")?.ranges == ["de"])
  }

  @Test(arguments: [
    ("zh-Hant-TW,en", ["zh-hant-tw", "zh-hant", "zh", "en"]),
    ("de-AT-x-viennese", ["de-at-x-viennese", "de-at", "de"]),
    ("*", []), ("en,*,de", ["en", "de"]),
  ])
  func languagesAreLookedUpWithFewerAndFewerSubtags(ranges: String, expected: [Substring]) {
    var languages: [Substring] = []

    let found = list(ranges)?.first { language -> Int? in
      languages.append(language)
      return nil
    }

    #expect(found == nil)
    #expect(languages == expected)
  }
}
