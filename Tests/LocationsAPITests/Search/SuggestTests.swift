import Basics
import Foundation
import Geo
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct SuggestTests {
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(0, 0, name: "Museum of Music", category: "museum"), .at(0, 1, name: "Muse Hotel", category: "hotel"),
      .at(0, 2, name: "City Hall", category: "museum"), .at(0, 3, name: "Rock", category: "music_school"),
      .at(0, 4, name: "서울역", category: "station", tags: ["name:en": "Museum Station"]),
    ])
  }

  @Test func categoriesComeBeforePlaces() async throws {
    let response = try await driver().send(.GET, "/locations/suggest?q=mus&lat=0&long=0")

    let suggestions = try response.array
    #expect(suggestions.map { $0["type"] as? String }.prefix(3) == ["category", "category", "place"])
    #expect(suggestions[0]["category"] as? String == "museum")
    #expect(suggestions[0]["count"] as? Int == 2)
    #expect(suggestions[1]["category"] as? String == "music_school")
    #expect(try response.names.contains("Museum of Music"))
    #expect(Set(suggestions[2].keys) == ["type", "id", "name", "label", "category", "distance"])
    #expect(response.headers["cache-control"] == ["public, max-age=5"])
    #expect(response.headers["vary"] == ["accept, accept-encoding, accept-language"])
  }

  @Test func suggestionsAreNotRecordedAsSearches() async throws {
    let searches = SearchCounter()
    let service = PointsService(store: MemoryStore(), analytics: searches)

    let response = try await ServiceDriver(LocationsAPI(.init(service: service, version: "1"))).send(
      .GET, "/locations/suggest?q=mus")

    #expect(response.status == 200)
    #expect(searches.count == 0)
  }

  @Test func categoriesAreCountedInTheIndex() async throws {
    let store = MemoryStore()
    _ = try await store.create(.at(0, 0, name: "A", category: "museum"), once: nil)

    let response = try await ServiceDriver(store: UncountedStore(store: store)).send(
      .GET, "/locations/suggest?q=mus")

    #expect(try response.array.first?["count"] as? Int == 1)
  }

  @Test func halfOfTheSuggestionsAreLeftForPlaces() async throws {
    let driver = try await driver()

    let two = try await driver.send(.GET, "/locations/suggest?q=mus&limit=2")
    let one = try await driver.send(.GET, "/locations/suggest?q=mus&limit=1")

    #expect(try two.array.map { $0["type"] as? String } == ["category", "place"])
    #expect(try one.array.map { $0["type"] as? String } == ["place"])
  }

  @Test func conditionsApply() async throws {
    let driver = try await driver()

    let hotels = try await driver.send(.GET, "/locations/suggest?q=mus&category=hotel")
    let near = try await driver.send(.GET, "/locations/suggest?q=mus&lat=0&long=1&radius=10")

    #expect(try hotels.array.map { $0["name"] as? String } == ["Muse Hotel"])
    #expect(try near.names == ["Muse Hotel"])
  }

  @Test func placesHaveNamesInTheLanguage() async throws {
    let response = try await driver().send(
      .GET, "/locations/suggest?q=%EC%84%9C%EC%9A%B8", headers: ["accept-language": "en"])

    #expect(try response.names == ["Museum Station"])
    #expect(response.headers["content-language"] == ["en"])
  }

  @Test func placesOfOneNameHaveDifferentLabels() async throws {
    let driver = try await ServiceDriver(places: [
      .at(
        0, 0, name: "Cafe Zentral", tags: ["addr:street": "Am Markt", "addr:housenumber": "1", "addr:city": "Bremen"]),
      .at(0, 1, name: "Cafe Zentral", tags: ["addr:city": "Wien", "name:ja": "中央カフェ"]),
    ])

    let near = try await driver.send(.GET, "/locations/suggest?q=cafe+zen&lat=0&long=0")
    let translated = try await driver.send(.GET, "/locations/suggest?q=cafe+zen&lat=0&long=1&lang=ja")

    #expect(
      try near.array.map { $0["label"] as? String } == ["Cafe Zentral, Am Markt 1, Bremen", "Cafe Zentral, Wien"])
    #expect(try near.array.map { $0["distance"] as? Double } == [0, 111_319.5])
    #expect(try translated.array.first?["label"] as? String == "中央カフェ, Wien")
  }

  @Test(arguments: [
    ("", ["q"]), ("?q=", ["q"]), ("?q=-", ["q"]), ("?q=a&limit=51", ["limit"]), ("?q=a&fields=id", ["fields"]),
    ("?q=a&lat=1", ["long"]), ("?q=a&autocomplete=true", ["autocomplete"]),
  ])
  func invalidParametersAreReported(query: String, parameters: [String]) async throws {
    let response = try await driver().send(.GET, "/locations/suggest\(query)")

    #expect(response.status == 400)
    #expect(try response.parameters == parameters)
  }

  @Test func categoriesAreReadAgainAfterTheirTime() async throws {
    let store = MemoryStore()
    let time = Mutex(Duration.zero)
    let words = CategoryWords(uptime: { time.withLock { $0 } })
    func names() async throws -> [String] {
      words.matches(of: "caf", nil, limit: 3, among: try await words.counts { try await store.categoryCounts() })
        .map(\.count.category)
    }

    _ = try await store.create(.at(0, 0, name: "A", category: "cafe"), once: nil)
    let first = try await names()
    _ = try await store.create(.at(0, 0, name: "B", category: "cafeteria"), once: nil)
    let kept = try await names()
    time.withLock { $0 = .seconds(5) }
    let later = try await names()

    #expect(first == ["cafe"])
    #expect(kept == ["cafe"])
    #expect(Set(later.map { ExactText($0) }) == ["cafe", "cafeteria"])
  }

  @Test(arguments: [
    ("natural pe", ["natural:peak"]), ("pe nat", []), ("PEAK", ["natural:peak"]), ("natural", ["natural:peak"]),
    ("café", ["cafe"]), ("x", []),
  ])
  func categoriesMatchByWords(text: String, categories: [String]) async throws {
    let store = MemoryStore()
    _ = try await store.create(.at(0, 0, name: "A", category: "natural:peak"), once: nil)
    _ = try await store.create(.at(0, 0, name: "B", category: "cafe"), once: nil)

    let found = CategoryWords().matches(of: text, nil, limit: 3, among: try await store.categoryCounts())

    #expect(found.map(\.count.category) == categories)
  }
}

/// A store that counts no categories outside of its index.
private struct UncountedStore: ForwardingStore {
  let store: MemoryStore

  func categoryCounts(in box: BoundingBox?) async throws(PointStoreError) -> [CategoryCount] {
    throw .unavailable(reason: "a test")
  }
}
