import Basics
import Foundation
import HTTPServer
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import SearchWords
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct LanguageTests {
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(0, 0, name: "서울역", category: "station", tags: ["name:en": "Seoul Station", "name:ja": "ソウル駅"]),
      .at(0, 1, name: "Bremen", tags: ["name:de": "Bremen"]), .at(0, 2, name: "Plain"),
    ])
  }

  @Test(arguments: [
    "/locations?lat=0&long=0&lang=fr,en", "/locations?lang=en&lat=0&long=0&fields=name,tags",
    "/locations?lat=0&long=0&lang=en-US&f=geojson", "/locations?lat=0&long=0&lang=en&f=csv&fields=name,tags",
  ])
  func listsHaveNamesInTheLanguageOfTheParameter(target: String) async throws {
    let response = try await driver().send(.GET, target)

    #expect(response.status == 200)
    #expect(response.headers["content-language"] == ["en"])
    #expect(response.headers["vary"] == ["accept, accept-encoding"])
    for text in ["Seoul Station", "name:local", "서울역", "Bremen", "Plain"] { #expect(response.text.contains(text)) }
    #expect(response.text.matches(of: /name:local/).count == 1)
  }

  @Test func contentLanguageHasTheLanguagesThatWereUsed() async throws {
    let both = try await driver().send(.GET, "/locations?lat=0&long=0&lang=ja,de")
    let none = try await driver().send(.GET, "/locations?lat=0&long=0&lang=fr")

    #expect(both.headers["content-language"] == ["ja, de"])
    #expect(try both.names == ["ソウル駅", "Bremen", "Plain"])
    #expect(none.headers["content-language"].isEmpty)
    #expect(try none.names == ["서울역", "Bremen", "Plain"])
  }

  @Test(arguments: ["/locations?lat=0&long=0", "/locations/check?lat=0&long=0", "/locations/featured"])
  func otherReadsIgnoreTheHeader(target: String) async throws {
    let driver = try await driver()
    let plain = try await driver.send(.GET, target)
    let response = try await driver.send(.GET, target, headers: ["accept-language": "en"])

    #expect(response.body == plain.body)
    #expect(response.headers["etag"] == plain.headers["etag"])
    #expect(response.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test func checkAndFeaturedPlaceHaveTheParameter() async throws {
    let driver = try await ServiceDriver(places: [.at(0, 0, name: "서울역", tags: ["name:en": "Seoul Station"])])

    let check = try await driver.send(.GET, "/locations/check?lat=0&long=0&lang=en")
    let featured = try await driver.send(.GET, "/locations/featured?lang=en")

    for response in [check, featured] {
      #expect(response.text.contains(#""name":"Seoul Station""#))
      #expect(response.headers["content-language"] == ["en"])
    }
  }

  @Test(arguments: ["", "en,", "e_n", "en;q=1", String(repeating: "en,", count: 20) + "en"])
  func malformedLanguagesAreRejected(value: String) async throws {
    let response = try await driver().send(.GET, "/locations?lang=\(value)")

    #expect(response.status == 400)
    #expect(try response.parameters == ["lang"])
  }

  @Test func translatedPlaceCanNotBePutBackByItsEntityTag() async throws {
    let driver = ServiceDriver(writing: MemoryStore.countingFromOne())
    let body = #"{"name":"서울역","lat":1,"long":2,"tags":{"name:en":"Seoul Station"}}"#
    let created = try await driver.send(.POST, "/locations", json: body)
    let target = try #require(created.location)

    let own = try await driver.send(.GET, target, headers: ["accept-language": "en"])
    let translated = try await driver.send(.GET, target + "?lang=en")
    let tag = try #require(translated.headers.first(name: "etag"))
    let rejected = try await driver.send(.PUT, target, headers: ["if-match": tag], json: translated.text)
    let known = try await driver.send(.GET, target + "?lang=en", headers: ["if-none-match": tag])
    let unchanged = try await driver.send(.GET, target)

    #expect(try own.object["name"] as? String == "서울역")
    #expect(own.headers["etag"] == ["\"1\""])
    #expect(try translated.object["name"] as? String == "Seoul Station")
    #expect(tag.hasPrefix("W/\"1-"))
    #expect(known.status == 304)
    #expect(rejected.status == 412)
    #expect(try unchanged.object["name"] as? String == "서울역")
    #expect(try (unchanged.object["tags"] as? [String: String])?["name:local"] == nil)
  }

  @Test(arguments: [
    ("en", ["en"]), ("de, en;q=0.8, fr;q=0.9", ["de", "fr", "en"]), ("en;q=0, ko", ["ko"]),
    ("en;q=0.5,ko;q=0.5", ["en", "ko"]), ("en-US,en;q=0.9,*;q=0.8,de;q=0.7", ["en-us", "en"]),
    ("EN;Q=0.123 , d_e, ja ;q=1.000", ["ja", "en"]), ("en;q=1.5, ko;q=abc, fr;x=1, de", ["de"]),
    (",,de,,", ["de"]), ("en;q=0.8;x, ja", ["ja"]), ("en;q=0.", [String]()),
  ])
  func headerIsOrderedByWeight(value: String, ranges: [String]) {
    let list = LanguagePriorityList(acceptLanguage: ["accept-language": value])

    #expect(list?.ranges.map(\.text) ?? [] == ranges)
  }

  @Test(arguments: ["", "*", "en;q=0", "é", "*;q=0.5, en;q=0.1", String(repeating: "x_,", count: 5000)])
  func headerWithoutAPreferenceIsNone(value: String) {
    #expect(LanguagePriorityList(acceptLanguage: ["accept-language": value]) == nil)
  }

  @Test func longHeaderIsCutAtTheMaximum() {
    let value = (0..<40).map { "a\(Unicode.Scalar(UInt8(97 + $0 % 26)))-\($0)" }.joined(separator: ",")

    #expect(LanguagePriorityList(acceptLanguage: ["accept-language": value])?.ranges.count == 20)
  }
}
