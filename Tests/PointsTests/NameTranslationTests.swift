import Basics
import Geo
import JSONText
import SearchWords
import Testing

@testable import Points

@Suite struct NameTranslationTests {
  private func required(_ text: String) throws -> LanguagePriorityList {
    try #require(LanguagePriorityList(text.split(separator: ",", omittingEmptySubsequences: false)))
  }

  private let tags = [
    (key: "name:de", value: "Köln"), (key: "name:en", value: "Cologne"), (key: "name:zh", value: "科隆"),
    (key: "name:zh-Hant", value: "科隆市"), (key: "name:x", value: " "), (key: "name", value: "other"),
  ]

  @Test(arguments: [
    ("ko,en", "Cologne", "en"), ("EN-gb", "Cologne", "en"), ("zh-Hant-TW", "科隆市", "zh-hant"),
    ("zh-hans", "科隆", "zh"), ("fr,de-AT-x-viennese", "Köln", "de"), ("*,de", "Köln", "de"), ("de,en", "Köln", "de"),
    ("en-a-bbb", "Cologne", "en"),
  ])
  func nameIsLookedUpByRangesInTheirOrder(ranges: String, name: String, language: String) throws {
    let found = try #require(required(ranges).name(in: tags))

    #expect(found.name == name)
    #expect(found.language == language)
  }

  @Test(arguments: ["fr", "*", "e", "zho", "x", "d"])
  func otherLanguagesHaveNoName(ranges: String) throws {
    #expect(try required(ranges).name(in: tags) == nil)
  }

  @Test func translatedPlaceKeepsItsOwnNameAsATag() throws {
    let draft = try PointDraft(
      name: "서울역", category: "station", coordinate: Coordinate(latitude: 1, longitude: 2),
      tags: Tags(["name:en": "Seoul \"Station\"", "ref": "1"]), source: "osm", sourceID: "node/1")

    let (translated, language) = try #require(draft.translated(required("fr,en")))

    #expect(language == "en")
    #expect(translated.name == "Seoul \"Station\"")
    #expect(
      translated.tags == (try Tags(["name:en": "Seoul \"Station\"", "name:local": "서울역", "ref": "1"])))
    #expect(translated.category == "station")
    #expect(translated.origin == draft.origin)
    #expect(try draft.translated(required("fr")) == nil)
  }

  @Test(arguments: ["", "  ", "a\nb", String(repeating: "a", count: 501)])
  func tagsThatAreNoNamesAreNotShown(value: String) throws {
    let draft = try PointDraft(
      name: "Own", coordinate: Coordinate(latitude: 1, longitude: 2),
      tags: Tags(["name:en": value, "name:de": "Eigen"]))

    #expect(try draft.translated(required("en")) == nil)
    #expect(try draft.translated(required("en,de"))?.draft.name == "Eigen")
  }

  @Test func fiveHundredTagsMayGetOneMore() throws {
    let tags = try Tags((0..<499).map { ("k\($0)", "v") } + [("name:en", "N")])
    let draft = try PointDraft(name: "Own", coordinate: Coordinate(latitude: 1, longitude: 2), tags: tags)

    #expect(try draft.translated(required("en"))?.draft.tags.pairs.count == 501)
  }
}
