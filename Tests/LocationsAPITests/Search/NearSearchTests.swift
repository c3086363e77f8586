import Basics
import Foundation
import Geo
import HTTPServer
import MemoryStore
import NIOHTTP1
import PointIndex
import Points
import SearchWords
import ServiceTestSupport
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

/// Texts of places near another one, which they name.
@Suite struct NearSearchTests {
  private static let landmarks: [(name: String, latitude: Double, longitude: Double)] = [
    ("Stephansplatz", 48.2084, 16.3731), ("Frankfurt Hauptbahnhof", 50.1071, 8.6638),
    ("Sagrada Família", 41.4036, 2.1744), ("Gare du Nord", 48.8809, 2.3553), ("Piazza Navona", 41.8992, 12.4731),
    ("Vondelpark", 52.358, 4.8686), ("Rynek Główny", 50.0617, 19.9373), ("Torre de Belém", 38.6916, -9.216),
    ("Красная площадь", 55.7539, 37.6208), ("渋谷駅", 35.658, 139.7017), ("강남역", 37.498, 127.0276),
    ("外滩", 31.2397, 121.4906),
  ]

  private static func categories() throws -> TextIndexConfiguration {
    func names(_ language: String, _ label: String) -> CategoryTree.Names { .init(language: language, label: label) }
    var text = TextIndexConfiguration()
    text.categories = try CategoryTree([
      .init(
        name: "cafe",
        names: [
          names("en", "Café"), names("ru", "Кафе"), names("ja", "カフェ"), names("ko", "카페"), names("zh", "咖啡"),
        ])
    ])
    return text
  }

  /// The landmarks, the first one with the id 1, and two cafés near each, of which the second is the best match without
  /// a position.
  private static func rows() throws -> [ImportRow] {
    var rows: [ImportRow] = []
    for (name, latitude, longitude) in landmarks {
      let id = UInt64(rows.count + 1)
      rows += try [
        .sample(name, latitude, longitude, category: "landmark", id: .sample(id)),
        .sample("One at \(name)", latitude + 0.001, longitude, category: "cafe", id: .sample(id + 1)),
        .sample("Two", latitude + 0.01, longitude, category: "cafe", tags: ["wikidata": "Q1"], id: .sample(id + 2)),
      ]
    }
    return rows
  }

  private static func store(_ more: [ImportRow] = []) async throws -> MemoryStore {
    let store = MemoryStore(text: try categories())
    let rows = try (rows() + more).enumerated().map { ImportRow(number: $0 + 1, id: $1.id, draft: $1.draft) }
    _ = try await store.load(AsyncStream([rows]))
    return store
  }

  private static func target(_ text: String, _ more: String = "") -> String {
    let text = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
    return "/locations?q=\(text)\(more)"
  }

  @discardableResult private func createArea(
    _ name: String, _ store: MemoryStore, south: Double, west: Double
  ) async throws -> PointID {
    let ring = try [(0.0, 0.0), (0, 1), (1, 1), (1, 0)].map {
      try Coordinate(latitude: south + $0.0, longitude: west + $0.1)
    }
    let outline = try AreaOutline(polygons: [[ring + [ring[0]]]], isMultiple: false)
    return try await AreaEditor(store).create(try AreaDraft(name: name, outline: outline), once: nil).id
  }

  private func area(_ response: ServiceDriver.Response) -> [String] { response.headers["waymark-area"] }

  // MARK: Languages

  @Test(arguments: [
    ("cafe near stephansplatz", 0), ("Café close to the Stephansplatz!", 0), ("cafe by stephansplatz", 0),
    ("Café bei Frankfurt Hauptbahnhof", 1), ("cafe in der Nähe vom Hauptbahnhof", 1), ("cafe nähe hauptbahnhof", 1),
    ("cafe cerca de la Sagrada Familia", 2), ("cafe près de la gare du nord", 3), ("café près d’Gare du Nord", 3),
    ("cafe proche de Gare du Nord", 3), ("cafe vicino a Piazza Navona", 4), ("cafe vicino all'Piazza Navona", 4),
    ("cafe in de buurt van het Vondelpark", 5), ("cafe koło rynek główny", 6), ("café perto da Torre de Belém", 7),
    ("кафе рядом с красная площадь", 8), ("渋谷駅の近く カフェ", 9), ("渋谷駅近くのカフェ", 9), ("カフェ 渋谷駅 近く", 9),
    ("渋谷駅周辺にあるカフェ", 9), ("강남역 근처 카페", 10), ("강남역 근처에 있는 카페", 10), ("카페 강남역 근처", 10),
    ("外滩附近 咖啡", 11), ("外滩附近的咖啡", 11), ("cafe lähellä stephansplatz", 0), ("cafe nära stephansplatz", 0),
  ])
  func placesAreFoundAroundThePlaceOfTheText(text: String, landmark: Int) async throws {
    let response = try await ServiceDriver(store: try await Self.store()).send(.GET, Self.target(text, "&limit=3"))

    #expect(response.status == 200, "\(response.text)")
    #expect(try response.names.prefix(2) == ["One at \(Self.landmarks[landmark].name)", "Two"], "\(response.text)")
    #expect(try response.array.first?["distance"] as? Double ?? 1000 < 200)
    #expect(area(response) == [PointID.sample(UInt64(3 * landmark + 1)).description])
  }

  @Test(arguments: [
    "near stephansplatz", "cafe near", "cafe near me", "cafe in meiner nähe", "渋谷駅の近く", "근처 카페", "附近 咖啡", "cafe",
    "kaffee stephansplatz",
  ])
  func textWithoutPlaceOrWordsIsNotSplit(text: String) async throws {
    let response = try await ServiceDriver(store: try await Self.store()).send(
      .GET, Self.target(text, "&lat=48.2&long=16.3"))

    #expect(response.status == 200 && area(response) == [], "\(response.text)")
  }

  // MARK: Rules

  @Test func placeWithAllWordsInItsNameIsFoundAsAWhole() async throws {
    let bars: [ImportRow] = try [
      .sample("Near Beer", 1, 1, category: "bar", id: .sample(901)),
      .sample("Cafe Near Stephansplatz", 2, 2, category: "bar", id: .sample(902)),
    ]
    let driver = ServiceDriver(store: try await Self.store(bars))

    let beer = try await driver.send(.GET, Self.target("bar near beer"))
    let whole = try await driver.send(.GET, Self.target("cafe near stephansplatz"))
    let typed = try await driver.send(.GET, Self.target("cafe near stephanspla", "&autocomplete=true"))
    let filtered = try await driver.send(.GET, Self.target("cafe near stephansplatz", "&category=cafe"))

    #expect(try beer.names.first == "Near Beer")
    #expect(try whole.names.first == "Cafe Near Stephansplatz" && area(whole) == [])
    #expect(try typed.names.first == "Cafe Near Stephansplatz" && area(typed) == [])
    #expect(try filtered.names.first == "One at Stephansplatz" && area(filtered).count == 1)
  }

  @Test func nameOfNoPlaceLeavesTheText() async throws {
    let driver = ServiceDriver(store: try await Self.store())
    let control = ServiceDriver(store: try await Self.store())

    let response = try await driver.send(.GET, Self.target("cafe near qwertz"))
    let misspelt = try await driver.send(.GET, Self.target("cafe near stephanspltz"))
    let nothing = try await driver.send(.GET, Self.target("xyzzy near stephansplatz"))
    let same = try await control.send(.GET, Self.target("cafe zzzzz qwertz"))

    #expect(try response.names == same.names && area(response) == [])
    #expect(area(misspelt) == [])
    #expect(nothing.status == 200 && area(nothing) == [])
  }

  @Test(arguments: [
    ("lat=10.2&long=10", "East"), ("lat=-10.2&long=10", "West"), ("bbox=9,9,11,11", "East"),
    ("bbox=9,-11,11,-9", "West"), ("in=Northern", "East"), ("in=Southern", "West"),
  ])
  func positionOfTheRequestChoosesAmongPlacesOfAName(query: String, name: String) async throws {
    let places: [ImportRow] = try [
      .sample("Old Gate", 10, 10, id: .sample(901)), .sample("East", 10.01, 10, category: "cafe", id: .sample(902)),
      .sample("Old Gate", -10, 10, tags: ["wikidata": "Q1", "population": "9"], id: .sample(903)),
      .sample("West", -10.01, 10, category: "cafe", id: .sample(904)),
      .sample("Old Gate Inn", 10.1, 10, id: .sample(905)), .sample("Old Gate Inn", -10.1, 10, id: .sample(906)),
    ]
    let store = try await Self.store(places)
    try await createArea("Northern", store, south: 9.5, west: 9.5)
    let southern = try await createArea("Southern", store, south: -10.5, west: 9.5)

    let response = try await ServiceDriver(store: store).send(.GET, Self.target("cafe near old gate", "&" + query))

    #expect(try response.names.first == name, "\(response.text)")
    let gate = PointID.sample(name == "East" ? 901 : 903).description
    if !query.hasPrefix("in") { #expect(area(response) == [gate]) }
    if query == "in=Southern" { #expect(area(response) == [southern.description]) }
  }

  @Test func radiusIsAroundThePlaceAndAnOrderIsKept() async throws {
    let driver = ServiceDriver(store: try await Self.store())
    let text = "cafe near stephansplatz"

    let near = try await driver.send(.GET, Self.target(text, "&lat=48.3&long=16.3&radius=500"))
    let relevance = try await driver.send(.GET, Self.target(text, "&sort=relevance&limit=1"))

    #expect(try near.names == ["One at Stephansplatz"])
    #expect(try relevance.names == ["Two"] && area(relevance).count == 1)
  }

  @Test func namedAreaComesBeforeAPlaceAndItsChangeChangesTheTag() async throws {
    let store = try await Self.store()
    let driver = ServiceDriver(store: store)
    let target = Self.target("cafe near stephansplatz", "&limit=1")
    try await createArea("Elsewhere", store, south: 0, west: 0)

    let before = try await driver.send(.GET, target)
    let tag = try #require(before.headers.first(name: "etag"))
    let known = try await driver.send(.GET, target, headers: ["if-none-match": tag])
    let id = try await createArea("Stephansplatz", store, south: 41.4, west: 2)
    let after = try await driver.send(.GET, target, headers: ["if-none-match": tag])

    #expect(try before.names == ["One at Stephansplatz"] && known.status == 304)
    #expect(try after.names == ["Two"] || after.names == ["One at Sagrada Família"], "\(after.text)")
    #expect(area(after) == [id.description])
  }

  @Test func placeInAnAreaIsFoundByBothNames() async throws {
    let gates: [ImportRow] = try [
      .sample("Old Gate", 10.5, 10.5, id: .sample(901)), .sample("A", 10.51, 10.5, category: "cafe", id: .sample(902)),
      .sample("Old Gate", 20, 10, id: .sample(903)), .sample("B", 20.01, 10, category: "cafe", id: .sample(904)),
    ]
    let store = try await Self.store(gates)
    try await createArea("Gateshire", store, south: 10, west: 10)

    let response = try await ServiceDriver(store: store).send(.GET, Self.target("cafe near old gate, gateshire"))

    #expect(try response.names.first == "A", "\(response.text)")
    #expect(area(response) == [PointID.sample(901).description])
  }

  @Test(arguments: ["", "&sort=relevance"])
  func pagesStayAroundThePlaceWhileItMoves(order: String) async throws {
    let store = try await Self.store()
    let driver = ServiceDriver(store: store)
    let text = "cafe near stephansplatz"
    let whole = try await driver.send(.GET, Self.target(text, order + "&limit=100&fields=id,distance"))
    let id = PointID.sample(1)

    var response = try await driver.send(.GET, Self.target(text, order + "&limit=5&fields=id,distance"))
    var found = try response.array
    _ = try await store.put(.at(-40, -100, name: "Stephansplatz"), id: id, if: .none)
    let other = try await store.create(.at(-41, -100, name: "Cafe near Stephansplatz"), once: nil)
    while let next = response.next, found.count < 100 {
      response = try await driver.send(.GET, next)
      #expect(response.status == 200 && area(response) == [id.description], "\(response.text)")
      found += try response.array.filter { $0["id"] as? String != other.id.description }
    }

    #expect(found.count == 2 * Self.landmarks.count)
    #expect(try found.map { $0["id"] as? String } == whole.array.map { $0["id"] as? String })
    #expect(try found.map { $0["distance"] as? Double } == whole.array.map { $0["distance"] as? Double })
  }

  @Test func cursorOfAnotherTextIsRejected() async throws {
    let driver = ServiceDriver(store: try await Self.store())
    let next = try #require(
      try await driver.send(.GET, Self.target("cafe near stephansplatz", "&limit=1")).next)

    let other = try await driver.send(
      .GET, next.replacingOccurrences(of: "stephansplatz", with: "vondelpark"))
    let cut = try await driver.send(.GET, String(next.dropLast(4)))

    #expect(other.status == 400 && cut.status == 400)
  }

  @Test func bodiesAndSuggestionsReadTheTextToo() async throws {
    let driver = ServiceDriver(store: try await Self.store())

    let body = try await driver.send(
      .POST, "/locations/search", json: #"{"q":"cafe near stephansplatz","limit":1}"#)
    let suggested = try await driver.send(
      .GET, Self.target("cafe near stephanspl").replacingOccurrences(of: "locations", with: "locations/suggest"))
    let short = try await driver.send(.GET, Self.target("cafe near st", "&autocomplete=true"))

    #expect(try body.names == ["One at Stephansplatz"] && area(body).count == 1)
    #expect(try suggested.names.first == "One at Stephansplatz" && area(suggested).count == 1)
    #expect(area(short) == [])
  }

  @Test(arguments: ["cafe near stephansplatz", "xyzzy near stephansplatz", "cafe near qwertz", "cafe near"])
  func textCountsAsOneSearch(text: String) async throws {
    let searches = SearchCounter()
    let service = PointsService(store: try await Self.store(), analytics: searches)
    let driver = ServiceDriver(LocationsAPI(.init(service: service, version: "1")))

    _ = try await driver.send(.GET, Self.target(text))

    #expect(searches.count == 1)
  }

  @Test func keyWithAFilterLearnsNothingOfAPlaceThatItMayNotSee() async throws {
    func send(_ text: String, hasHidden: Bool) async throws -> ServiceDriver.Response {
      let hidden: [ImportRow] = try [
        .sample("Secret Lab", 48.2, 16.3, category: "internal", id: .sample(901)),
        .sample("Cafe near Stephansplatz", 48.2, 16.3, category: "internal", id: .sample(902)),
      ]
      let store = try await Self.store(hasHidden ? hidden : [])
      var key = APIKey(name: "part", scope: .read, secret: "wm_part")
      key.restriction = AccessRestriction(filter: "category <> 'internal'", areas: [])
      var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1")
      api.changes = store.changes
      api.areas = store
      api.access = AccessControl(AccessPolicy(keys: [key], isLoopback: false, readRequiresKey: true))
      api.filtering = Filtering(timeLimit: .seconds(600))
      return try await ServiceDriver(LocationsAPI(api)).send(
        .GET, Self.target(text), headers: ["authorization": "Bearer wm_part"])
    }
    for text in ["cafe near secret lab", "cafe near stephansplatz"] {
      let with = try await send(text, hasHidden: true)
      let without = try await send(text, hasHidden: false)

      #expect(with.status == 200 && with.text == without.text, "\(text)")
      #expect(area(with) == area(without))
    }
    #expect(area(try await send("cafe near stephansplatz", hasHidden: true)) == [PointID.sample(1).description])
  }
}
