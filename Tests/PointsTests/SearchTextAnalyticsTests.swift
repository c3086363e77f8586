import Basics
import Geo
import JSONText
import Logging
import MemoryStore
import SearchWords
import Synchronization
import TestSupport
import Testing

@testable import Points

@Suite struct SearchTextAnalyticsTests {
  private func search(_ query: TextQuery, found: Int = 0, recordsText: Bool = true) -> Search {
    Search(query, found: found, took: .zero, recordsText: recordsText)
  }

  @Test func textsThatFoundNothingAreRecordedNormalised() {
    #expect(search(TextQuery(text: "  Café   ÀLA-carte! ")).text == "cafe ala carte")
  }

  @Test(arguments: ["서울역", "한국어 갈비", "값", "がぎぐ", "مسجد"])
  func recordedTextIsReadable(text: String) {
    let recorded = search(TextQuery(text: text)).text?.text

    #expect(recorded.map { Array($0.unicodeScalars).count <= text.unicodeScalars.count } == true)
    #expect(recorded.map { NormalizedText($0).text } == NormalizedText(text).text)
  }

  @Test func koreanTextIsRecordedInSyllables() {
    #expect(search(TextQuery(text: "서울역 값비싼")).text == "서울역 값비싼")
  }

  @Test func otherTextsAreNotRecorded() {
    let position = TextQuery.Position(value: 1, id: PointID(high: 1, low: 2))

    #expect(search(TextQuery(text: "cafe"), found: 1).text == nil)
    #expect(search(TextQuery(text: "cafe"), recordsText: false).text == nil)
    #expect(search(TextQuery(text: "caf", completesLastWord: true)).text == nil)
    #expect(search(TextQuery(text: "cafe", after: position)).text == nil)
    #expect(Search(PointQuery(), found: 0, took: .zero).text == nil)
  }

  @Test func centreIsRoundedLikeThatOfOtherSearches() throws {
    let center = try Coordinate(latitude: 12.3456, longitude: 65.4321)
    let biased = TextQuery(text: "a", bias: LocationBias(center: center))
    let strict = TextQuery(text: "a", filters: PointQuery(proximity: .init(center: center), categories: ["cafe"]))

    #expect(search(biased).cell?.description == "12.35,65.43")
    #expect(search(strict).cell?.description == "12.35,65.43")
    #expect(search(strict).categories == ["cafe"])
    #expect(search(TextQuery(text: "a")).cell == nil)
  }

  @Test func onlyFrequentTextsAreReported() {
    var summary = SearchSummary()
    for (text, count) in [("b", 3), ("a", 3), ("c", 5), ("rare", 2)] {
      summary.add((0..<count).map { _ in search(TextQuery(text: text)) })
    }

    let texts = summary.textsFoundNothing(atLeast: 3, limit: 2)

    #expect(texts.map(\.text) == ["c", "a"])
    #expect(texts.map(\.searches) == [5, 3])
    #expect(summary.textsFoundNothing(atLeast: 6, limit: 2).isEmpty)
  }

  @Test func numberOfCountedTextsIsLimited() {
    var summary = SearchSummary()
    let texts = (0..<SearchSummary.maximumTexts + 5).map { search(TextQuery(text: "t\($0)")) }

    summary.add(texts + texts)

    #expect(summary.textsFoundNothing(atLeast: 2, limit: .max).count == SearchSummary.maximumTexts)
    #expect(summary.searches == 2 * texts.count)
  }

  @Test func serviceRecordsSearchesOfTextsOnce() async throws {
    let recorder = Recorder()
    let store = MemoryStore()
    let service = PointsService(store: store, analytics: recorder, recordsTexts: true)
    let snapshot = try #require(try await store.snapshot(isRequired: true))

    _ = try service.matches(of: TextQuery(text: "Nothing"), in: snapshot)
    _ = try service.matches(of: TextQuery(text: "Hidden"), in: snapshot, isRecorded: false)

    #expect(recorder.searches.map(\.text) == ["nothing"])
    #expect(recorder.searches.map(\.found) == [0])
  }
}

private final class Recorder: Analytics {
  private let log = Mutex<[Search]>([])

  var searches: [Search] { log.withLock { $0 } }

  func record(_ search: Search) { log.withLock { $0.append(search) } }
}
