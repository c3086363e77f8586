import Basics
import Foundation
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct ListTests {
  /// Six places on the equator, a hundredth of a degree apart, and one at either side of the antimeridian.
  private func driver() async throws -> ServiceDriver {
    let onEquator = try (0..<6).map { number in
      try PointDraft.at(
        0, Double(number) / 100, name: "E\(number)", category: number.isMultiple(of: 2) ? "even" : "odd",
        tags: ["n": "\(number)"], sourceID: "\(number)")
    }
    let others = try [PointDraft.at(0, 179.99, name: "East"), PointDraft.at(0, -179.99, name: "West")]
    return try await ServiceDriver(places: onEquator + others)
  }

  @Test func theNearestPlaceComesFirstWithItsGeodesicDistance() async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&long=0.012")

    #expect(response.status == 200)
    #expect(response.headers["content-type"] == ["application/json"])
    #expect(try response.names == ["E1", "E2", "E0", "E3", "E4", "E5", "East", "West"])
    // A hundredth of a degree on the equator is a hundredth of a 360th of 2π × 6,378,137 m.
    #expect(try response.array.map { $0["distance"] as? Double }.prefix(3) == [222.6, 890.6, 1335.8])
  }

  @Test func aPlaceHasTheStandardFieldsInTheirOrder() async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&long=0&limit=1")

    let id = try #require(try response.array.first?["id"] as? String)
    #expect(
      response.text == """
        [{"id":"\(id)","name":"E0","category":"even","lat":0,"long":0,"distance":0.0,"tags":{"n":"0"}}]
        """)
  }

  @Test func allFieldsAreReturnedOnRequestWithoutAbsentOnes() async throws {
    let driver = try await driver()

    let full = try await driver.send(.GET, "/locations?lat=0&long=0&limit=1&fields=*")
    let sparse = try await driver.send(.GET, "/locations?lat=0&long=179.99&limit=1&fields=*")

    #expect(
      try Set(full.array[0].keys) == [
        "id", "name", "category", "lat", "long", "distance", "tags", "source", "sourceId", "version", "createdAt",
        "updatedAt",
      ])
    #expect(try Set(sparse.array[0].keys).isDisjoint(with: ["category", "source", "sourceId"]))
  }

  @Test func elementsOfAListMayComeInSeveralParameters() async throws {
    let driver = try await driver()

    let places = try await driver.send(
      .GET, "/locations?bbox=0.005&bbox=-1&bbox=0.035,1&fields=name&fields=long")
    let incomplete = try await driver.send(.GET, "/locations?bbox=0.005&bbox=-1&bbox=0.035")

    #expect(try Set(places.names) == ["E1", "E2", "E3"])
    #expect(try places.array.allSatisfy { Set($0.keys) == ["name", "long"] })
    #expect(incomplete.status == 400 && incomplete.text.contains("got '0.005,-1,0.035'"))
  }

  @Test(arguments: [",", "%2C", "&ids="])
  func placesAreListedInTheOrderOfTheirIdsEachOnceAndMissingOnesAreLeftOut(comma: String) async throws {
    let driver = try await driver()
    let places = try await driver.send(.GET, "/locations?limit=8").array.compactMap { $0["id"] as? String }
    let named = [places[5], places[2].uppercased(), PointID(high: 1, low: 2).description, places[7], places[2]]

    let found = try await driver.send(.GET, "/locations?ids=\(named.joined(separator: comma))&fields=id")
    let none = try await driver.send(.GET, "/locations?ids=\(named[2])")
    let etag = try #require(found.headers["etag"].first)
    let again = try await driver.send(
      .GET, "/locations?ids=\(named.joined(separator: comma))&fields=id", headers: ["if-none-match": etag])

    #expect(try found.array.compactMap { $0["id"] as? String } == [places[5], places[2], places[7]])
    #expect(found.headers["link"].isEmpty)
    #expect(none.status == 200 && none.text == "[]")
    #expect(again.status == 304)
  }

  @Test func idsCombineWithFiltersFormatsAndPages() async throws {
    let driver = try await driver()
    let places = try await driver.send(.GET, "/locations?limit=8").array.compactMap { $0["id"] as? String }
    let ids = places.reversed().joined(separator: ",")

    let odd = try await driver.send(.GET, "/locations?ids=\(ids)&category=odd&tag.n=3&fields=id,name")
    let inBox = try await driver.send(.GET, "/locations?ids=\(ids)&bbox=-1,-1,1,1&f=geojson&lang=de")
    let first = try await driver.send(.GET, "/locations?ids=\(ids)&limit=5&fields=id")
    let link = try #require(first.headers["link"].first)
    let next = try #require(link.split(separator: ">").first?.split(separator: "?").last)
    let second = try await driver.send(.GET, "/locations?" + next)
    let searched = try await driver.send(
      .POST, "/locations/search", json: #"{"ids":["\#(places[3])","\#(places[1])"],"fields":["id"]}"#)

    #expect(try odd.names == ["E3"])
    #expect(try (inBox.object["features"] as? [Any])?.count == 6)
    #expect(try (first.array + second.array).compactMap { $0["id"] as? String } == places.reversed())
    #expect(second.headers["link"].isEmpty)
    #expect(try searched.array.compactMap { $0["id"] as? String } == [places[3], places[1]])
  }

  @Test(arguments: [
    ("ids=", "ids must be UUIDs"), ("ids=a", "got 'a'"), ("ids=,", "got ''"), ("ids=ID,", "got ''"),
    ("ids=ID%00", "must be UUIDs"), ("ids=node/1", "got 'node/1'"), ("ids=ID&lat=1&long=2", "lat"),
    ("ids=ID&lon=1", "lon"), ("ids=ID&radius=5", "radius"), ("ids=ID&q=a", "q must not"),
    ("ids=ID&sort=distance", "sort"),
    ("ids=ID&autocomplete=true", "autocomplete"), ("ids=ID&route=abc", "route"), ("ids=ID&limit=0", "limit"),
    ("ids=ID&cursor=abc", "cursor"),
    ("ids=" + [String](repeating: "ID", count: 101).joined(separator: ","), "got 101"),
  ])
  func idsThatAreInvalidOrContradictedAreRejected(query: String, detail: String) async throws {
    let id = PointID(high: 1, low: 2).description

    let response = try await driver().send(.GET, "/locations?" + query.replacingOccurrences(of: "ID", with: id))

    #expect(response.status == 400)
    #expect(try response.code == "invalid-parameter")
    #expect(response.text.contains(detail), "\(response.text)")
  }

  @Test func onlyTheNamedFieldsAreGiven() async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&long=0&limit=1&fields=name,lat")

    #expect(response.text == #"[{"name":"E0","lat":0}]"#)
  }

  @Test(arguments: ["lon", "lng", "long"])
  func theLongitudeHasThreeNames(name: String) async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&\(name)=0&limit=1")

    #expect(try response.names == ["E0"])
  }

  @Test func radiusExcludesFartherPlaces() async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&long=0&radius=1113.2")

    #expect(try response.names == ["E0", "E1"])
  }

  @Test(arguments: ["category=odd", "category=odd,none", "category=none&category=odd"])
  func categoriesAreGivenAsAListOrRepeated(query: String) async throws {
    let response = try await driver().send(.GET, "/locations?lat=0&long=0&\(query)")

    #expect(try response.names == ["E1", "E3", "E5"])
  }

  @Test(arguments: ["category=a%2Cb", "category=a,b", "category=a%2cb", "category=b%2Ca,x&category=a%2Cb"])
  func categoryListIsSplitAfterDecodingAndAlsoMatchedWhole(query: String) async throws {
    let driver = try await ServiceDriver(places: [
      .at(0, 0, name: "Whole", category: "a,b"), .at(0, 1, name: "A", category: "a"),
      .at(0, 2, name: "B", category: "b"), .at(0, 3, name: "C", category: "c"),
    ])

    let response = try await driver.send(.GET, "/locations?lat=0&long=0&\(query)")

    #expect(try response.names == ["Whole", "A", "B"])
  }

  @Test(arguments: ["%2C", "a%2C%2Cb", "%2Ca"])
  func categoryWithCommasSideBySideIsFoundAsAWhole(category: String) async throws {
    let places = [",", "a,,b", ",a"].map { category in
      try? PointDraft.at(0, 0, name: category, category: category)
    }.compactMap(\.self)
    let driver = try await ServiceDriver(places: places)

    let response = try await driver.send(.GET, "/locations?category=\(category)")

    #expect(try response.names == [category.replacing("%2C", with: ",")])
  }

  @Test func commaBeforeACombiningMarkIsASeparator() async throws {
    let driver = try await ServiceDriver(places: [
      .at(0, 0, name: "A", category: "a"), .at(0, 1, name: "Mark", category: "\u{301}b"),
    ])

    let response = try await driver.send(.GET, "/locations?category=a,%CC%81b")

    #expect(try Set(response.names) == ["A", "Mark"])
  }

  @Test func boxAndFieldsAreSplitAfterDecodingToo() async throws {
    let response = try await driver().send(.GET, "/locations?bbox=179%2C-1,-179%2c1&fields=name%2Clat")

    #expect(try Set(response.names) == ["East", "West"])
    #expect(try response.array.allSatisfy { Set($0.keys) == ["name", "lat"] })
  }

  @Test func aBoxMayCrossTheAntimeridian() async throws {
    let response = try await driver().send(.GET, "/locations?bbox=179,-1,-179,1")

    #expect(try Set(response.names) == ["East", "West"])
    #expect(try response.array.allSatisfy { $0["distance"] == nil })
  }

  @Test func aBoxCombinesWithACentre() async throws {
    let response = try await driver().send(.GET, "/locations?bbox=0.015,-1,0.035,1&lat=0&long=1")

    #expect(try response.names == ["E3", "E2"])
  }

  @Test(arguments: ["/locations?limit=3", "/locations?lat=0&long=0&limit=3", "/locations?bbox=-180,-90,180,90&limit=1"])
  func followingTheLinksGivesEachPlaceOnce(first: String) async throws {
    let driver = try await driver()
    var names: [String] = []
    var target: String? = first

    while let page = target, names.count < 100 {
      let response = try await driver.send(.GET, page)
      names += try response.names
      target = response.next
    }

    #expect(names.count == 8)
    #expect(Set(names).count == 8)
  }

  @Test func theLastPageHasNoLink() async throws {
    let response = try await driver().send(.GET, "/locations?limit=8")

    #expect(try response.names.count == 8)
    #expect(response.headers["link"].isEmpty)
  }

  @Test func cursorIsRejectedWithOtherConditions() async throws {
    let driver = try await driver()
    let next = try #require(try await driver.send(.GET, "/locations?lat=0&long=0&limit=1").next)

    let response = try await driver.send(.GET, next.replacing("lat=0", with: "lat=1"))

    #expect(response.status == 400)
    #expect(try response.parameters == ["cursor"])
  }

  @Test(arguments: ["", "&f=geojson", "&limit=1000"])
  func listHasTheAttributionsThatWereRequested(query: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let row = "{\"name\":\"A\",\"lat\":1,\"long\":2,\"source\":\"s\",\"sourceId\":\"1\"}\n"
    _ = try await driver.send(
      .POST, "/locations/import?source=s&attribution=B", headers: ["content-type": "application/x-ndjson"], json: row)

    let response = try await driver.send(.GET, "/locations?fields=name,attribution" + query)

    #expect(response.text.contains(#""attribution":"B""#))
  }

  @Test func fieldOfTheNextLinkHasTheBaseTheQueryAndTheCursor() {
    let value = NextLink.field("/a", "b=<\u{E9}&cursor=old", cursorLength: 3) { $0.write("new") }

    #expect(value == "</a?b=%3C%C3%A9&cursor=new>; rel=\"next\"")
  }

  @Test func linkTargetIsEscaped() {
    let value = NextLink.query("a=>;rel=evil\"<\u{E9}&cursor=old&b=1", cursor: "new")

    #expect(value == "?a=%3E;rel=evil%22%3C%C3%A9&b=1&cursor=new")
  }

  @Test(arguments: [
    (nil, "cursor=new"), ("", "cursor=new"), ("&&a=1&&b&", "a=1&b&cursor=new"), ("a=\u{7F}~", "a=%7F~&cursor=new"),
    ("cursor&cursors=1", "cursors=1&cursor=new"), ("a=b c", "a=b%20c&cursor=new"),
  ])
  func nextLinkKeepsAllParametersExceptTheCursor(query: String?, expected: String) {
    let value = NextLink.query(query.map { $0[...] }, cursor: "new")

    #expect(value == "?\(expected)")
  }
}
