import AccessControl
import Foundation
import Geo
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import Duplicates
@testable import LocationsAPI

@Suite struct DuplicateRoutesTests {
  private struct Page: Decodable {
    struct Pair: Decodable {
      struct Place: Decodable {
        let name: String
        let source: String
      }

      let id: String
      let state: String
      let score: Double
      let distance: Int
      let parts: [String: Double]
      let places: [Place]
    }

    let count: Int
    let duplicates: [Pair]
  }

  private func driver() async throws -> ServiceDriver {
    let names = ["Adler", "Bauer", "Central", "Demel", "Europa"]
    var places: [PointDraft] = []
    for (index, name) in names.enumerated() {
      for (source, offset) in [("a", 0.0), ("b", 0.0001 * Double(index))] {
        places.append(
          try PointDraft(
            name: name, category: "cafe", coordinate: Coordinate(latitude: Double(index) + offset, longitude: 0),
            source: source, sourceID: "\(index)"))
      }
    }
    // Another place of the second data set that is as near to the first.
    places.append(
      try PointDraft(
        name: "Adlers", category: "cafe", coordinate: Coordinate(latitude: 0.0001, longitude: 0), source: "b",
        sourceID: "x"))
    return try await ServiceDriver(places: places)
  }

  private func page(_ driver: ServiceDriver, _ query: String) async throws -> Page {
    let response = try await driver.send(.GET, "/duplicates?" + query)
    #expect(response.status == 200)
    return try JSONDecoder().decode(Page.self, from: response.body)
  }

  @Test func pairsHaveTheirScoreItsPartsAndBothPlaces() async throws {
    let page = try await page(try await driver(), "source=a&other=b")

    #expect(page.count == 5)
    #expect(page.duplicates.map { $0.places[0].name } == ["Adler", "Bauer", "Central", "Demel", "Europa"])
    #expect(page.duplicates.allSatisfy { $0.places.map(\.source) == ["a", "b"] && $0.state == "open" })
    let last = try #require(page.duplicates.last)
    // 44 m of 300.
    #expect(last.distance == 44)
    #expect(last.parts == ["distance": 0.854, "name": 1, "category": 1])
    #expect(last.score == 0.948)
  }

  @Test func pagesFollowEachOtherByLinks() async throws {
    let driver = try await driver()
    var target: String? = "/duplicates?source=a&other=b&limit=2"
    var ids: [String] = []
    while let next = target {
      let response = try await driver.send(.GET, next)
      let page = try JSONDecoder().decode(Page.self, from: response.body)
      #expect(page.count == 5)
      ids += page.duplicates.map(\.id)
      target = response.headers.first(name: "link").map { link in
        "/duplicates" + link.drop { $0 != "?" }.prefix { $0 != ">" }
      }
    }

    #expect(ids.count == 5)
    #expect(ids == (try await page(driver, "source=a&other=b")).duplicates.map(\.id))
  }

  @Test func pageOfLongPlacesEndsEarlyAndItsLinkLeadsToTheOthers() async throws {
    let tags = try Tags((0..<300).map { (key: "key \($0)", value: String(repeating: "x", count: 2_000)) })
    var places: [PointDraft] = []
    for index in 0..<8 {
      for source in ["a", "b"] {
        places.append(
          try PointDraft(
            name: "Adler \(index)", category: "cafe", coordinate: Coordinate(latitude: Double(index), longitude: 0),
            tags: tags, source: source, sourceID: "\(index)"))
      }
    }
    let driver = try await ServiceDriver(places: places)
    var (ids, pages, target): ([String], Int, String?) = ([], 0, "/duplicates?source=a&other=b&limit=1000")
    while let next = target, pages < 9 {
      let response = try await driver.send(.GET, next)
      #expect(response.status == 200 && response.body.count <= PointPage.maximumTextBytes + 100_000)
      let page = try JSONDecoder().decode(Page.self, from: response.body)
      #expect(page.count == 8)
      ids += page.duplicates.map(\.id)
      pages += 1
      target = response.headers.first(name: "link").map { link in
        "/duplicates" + link.drop { $0 != "?" }.prefix { $0 != ">" }
      }
    }

    #expect(pages > 1)
    #expect(ids.count == 8 && Set(ids).count == 8)
  }

  @Test func decisionsMarkPairsAndTakeThemAway() async throws {
    let driver = try await driver()
    let query = "source=a&other=b&bbox=-1,-1,1,1.5"
    let first = try await page(driver, query).duplicates
    #expect(first.map { $0.places[1].name } == ["Adler", "Bauer"])

    let refuted = try await driver.send(.POST, "/duplicates/\(first[0].id)", json: #"{"state":"refuted"}"#)
    let confirmed = try await driver.send(.POST, "/duplicates/\(first[1].id)", json: #"{"state":"confirmed"}"#)
    let second = try await page(driver, query).duplicates
    let onlyRefuted = try await page(driver, query + "&states=refuted").duplicates
    _ = try await driver.send(.POST, "/duplicates/\(first[0].id)", json: #"{"state":"open"}"#)
    let third = try await page(driver, query).duplicates

    #expect(refuted.status == 200 && confirmed.status == 200)
    #expect(String(decoding: refuted.body, as: UTF8.self) == #"{"id":"\#(first[0].id)","state":"refuted"}"#)
    #expect(second.map { $0.places[1].name } == ["Bauer", "Adlers"])
    #expect(second.map(\.state) == ["confirmed", "open"])
    #expect(onlyRefuted.map(\.id) == [first[0].id])
    #expect(third.map(\.id) == [first[0].id, first[1].id])
    let places = try await driver.send(.GET, "/locations?limit=100")
    #expect(String(decoding: places.body, as: UTF8.self).components(separatedBy: #""id""#).count == 12)
  }

  @Test func placesOfOneDataSetAreComparedWithoutAnother() async throws {
    let page = try await page(try await driver(), "source=b")

    #expect(page.duplicates.map { Set($0.places.map(\.name)) } == [["Adler", "Adlers"]])
  }

  @Test(arguments: [
    ("", "source"), ("source=", "source"), ("source=a&other=", "other"), ("source=a&sourceId=7", "sourceId"),
    ("source=a&minScore=0.4", "minScore"), ("source=a&minScore=x", "minScore"), ("source=a&minScore=1.1", "minScore"),
    ("source=a&states=closed", "states"), ("source=a&states=", "states"), ("source=a&limit=0", "limit"),
    ("source=a&bbox=1,2,3", "bbox"), ("source=a&cursor=x", "cursor"), ("source=a&colour=red", "colour"),
    ("source=a&source=b", "source"),
  ])
  func invalidParameterIsNamed(query: String, name: String) async throws {
    let response = try await driver().send(.GET, "/duplicates?" + query)

    #expect(response.status == 400)
    #expect(String(decoding: response.body, as: UTF8.self).contains(#""parameter":"\#(name)""#), "\(response.text)")
  }

  @Test func cursorOfAnotherQueryIsRejected() async throws {
    let driver = try await driver()
    let first = try await driver.send(.GET, "/duplicates?source=a&other=b&limit=1")
    let link = try #require(first.headers.first(name: "link"))
    let cursor = link.drop { $0 != "?" }.prefix { $0 != ">" }.split(separator: "&").first { $0.contains("cursor=") }

    let other = try await driver.send(.GET, "/duplicates?source=b&other=a&limit=1&\(try #require(cursor))")

    #expect(other.status == 400)
  }

  @Test func cursorContinuesWithTheDefaultsGiven() async throws {
    let driver = try await driver()
    let first = try await driver.send(.GET, "/duplicates?source=a&other=b&limit=1")
    let link = try #require(first.headers.first(name: "link"))
    let cursor = try #require(link.firstMatch(of: /cursor=([^&>]*)/)).1
    let score = Double(DuplicateQuery.defaultMinimumScore) / 1000

    let target = "/duplicates?other=b&source=a&minScore=\(score)&cursor=\(cursor)&states="
    let same = try await driver.send(.GET, target + "confirmed,open")
    let other = try await driver.send(.GET, target + "open")

    #expect(same.status == 200)
    #expect(other.status == 400)
  }

  @Test(arguments: [
    ("x", #"{"state":"confirmed"}"#, 400), ("PAIR", #"{"state":"maybe"}"#, 400), ("PAIR", "{}", 400),
    ("PAIR", #"{"state":1}"#, 400), ("PAIR", #"{"state":"open","by":"me"}"#, 400), ("PAIR", "[]", 400),
    ("PAIR", "", 400),
    (
      "00000000-0000-0001-0000-000000000002.00000000-0000-0001-0000-000000000003", #"{"state":"confirmed"}"#, 404
    ),
  ])
  func invalidDecisionsAreRejected(pair: String, body: String, status: Int) async throws {
    let driver = try await driver()
    let id = try #require(try await page(driver, "source=a&other=b").duplicates.first).id

    let response = try await driver.send(
      .POST, "/duplicates/" + pair.replacing("PAIR", with: id), json: body)

    #expect(response.status == status)
    #expect(try await page(driver, "source=a&other=b").duplicates.allSatisfy { $0.state == "open" })
  }

  @Test func problemHasTheCodeOfItsFirstViolation() async throws {
    let driver = try await driver()
    let id = try #require(try await page(driver, "source=a&other=b").duplicates.first).id

    let response = try await driver.send(.POST, "/duplicates/\(id)", json: #"{"by":"me"}"#)

    #expect(try response.code == "unknown-parameter")
    #expect(try response.pointers == ["/by", "/state"])
  }
}
