import Basics
import Foundation
import JSONText
import MemoryStore
import NIOHTTP1
import PointFormats
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

@Suite struct TextSearchTests {
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(0, 0, name: "Winchester Mystery House", category: "museum", tags: ["name:ko": "윈체스터 미스터리 하우스"]),
      .at(0, 1, name: "Winchester Cathedral", category: "church", sourceID: "7"),
      .at(0, 2, name: "Mystery Museum", category: "museum", tags: ["alt_name": "House of Winchester"]),
      .at(10, 2, name: "서울역", category: "station", tags: ["name:en": "Seoul Station", "addr:city": "Seoul"]),
    ])
  }

  @Test func placesAreFoundByTheirNames() async throws {
    let response = try await driver().send(.GET, "/locations?q=winchester+mystery+house")

    #expect(response.status == 200)
    #expect(try response.names.first == "Winchester Mystery House")
    #expect(try !response.names.contains("Winchester Cathedral"))
    #expect(response.headers["vary"] == ["accept, accept-encoding, accept-language"])
    #expect(response.headers["cache-control"] == ["no-cache"])
    #expect(response.headers.contains(name: "etag"))
  }

  @Test(arguments: [
    ("category=church", ["Winchester Cathedral"]), ("bbox=0.5,-1,1.5,1", ["Winchester Cathedral"]),
    ("source=test", ["Winchester Cathedral"]), ("lat=0&long=1&radius=1000", ["Winchester Cathedral"]),
    ("category=none", []), ("filter=category%3D%27church%27", ["Winchester Cathedral"]),
    ("filter=category%3D%27church%27%20AND%20lat%3E1", []), ("filter=long%3E1.5", ["Mystery Museum"]),
    (
      "tag.name:ko=%EC%9C%88%EC%B2%B4%EC%8A%A4%ED%84%B0%20%EB%AF%B8%EC%8A%A4%ED%84%B0%EB%A6%AC%20%ED%95%98%EC%9A%B0%EC%8A%A4",
      ["Winchester Mystery House"]
    ),
  ])
  func filtersOfListsApply(query: String, names: [String]) async throws {
    let response = try await driver().send(.GET, "/locations?q=winchester&\(query)")

    #expect(try response.names == names)
  }

  @Test func centreOrdersByDistanceOnRequestAndHidesNothing() async throws {
    let driver = try await driver()

    let byDistance = try await driver.send(.GET, "/locations?q=winchester&lat=0&long=2&sort=distance")
    let byRelevance = try await driver.send(.GET, "/locations?q=winchester&lat=0&long=2&sort=relevance")

    #expect(try byDistance.names == ["Mystery Museum", "Winchester Cathedral", "Winchester Mystery House"])
    #expect(try Set(byRelevance.names) == Set(byDistance.names))
    #expect(try byRelevance.array.allSatisfy { $0["distance"] is Double })
  }

  @Test func labelHasTheNameInTheRequestedLanguage() async throws {
    let response = try await driver().send(.GET, "/locations?q=seoul&fields=name,label&lang=en")

    #expect(try response.array.map { $0["label"] as? String } == ["Seoul Station, Seoul"])
  }

  @Test func scoreAndMatchAreGivenOnRequest() async throws {
    let driver = try await driver()

    let plain = try await driver.send(.GET, "/locations?q=cathedral")
    let chosen = try await driver.send(.GET, "/locations?q=winchester+house&fields=name,score,match,label&limit=1")
    let korean = try await driver.send(.GET, "/locations?q=%EC%9C%88%EC%B2%B4%EC%8A%A4%ED%84%B0&fields=match")

    #expect(try Set(plain.array[0].keys).isDisjoint(with: ["score", "match", "label"]))
    #expect(try Set(chosen.array[0].keys) == ["name", "score", "match", "label"])
    #expect(try chosen.array[0]["score"] is Double)
    let match = try #require(try chosen.array[0]["match"] as? [String: Any])
    #expect(match["key"] as? String == "alt_name" || match["key"] as? String == "name")
    #expect((match["ranges"] as? [[Int]])?.count == 2)
    let name = try #require(try korean.array.first?["match"] as? [String: Any])
    #expect(name["key"] as? String == "name:ko")
    #expect(name["text"] as? String == "윈체스터 미스터리 하우스")
  }

  @Test(arguments: ["json", "geojson", "geojsonseq", "csv"])
  func everyFormatHasTheExtraFields(format: String) async throws {
    let response = try await driver().send(
      .GET, "/locations?q=cathedral&fields=name,score,match&f=\(format)")

    #expect(response.status == 200)
    #expect(response.text.contains("Winchester Cathedral"))
    #expect(response.text.contains("score"))
    #expect(response.text.contains("ranges"))
  }

  @Test(arguments: ["", "&sort=distance&lat=0&long=0", "&lat=1&long=1"])
  func followingTheLinksGivesEachMatchOnce(query: String) async throws {
    let driver = try await ServiceDriver(
      places: try (0..<25).map { try .at(0, Double($0) / 10, name: "Station \($0 % 5)") })
    var names: [String] = []
    var target: String? = "/locations?q=station&limit=4\(query)&fields=name"
    var pages = 0

    while let page = target, pages < 20 {
      let response = try await driver.send(.GET, page)
      #expect(response.status == 200)
      names += try response.names
      target = response.next
      pages += 1
    }

    #expect(names.count == 25)
    #expect(pages == 7)
  }

  @Test(arguments: [("q=winchester", "q=mystery"), ("limit=1", "limit=1&sort=distance&lat=0&long=0")])
  func cursorIsRejectedWithAnotherQuery(part: String, other: String) async throws {
    let driver = try await driver()
    let next = try #require(try await driver.send(.GET, "/locations?q=winchester&limit=1").next)

    let response = try await driver.send(.GET, next.replacing(part, with: other))

    #expect(response.status == 400)
    #expect(try response.parameters == ["cursor"])
  }

  @Test func cursorWithoutAStageIsRejected() async throws {
    let cursor = Base64URL.encode([2] + [UInt8](repeating: 0, count: 28))

    let response = try await driver().send(.GET, "/locations?q=winchester&cursor=\(cursor)")

    #expect(response.status == 400)
    #expect(try response.parameters == ["cursor"])
  }

  @Test func cursorOfMisspeltWordsContinuesAmongTheirMatches() async throws {
    let driver = try await driver()
    let all = try await driver.send(.GET, "/locations?q=winchestr").names
    #expect(all.count > 1)

    var names: [String] = []
    var target: String? = "/locations?q=winchestr&limit=1"
    while let page = target, names.count <= all.count {
      let response = try await driver.send(.GET, page)
      names += try response.names
      target = response.next
    }

    #expect(names == all)
  }

  @Test func placesOfACategoryAreFoundByItsNamePageByPage() async throws {
    let driver = try await driver()

    let first = try await driver.send(.GET, "/locations?q=museum&limit=1&fields=name,match")
    let second = try await driver.send(.GET, try #require(first.next))

    #expect(try first.names == ["Mystery Museum"])
    #expect(try second.names == ["Winchester Mystery House"])
    #expect(try second.array[0]["match"] == nil)
    #expect(second.next == nil)
    #expect(try await driver.send(.GET, "/locations?q=station&lang=en").names == ["Seoul Station"])
  }

  @Test func cursorOfAListIsNoneOfASearch() async throws {
    let driver = try await driver()
    let next = try #require(try await driver.send(.GET, "/locations?limit=1").next)

    let response = try await driver.send(.GET, next + "&q=winchester")

    #expect(try response.parameters == ["cursor"])
  }

  @Test(arguments: [
    ("q=", ["q"]), ("q=%20%20", ["q"]), ("q=!!!", ["q"]), ("q=%E2%80%8B", ["q"]), ("autocomplete=true", ["q"]),
    ("sort=distance", ["q"]), ("sort=updatedAt", ["sort"]), ("sort=relevance&lat=0&long=0", ["q"]),
    ("q=a&sort=distance", ["lat", "long"]),
    ("q=a&sort=name", ["sort"]), ("q=a&autocomplete=yes", ["autocomplete"]), ("q=a&lat=0", ["long"]),
    ("q=a&radius=5", ["lat", "long"]), ("q=a&fields=rank", ["fields"]), ("q=a&lang=e_n", ["lang"]), ("q=a&q=b", ["q"]),
    ("q=\(String(repeating: "a", count: 201))", ["q"]), ("fields=score", ["fields"]), ("fields=match", ["fields"]),
    ("q=a&cursor=x", ["cursor"]), ("q=a&sort=distance&lat=x&long=1", ["lat"]),
  ])
  func invalidParametersAreReported(query: String, parameters: [String]) async throws {
    let response = try await driver().send(.GET, "/locations?\(query)")

    #expect(response.status == 400)
    #expect(try response.parameters == parameters)
  }

  @Test func longestTextIsAccepted() async throws {
    let text = String(repeating: "é", count: 200)
    let encoded = try #require(text.addingPercentEncoding(withAllowedCharacters: []))

    let response = try await driver().send(.GET, "/locations?q=\(encoded)")

    #expect(response.status == 200)
    #expect(response.text == "[]")
  }

  @Test func responsesWhileTypingMayBeKeptForSeconds() async throws {
    let driver = try await driver()

    let typing = try await driver.send(.GET, "/locations?q=winch&autocomplete=true")
    let tag = try #require(typing.headers.first(name: "etag"))
    let known = try await driver.send(
      .GET, "/locations?q=winch&autocomplete=true", headers: ["if-none-match": tag])

    #expect(try typing.names.count == 3)
    #expect(typing.headers["cache-control"] == ["public, max-age=5"])
    #expect(known.status == 304)
    #expect(known.headers["cache-control"] == ["public, max-age=5"])
  }

  @Test func headerChoosesTheLanguageOfMatches() async throws {
    let driver = try await driver()

    let english = try await driver.send(.GET, "/locations?q=seoul", headers: ["accept-language": "en-US,en;q=0.9"])
    let own = try await driver.send(.GET, "/locations?q=seoul")
    let chosen = try await driver.send(
      .GET, "/locations?q=winchester+house&lang=ko&limit=1", headers: ["accept-language": "en"])

    #expect(try english.names == ["Seoul Station"])
    #expect(english.headers["content-language"] == ["en"])
    #expect(try own.names == ["서울역"])
    #expect(own.headers["etag"] != english.headers["etag"])
    #expect(chosen.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test(arguments: ["/locations?q=a", "/locations?q=a+near+b", "/locations/suggest?q=a", "/api?q=a"])
  func withoutAnIndexTheSettingIsNamed(target: String) async throws {
    let response = try await ServiceDriver(store: StubStore()).send(.GET, target)

    #expect(response.status == 501)
    #expect(try response.code == "not-implemented")
    #expect(response.text.contains("POINT_INDEX"))
  }

  @Test func withoutAnIndexTheNearestPlaceHasALabel() async throws {
    let store = MemoryStore()
    _ = try await store.create(.at(0, 0, name: "A", tags: ["addr:city": "B"]), once: nil)
    let driver = ServiceDriver(store: UnindexedStore(store: store))

    let response = try await driver.send(.GET, "/locations/reverse?lat=0&long=0&fields=label")
    let photon = try await driver.send(.GET, "/reverse?lat=0&lon=0")

    #expect(response.text == #"{"label":"A, B"}"#)
    #expect(photon.status == 200)
  }
}
