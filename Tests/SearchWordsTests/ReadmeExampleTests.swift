import Basics
import SearchWords
import Testing

/// The example of the README.
@Suite struct ReadmeExampleTests {
  @Test func wordsOfTheExampleAreFound() throws {
    let words = NormalizedText("Café-Bar „Łódź“").text  // "cafe bar lodz"
    let cafe = CategoryTree.Declaration(
      name: "cafe", names: [.init(language: "de", label: "Café"), .init(language: "en", label: "Coffee shop")])
    let tree = try CategoryTree([cafe])
    let label = tree.label(of: 0, in: LanguagePriorityList(["de-AT", "en"])).label  // "Café"
    let rest = tree.readings(of: "coffee shops berlin").first?.rest  // " berlin"
    let near = NearWords.readings(of: "cafe near the station").first?.names  // "the station", "station"

    #expect(words == "cafe bar lodz")
    #expect(label == "Café")
    #expect(rest == " berlin")
    #expect(near == ["the station", "station"])
  }
}
