import Basics
import Foundation
import Geo
import Gzip
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import SearchWords
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AreasAPI
@testable import LocationsAPI

@Suite struct AreaRouteTests {
  private static let square = #"{"type":"Polygon","coordinates":[[[16,48],[17,48],[17,49],[16,49],[16,48]]]}"#

  private static func area(_ name: String, _ more: String = "", west: Double = 16) -> String {
    let ring = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)].map { "[\(west + Double($0.0)),\(48 + $0.1)]" }
    return
      #"{"name":"\#(name)","geometry":{"type":"Polygon","coordinates":[[\#(ring.joined(separator: ","))]]}\#(more)}"#
  }

  /// A driver of a store with a place at 48.5, 16.5, and one at 48.5, 20.5.
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(48.5, 16.5, name: "Inside", category: "cafe"), .at(48.5, 20.5, name: "Outside", category: "cafe"),
    ])
  }

  private func create(_ driver: ServiceDriver, _ json: String) async throws -> String {
    let response = try await driver.send(.POST, "/areas", json: json)
    #expect(response.status == 201, "\(response.text)")
    return try #require(try response.object["id"] as? String)
  }

  @Test func areaIsReadAsItWasWrittenAndPutBack() async throws {
    let driver = try await driver()
    let id = try await create(
      driver,
      Self.area(
        "Wien",
        #","names":{"en":"Vienna"},"kind":"city","level":8,"importance":0.8,"tags":{"a":"b"},"source":"osm","sourceId":"7""#
      ))

    let read = try await driver.send(.GET, "/areas/\(id)")
    let feature = try await driver.send(.GET, "/areas/\(id)?f=geojson")
    let replaced = try await driver.send(.PUT, "/areas/\(id)", json: read.text)
    let known = try await driver.send(
      .GET, "/areas/\(id)", headers: ["if-none-match": read.headers.first(name: "etag") ?? ""])

    #expect(read.status == 200 && feature.status == 200 && replaced.status == 200, "\(replaced.text)")
    #expect(read.text == replaced.text)
    #expect(read.text.contains(Self.square))
    #expect(feature.text.contains(#""type":"Feature""#) && feature.text.contains(Self.square))
    #expect(known.status == 304)
  }

  @Test func numbersInTagsBecomeTextAndNullIsNoTag() async throws {
    let driver = try await driver()

    let id = try await create(driver, Self.area("A", #","tags":{"population":1900000,"capital":true,"fax":null}"#))

    let tags = try await driver.send(.GET, "/areas/\(id)").object["tags"] as? [String: String]
    #expect(tags == ["population": "1900000", "capital": "true"])
  }

  @Test func patchAndDeletionFollowTheirConditions() async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("A", #","level":4"#))
    let tag = try await driver.send(.GET, "/areas/\(id)").headers.first(name: "etag") ?? ""

    let changed = try await driver.send(
      .PATCH, "/areas/\(id)", headers: ["if-match": tag], json: #"{"name":"B","level":null}"#)
    let late = try await driver.send(.PATCH, "/areas/\(id)", headers: ["if-match": tag], json: #"{"name":"C"}"#)
    let lateDeletion = try await driver.send(.DELETE, "/areas/\(id)", headers: ["if-match": tag])
    let deleted = try await driver.send(.DELETE, "/areas/\(id)")
    let missing = try await driver.send(.GET, "/areas/\(id)")

    #expect(changed.status == 200, "\(changed.text)")
    #expect(try changed.object["name"] as? String == "B")
    #expect(try changed.object["level"] == nil)
    #expect(late.status == 412 && lateDeletion.status == 412 && deleted.status == 204 && missing.status == 404)
  }

  @Test(arguments: [
    (#"{"name":"A"}"#, "/geometry"),
    (#"{"geometry":\#(square)}"#, "/name"),
    (#"{"name":"A","geometry":{"type":"Point","coordinates":[1,2]}}"#, "/geometry"),
    (#"{"name":"A","geometry":{"type":"Polygon","coordinates":[]}}"#, "/geometry/coordinates"),
    (
      #"{"name":"A","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}}"#,
      "/geometry/coordinates/0"
    ),
    (
      #"{"name":"A","geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,91],[0,0]]]}}"#,
      "/geometry/coordinates/0/2"
    ),
    (#"{"name":"A","geometry":{"type":"Polygon","coordinates":[[[0,0],[1e-9,0],[0,1e-9],[0,0]]]}}"#, "/geometry"),
    (#"{"name":"A","geometry":{"type":"Polygon","coordinates":[[[0,0],[180,0],[0,1],[0,0]]]}}"#, "/geometry"),
    (
      #"{"name":"A","geometry":{"type":"Polygon","coordinates":[[["x",0],[1,0],[0,1],[0,0]]]}}"#,
      "/geometry/coordinates/0/0"
    ),
    (#"{"name":"A","kind":"town","geometry":\#(square)}"#, "/kind"),
    (#"{"name":"A","level":21,"geometry":\#(square)}"#, "/level"),
    (#"{"name":"A","level":1.5,"geometry":\#(square)}"#, "/level"),
    (#"{"name":"A","importance":2,"geometry":\#(square)}"#, "/importance"),
    (#"{"name":"A","names":{"en":1},"geometry":\#(square)}"#, "/names/en"),
    (#"{"name":"A","source":"x","geometry":\#(square)}"#, "/sourceId"),
    (#"{"name":"A","colour":"red","geometry":\#(square)}"#, "/colour"),
  ])
  func invalidAreaIsRejectedWithTheField(json: String, pointer: String) async throws {
    let response = try await driver().send(.POST, "/areas", json: json)

    #expect(response.status == 422, "\(response.text)")
    let errors = try response.object["errors"] as? [[String: Any]]
    #expect(errors?.first?["pointer"] as? String == pointer, "\(response.text)")
  }

  @Test func areasAreFoundByNamePositionBoxAndKind() async throws {
    let driver = try await driver()
    _ = try await create(driver, Self.area("Wien", #","names":{"en":"Vienna"},"kind":"city""#))
    _ = try await create(driver, Self.area("Vienna", #","kind":"region","importance":0.1"#, west: -80))
    func names(_ query: String) async throws -> [String] {
      let response = try await driver.send(.GET, "/areas?" + query)
      #expect(response.status == 200, "\(response.text)")
      return try response.array.compactMap { $0["name"] as? String }
    }

    #expect(try await names("q=vienn") == ["Vienna", "Wien"])
    #expect(try await names("q=vienna&lat=48.5&long=16.5") == ["Wien"])
    #expect(try await names("lat=48.5&long=16.5") == ["Wien"])
    #expect(try await names("bbox=-81,48,-70,49") == ["Vienna"])
    #expect(try await names("kind=city") == ["Wien"])
    #expect(try await names("q=graz") == [])
  }

  @Test func allAreasArePagedAndExportedAndImportedAgain() async throws {
    let driver = try await driver()
    for number in 0..<5 {
      _ = try await create(driver, Self.area("A\(number)", #","source":"s","sourceId":"\#(number)""#))
    }
    let first = try await driver.send(.GET, "/areas?limit=3")
    let link = try #require(first.headers.first(name: "link"))
    let next = link.dropFirst().prefix { $0 != ">" }
    let second = try await driver.send(.GET, "/areas" + next)
    let lines = try await driver.send(.GET, "/areas/export")
    let collection = try await driver.send(.GET, "/areas/export?f=geojson")

    let other = try await self.driver()
    let imported = try await other.send(
      .POST, "/areas/import", headers: ["content-type": "application/x-ndjson"], json: lines.text)
    let again = try await other.send(
      .POST, "/areas/import", headers: ["content-type": "application/geo+json"], json: collection.text)

    #expect(try first.array.count == 3)
    #expect(try second.array.count == 2)
    #expect(second.headers.first(name: "link") == nil)
    #expect(try imported.object["created"] as? Int == 5, "\(imported.text)")
    #expect(try again.object["unchanged"] as? Int == 5, "\(again.text)")
  }

  @Test func rowsOfOtherProgramsGetTheirKindsAndNames() async throws {
    let driver = try await driver()
    let rows = [
      #"{"type":"Feature","id":"relation/1","properties":{"name":"Wien","name:en":"Vienna","boundary":"administrative","admin_level":"8"},"geometry":\#(Self.square)}"#,
      #"{"type":"Feature","id":"gers","properties":{"subtype":"county","class":"land","is_land":true,"country":"AT","names":{"primary":"Land","common":[["de","Landl"],["en","State"]]}},"geometry":\#(Self.square)}"#,
      #"{"type":"Feature","id":"sea","properties":{"subtype":"country","class":"maritime","is_land":false,"names":{"primary":"Land"}},"geometry":\#(Self.square)}"#,
      #"{"type":"Feature","id":3,"properties":{"boundary":"postal_code","postal_code":"1010"},"geometry":\#(Self.square)}"#,
      #"{"type":"Feature","properties":{"name":"No area"},"geometry":null}"#,
      "no JSON",
    ]

    let response = try await driver.send(
      .POST, "/areas/import?source=x", headers: ["content-type": "application/x-ndjson"],
      json: rows.joined(separator: "\n"))
    let areas = try await driver.send(.GET, "/areas").array

    #expect(try response.object["created"] as? Int == 3, "\(response.text)")
    #expect(try response.object["rejected"] as? Int == 3, "\(response.text)")
    let kinds = Dictionary(uniqueKeysWithValues: areas.map { ($0["name"] as? String ?? "", $0["kind"] as? String) })
    #expect(kinds == ["Wien": "city", "Land": "region", "1010": "postcode"])
    #expect(areas.first { $0["name"] as? String == "Wien" }?["sourceId"] as? String == "relation/1")
    let land = areas.first { $0["name"] as? String == "Land" }
    #expect(land?["names"] as? [String: String] == ["de": "Landl", "en": "State"])
    #expect((land?["tags"] as? [String: String])?["country"] == "AT")
  }

  private static func zone(_ properties: String, id: String = "") -> String {
    #"{"type":"Feature",\#(id)"properties":{"name":"Z",\#(properties)},"geometry":\#(square)}"#
  }

  @Test(arguments: [
    ("source=zones&idField=zone_id", zone(#""zone_id":7"#)),
    ("source=zones&idField=zone_id", zone(#""zone_id":"7","id":"other""#, id: #""id":"top","#)),
    ("source=zones", zone(#""id":"7""#)),
    ("source=zones", zone(#""sourceId":"7""#)),
    ("source=zones", zone(#""source":"a survey""#, id: #""id":7,"#)),
    ("source=zones&idField=zone_id", #"{"name":"Z","zone_id":"7","geometry":\#(square)}"#),
  ])
  func repeatedImportOfASourceUpdatesItsAreas(query: String, row: String) async throws {
    let driver = try await driver()
    func send(_ row: String, _ more: String = "") async throws -> ServiceDriver.Response {
      try await driver.send(
        .POST, "/areas/import?\(query)\(more)", headers: ["content-type": "application/x-ndjson"], json: row)
    }

    let first = try await send(row)
    let second = try await send(row.replacing(#""Z""#, with: #""Y""#), "&replaceSource=zones&licence=CC0-1.0")
    let areas = try await driver.send(.GET, "/areas").array
    let sources = try await driver.send(.GET, "/sources").array

    #expect(try first.object["created"] as? Int == 1, "\(first.text)")
    #expect(try second.object["updated"] as? Int == 1 && second.object["deleted"] as? Int == 0, "\(second.text)")
    #expect(areas.map { $0["name"] as? String } == ["Y"])
    #expect(areas.first?["source"] as? String == "zones" && areas.first?["sourceId"] as? String == "7")
    #expect(sources.first?["name"] as? String == "zones" && sources.first?["licence"] as? String == "CC0-1.0")
  }

  @Test func areaOfAUUIDHasTheSourceOfTheImport() async throws {
    let driver = try await driver()
    let id = "0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b"
    let row = Self.zone(#""a":"b""#, id: #""id":"\#(id)","#)

    let response = try await driver.send(
      .POST, "/areas/import?source=divisions&replaceSource=divisions",
      headers: ["content-type": "application/x-ndjson"], json: row)
    let area = try await driver.send(.GET, "/areas/\(id)").object

    #expect(response.status == 200, "\(response.text)")
    #expect(area["source"] as? String == "divisions" && area["sourceId"] as? String == id)
  }

  @Test func rowWithoutAnIDInItsSourceIsRejectedAndOneWithoutASourceIsAWarning() async throws {
    let driver = try await driver()
    func send(_ query: String) async throws -> ServiceDriver.Response {
      try await driver.send(
        .POST, "/areas/import?dryRun=true\(query)", headers: ["content-type": "application/x-ndjson"],
        json: Self.zone(#""a":"b""#))
    }

    let (plain, named) = (try await send(""), try await send("&source=zones"))
    let other = try await send("&source=zones&idField=zone_id")

    #expect(try plain.object["created"] as? Int == 1)
    #expect(plain.text.contains("another import of it creates its area again"), "\(plain.text)")
    #expect(named.text.contains("/properties/id is missing, which is to be the sourceId; idField"), "\(named.text)")
    #expect(other.text.contains("/properties/zone_id is missing"), "\(other.text)")
  }

  @Test func repeatWithAKeyCreatesNoSecondArea() async throws {
    let driver = try await driver()
    let headers: HTTPHeaders = ["idempotency-key": "a"]

    let first = try await driver.send(.POST, "/areas", headers: headers, json: Self.area("A"))
    let second = try await driver.send(.POST, "/areas", headers: headers, json: Self.area("A"))
    let other = try await driver.send(.POST, "/areas", headers: headers, json: Self.area("B"))

    #expect(first.status == 201 && first.text == second.text)
    #expect(other.status == 422)
  }

  @Test(arguments: [
    "/locations?in=VIENNA", "/locations?in=wien&lat=48&long=16", "/locations?q=inside&in=Wien",
    "/locations/facets?by=category&in=Wien", "/locations/clusters?zoom=5&in=Wien", "/locations/export?in=Wien",
    "/locations/suggest?q=ins&in=Wien", "/tiles/0/0/0.mvt?in=Wien", "/tiles.json?in=Wien", "/locations?%69n=Wien",
  ])
  func everySearchTakesAnArea(target: String) async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("Wien", #","names":{"en":"Vienna"}"#))

    let response = try await driver.send(.GET, target)

    #expect(response.status == 200, "\(response.text)")
    #expect(response.headers.first(name: "waymark-area") == id)
    #expect(!response.text.contains("Outside"))
    if target.hasPrefix("/locations?") { #expect(try response.names == ["Inside"]) }
  }

  @Test func areaOfABodyIsThatOfAQuery() async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("Wien"))

    let found = try await driver.send(.POST, "/locations/search", json: #"{"in":"wien","fields":["name"]}"#)
    let unknown = try await driver.send(.POST, "/locations/search", json: #"{"in":"graz"}"#)
    let mistyped = try await driver.send(.POST, "/locations/search", json: #"{"in":7}"#)

    #expect(try found.names == ["Inside"])
    #expect(found.headers.first(name: "waymark-area") == id)
    #expect(unknown.status == 400 && unknown.text.contains(#""pointer":"/in""#), "\(unknown.text)")
    #expect(mistyped.status == 400 && mistyped.text.contains(#""pointer":"/in""#), "\(mistyped.text)")
  }

  @Test(arguments: [
    "/locations?in=", "/locations?in=graz", "/locations?in=0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b",
    "/locations?in=Wien&within=POLYGON((0%200,1%200,1%201,0%200))", "/changes?in=graz", "/locations?in=Wien&in=Wien",
  ])
  func areaThatIsNoneIsRejectedByName(target: String) async throws {
    let driver = try await driver()
    _ = try await create(driver, Self.area("Wien"))

    let response = try await driver.send(.GET, target)

    #expect(response.status == 400, "\(response.text)")
    #expect(response.text.contains(#""parameter":"in""#), "\(response.text)")
  }

  @Test func nameOfSeveralAreasMeansTheNearestAndThenTheMostImportant() async throws {
    let driver = try await driver()
    let east = try await create(driver, Self.area("Vienna", #","importance":0.8"#))
    let west = try await create(driver, Self.area("Vienna", #","importance":0.1"#, west: -80))

    let anywhere = try await driver.send(.GET, "/locations?in=vienna")
    let inTheWest = try await driver.send(.GET, "/locations?in=vienna&lat=40&long=-80")
    let inTheEast = try await driver.send(.GET, "/locations?in=vienna&lat=40&lng=20")

    #expect(anywhere.headers.first(name: "waymark-area") == east)
    #expect(inTheWest.headers.first(name: "waymark-area") == west)
    #expect(inTheEast.headers.first(name: "waymark-area") == east)
  }

  @Test func changedAreaChangesTheResponsesAndTheirTags() async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("Wien"))
    for target in ["/locations?in=wien", "/tiles/0/0/0.mvt?in=wien", "/locations/facets?by=category&in=wien"] {
      let before = try await driver.send(.GET, target)
      let tag = try #require(before.headers.first(name: "etag"))
      let known = try await driver.send(.GET, target, headers: ["if-none-match": tag])
      let moved = try await driver.send(.PUT, "/areas/\(id)", json: Self.area("Wien", west: 20))
      let after = try await driver.send(.GET, target, headers: ["if-none-match": tag])
      _ = try await driver.send(.PUT, "/areas/\(id)", json: Self.area("Wien"))

      #expect(known.status == 304 && moved.status == 200 && after.status == 200, "\(target)")
    }
  }

  @Test func areasOfAPlaceAreThoseAroundIt() async throws {
    let driver = try await driver()
    _ = try await create(driver, Self.area("Wien"))
    _ = try await create(driver, Self.area("Elsewhere", west: 20))
    let place = try await driver.send(.GET, "/locations?lat=48.5&long=16.5&limit=1").array[0]["id"] as? String

    let areas = try await driver.send(.GET, "/locations/\(place ?? "")/areas")
    let missing = try await driver.send(.GET, "/locations/0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b/areas")

    #expect(try areas.array.map { $0["name"] as? String } == ["Wien"])
    #expect(missing.status == 404)
  }

  @Test func facetsCountThePlacesOfEachAreaOfAKind() async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("Wien", #","names":{"en":"Vienna"},"kind":"city""#))
    _ = try await create(driver, Self.area("Land", #","kind":"region""#))
    let target = "/locations/facets?by=area:city,category&lang=en"

    let counts = try await driver.send(.GET, target)
    let tag = try #require(counts.headers.first(name: "etag"))
    _ = try await driver.send(.PATCH, "/areas/\(id)", json: #"{"names":null}"#)
    let after = try await driver.send(.GET, target, headers: ["if-none-match": tag])
    let unknown = try await driver.send(.GET, "/locations/facets?by=area:town")

    #expect(counts.text.contains(#""area:city":[{"value":"\#(id)","label":"Vienna","count":1}]"#), "\(counts.text)")
    #expect(counts.text.contains(#""missing":{"area:city":1,"#), "\(counts.text)")
    #expect(after.text.contains(#""label":"Wien""#), "\(after.text)")
    #expect(unknown.status == 400 && unknown.text.contains(#""parameter":"by""#))
  }

  @Test func addressThatTheTagsLackComesFromTheAreas() async throws {
    let driver = try await driver()
    let before = try await driver.send(.GET, "/locations/reverse?lat=48.5&long=16.5")
    let tag = try #require(before.headers.first(name: "etag"))
    _ = try await create(driver, Self.area("Wien", #","kind":"city""#))
    _ = try await create(driver, Self.area("1010", #","kind":"postcode""#))
    _ = try await create(driver, Self.area("Österreich", #","kind":"country","tags":{"ISO3166-1:alpha2":"AT"}"#))

    let reverse = try await driver.send(.GET, "/locations/reverse?lat=48.5&long=16.5", headers: ["if-none-match": tag])
    let list = try await driver.send(.GET, "/locations?q=inside&fields=label")
    let body = try await driver.send(.POST, "/locations/search", json: #"{"q":"inside","fields":["label"]}"#)
    let suggested = try await driver.send(.GET, "/locations/suggest?q=insi")
    let photon = try await driver.send(.GET, "/reverse?lat=48.5&lon=16.5&lang=de")

    #expect(try before.object["label"] as? String == "Inside")
    #expect(try reverse.object["label"] as? String == "Inside, 1010 Wien", "\(reverse.text)")
    for response in [list, body, suggested] {
      #expect(response.text.contains(#""label":"Inside, 1010 Wien""#), "\(response.text)")
    }
    for part in [#""city":"Wien""#, #""postcode":"1010""#, #""countrycode":"AT""#, #""country":"Österreich""#] {
      #expect(photon.text.contains(part), "\(photon.text)")
    }
  }

  // MARK: Texts that name an area

  /// A driver of the areas Wien and Vienna, Virginia, and cafés and others in and around them.
  private func texts() async throws -> ServiceDriver {
    let places: [PointDraft] = try [
      .at(48.5, 16.5, name: "Central", category: "cafe"), .at(48.6, 16.6, name: "Demel", category: "coffee_shop"),
      .at(48.5, 16.6, name: "Hotel Sacher", category: "hotel"), .at(48.5, 20.5, name: "Far", category: "cafe"),
      .at(10, 10, name: "Café Wien", category: "cafe"), .at(48.5, -79.5, name: "Amphora", category: "cafe"),
      .at(48.4, 16.4, name: "Wiener Cafe Treff", category: "shop"),
    ]
    func names(_ language: String, _ names: String...) -> CategoryTree.Names {
      .init(language: language, label: names[0], synonyms: names.dropFirst().map { ExactText($0) })
    }
    var text = TextIndexConfiguration()
    text.categories = try CategoryTree([
      .init(
        name: "cafe", otherNames: ["coffee_shop"],
        names: [names("en", "Café", "Coffee shop"), names("fr", "Café"), names("ja", "カフェ"), names("ru", "Кафе")]),
      .init(name: "museum", names: [names("en", "Museum")]),
    ])
    let store = MemoryStore(text: text)
    let rows = places.enumerated().map { ImportRow(number: $0.offset + 1, id: nil, draft: $0.element) }
    _ = try await store.load(AsyncStream([rows]))
    let driver = ServiceDriver(store: store)
    _ = try await create(
      driver, Self.area("Wien", #","names":{"en":"Vienna","fr":"Vienne","ja":"ウィーン","ru":"Вена"},"importance":0.8"#))
    _ = try await create(driver, Self.area("Vienna", #","importance":0.1"#, west: -80))
    return driver
  }

  private func escaped(_ text: String) -> String {
    text.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? text
  }

  @Test(arguments: [
    "cafe vienna", "Cafés à Vienne", "vienna cafe", "café in Wien!", "ウィーンのカフェ", "カフェ ウィーン", "кафе в Вене",
    "coffee shop vienna",
  ])
  func wordsOfACategoryAndAnAreaFindItsPlacesThere(text: String) async throws {
    let names = try await texts().send(.GET, "/locations?q=\(escaped(text))").names

    #expect(names.prefix(2).sorted() == ["Central", "Demel"] && !names.contains("Far"), "\(names)")
  }

  @Test func placeThatHasTheWordsAsItsNameComesFirst() async throws {
    let driver = try await texts()

    let names = try await driver.send(.GET, "/locations?q=cafe+wien").names
    let sacher = try await driver.send(.GET, "/locations?q=sacher+wien").names
    let typed = try await driver.send(.GET, "/locations?q=cafe+wie&autocomplete=true").names
    let suggested = try await driver.send(.GET, "/locations/suggest?q=sacher+vien").names
    let photon = try await driver.send(.GET, "/api?q=sacher%20vienn")
    let body = try await driver.send(.POST, "/locations/search", json: #"{"q":"sacher wien"}"#).names

    #expect(names.first == "Café Wien" && names.dropFirst().sorted() == ["Central", "Demel"])
    #expect(sacher == ["Hotel Sacher"] && suggested == ["Hotel Sacher"] && body == ["Hotel Sacher"])
    #expect(photon.text.contains("Hotel Sacher"))
    #expect(typed.prefix(2).sorted() == ["Café Wien", "Wiener Cafe Treff"] && typed.contains("Central"))
  }

  @Test func textWithAnAreaInWhichNothingMatchesFindsWhatItFoundBefore() async throws {
    let driver = try await texts()

    let names = try await driver.send(.GET, "/locations?q=cafe+wienn").names
    let museums = try await driver.send(.GET, "/locations?q=museum+wien").names
    let given = try await driver.send(.GET, "/locations?q=cafe+wien&in=Vienna&lat=48.5&long=-79.5").names

    #expect(names.first == "Café Wien")
    #expect(museums.first != "Central")
    #expect(!given.contains("Central"))
  }

  @Test func positionTellsWhichAreaOfANameIsMeant() async throws {
    let driver = try await texts()

    let near = try await driver.send(.GET, "/locations?q=cafe+vienna&lat=48.4&long=-79").names

    #expect(near == ["Amphora"])
  }

  @Test func pagesOfATextWithAnAreaHaveEachPlaceOnce() async throws {
    let driver = try await texts()
    let whole = try await driver.send(.GET, "/locations?q=cafe+wien").names
    for sort in ["", "&sort=distance&lat=48&long=16"] {
      var (names, target): ([String], String?) = ([], "?q=cafe+wien&limit=1" + sort)
      while let query = target, names.count < 10 {
        let response = try await driver.send(.GET, "/locations" + query)
        names += try response.names
        target = response.headers.first(name: "link").map { String($0.dropFirst().prefix { $0 != ">" }) }
      }
      #expect(names.sorted() == whole.sorted(), "\(sort)")
    }
  }

  @Test func changeOfTheAreaEndsItsPagesAndChangesTheTag() async throws {
    let driver = try await texts()
    let first = try await driver.send(.GET, "/locations?q=cafe+vienne&limit=1")
    let next = try #require(first.headers.first(name: "link")).dropFirst().prefix { $0 != ">" }
    let tag = try #require(first.headers.first(name: "etag"))
    let area = try #require(
      try await driver.send(.GET, "/areas?q=vienne").array.first?["id"] as? String)

    let known = try await driver.send(.GET, "/locations?q=cafe+vienne&limit=1", headers: ["if-none-match": tag])
    let moved = try await driver.send(
      .PATCH, "/areas/\(area)",
      json: #"{"geometry":{"type":"Polygon","coordinates":[[[20,48],[21,48],[21,49],[20,48]]]}}"#)
    let second = try await driver.send(.GET, "/locations" + next)
    let after = try await driver.send(.GET, "/locations?q=cafe+vienne&limit=1", headers: ["if-none-match": tag])

    #expect(known.status == 304 && moved.status == 200)
    #expect(second.status == 400, "\(second.text)")
    #expect(try after.status == 200 && after.names == ["Far"])
  }

  // MARK: Bounds

  /// Returns a store of areas with that many positions each.
  private func store(areas count: Int, positions: Int) async throws -> MemoryStore {
    let store = MemoryStore.countingFromOne()
    let rows = try (1...count).map { number in
      let ring = try (0..<positions).map { index in
        let angle = Double(index) / Double(positions) * 2 * .pi
        return try Coordinate(latitude: 48.5 + 0.4 * sin(angle), longitude: 16.5 + 0.4 * cos(angle))
      }
      let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)
      return AreaRow(number: number, id: nil, draft: try AreaDraft(name: "Area \(number)", outline: outline))
    }
    _ = try await AreaEditor(store).importRows(rows)
    return store
  }

  @Test(arguments: ["", "&q=area", "&lat=48.5&long=16.5"])
  func pageOfLongAreasEndsEarlyAndItsLinkLeadsToTheOthers(query: String) async throws {
    let driver = ServiceDriver(store: try await store(areas: 5, positions: 60_000))
    var (ids, pages, target): ([String], Int, String?) = ([], 0, "?f=geojson&limit=1000" + query)
    while let next = target, pages < 9 {
      let response = try await driver.send(.GET, "/areas" + next)
      #expect(response.status == 200 && response.body.count <= PointPage.maximumTextBytes)
      let features = try #require(try response.object["features"] as? [[String: Any]])
      ids += features.compactMap { $0["id"] as? String }
      pages += 1
      target = response.headers.first(name: "link").map { String($0.dropFirst().prefix { $0 != ">" }) }
    }

    #expect(pages > 1)
    #expect(ids.count == 5 && Set(ids).count == 5)
  }

  @Test(arguments: [
    "/areas?f=geojson", "/areas/export", "/areas/export?f=geojsonseq", "/areas/ID", "/areas/ID?f=geojson",
  ])
  func textOfALongAreaIsMadeInPieces(target: String) async throws {
    let store = try await store(areas: 1, positions: 30_000)
    let id = try #require(try await store.areas(isCurrent: true).all.first?.id)
    let response = try await ServiceDriver.respond(
      .GET, target.replacingOccurrences(of: "ID", with: id.description), store: store)
    let lengths = Mutex<[Int]>([])
    guard case .stream(_, let body) = response.body else {
      Issue.record("the text is whole")
      return
    }

    try await body(HTTPResponseWriter { bytes in lengths.withLock { $0.append(bytes.readableBytes) } })

    #expect(lengths.withLock { $0.reduce(0, +) } > 500_000)
    #expect(lengths.withLock { $0.allSatisfy { $0 < 64 * 1024 } })
  }

  @Test func longAreaIsCompressedAsItIsSent() async throws {
    let store = try await store(areas: 1, positions: 30_000)
    let id = try #require(try await store.areas(isCurrent: true).all.first?.id)
    let driver = ServiceDriver(store: store)

    let plain = try await driver.send(.GET, "/areas/\(id)")
    let packed = try await driver.send(.GET, "/areas/\(id)", headers: ["accept-encoding": "gzip"])

    #expect(packed.headers.first(name: "content-encoding") == "gzip")
    #expect(packed.headers.first(name: "etag") != plain.headers.first(name: "etag"))
    let decoder = try GzipDecoder()
    var (rest, text): (Data, [UInt8]) = (packed.body, [])
    while !rest.isEmpty {
      let (taken, output) = try rest.withUnsafeBytes { try decoder.decode($0, atMost: 1 << 16) }
      rest = rest.dropFirst(taken)
      text += output
    }
    #expect(Data(text) == plain.body)
  }

  @Test func patchWithoutPositionsKeepsThem() async throws {
    let driver = try await driver()
    let id = try await create(driver, Self.area("A"))
    func patch(_ json: String) async throws -> ServiceDriver.Response {
      try await driver.send(.PATCH, "/areas/\(id)", json: json)
    }

    let renamed = try await patch(#"{"name":"B","geometry":{"type":"Polygon"}}"#)
    let moved = try await patch(#"{"geometry":{"coordinates":[[[1,2],[3,2],[3,4],[1,2]]]}}"#)
    let retyped = try await patch(#"{"geometry":{"type":"MultiPolygon"}}"#)
    let removed = try await patch(#"{"geometry":null}"#)

    #expect(renamed.status == 200 && renamed.text.contains(Self.square) && renamed.text.contains(#""name":"B""#))
    #expect(moved.status == 200 && moved.text.contains("[[[1,2],[3,2],[3,4],[1,2]]]"), "\(moved.text)")
    #expect(retyped.status == 422 && retyped.text.contains("/geometry"), "\(retyped.text)")
    #expect(removed.status == 422 && removed.text.contains("/geometry"), "\(removed.text)")
  }

  @Test func importThatExpandsGreatlyIsTooLarge() async throws {
    let driver = try await driver()
    var packed: [UInt8] = []
    let encoder = try GzipEncoder()
    let spaces = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
    for _ in 0..<18 { spaces.withUnsafeBytes { encoder.encode($0, into: &packed) } }
    encoder.finish(into: &packed)

    let response = try await driver.send(
      .POST, "/areas/import", headers: ["content-type": "application/geo+json", "content-encoding": "gzip"],
      body: ByteBuffer(bytes: packed))

    #expect(response.status == 413, "\(response.text)")
    #expect(try response.code == "body-too-large")
  }

  /// Returns a store with an area of 50,000 edges, all of which are around 40.001, 10.
  private func storeOfStar(_ kind: AreaKind) async throws -> MemoryStore {
    let store = MemoryStore.countingFromOne()
    let ring = try (0..<50_000).map { index in
      let (sign, shift) = (index.isMultiple(of: 2) ? -1.0 : 1.0, Double(index) * 1e-7)
      return try Coordinate(latitude: 40 + sign * 0.02 + shift, longitude: 10 + sign * 0.02)
    }
    let outline = try AreaOutline(polygons: [[ring]], isMultiple: false)
    _ = try await AreaEditor(store).create(try AreaDraft(name: "Star", kind: kind, outline: outline), once: nil)
    return store
  }

  @Test(arguments: [
    "/areas?q=star", "/areas?lat=40.001&long=10", "/areas?q=star&lat=40.001&long=10", "/locations/ID/areas",
    "/locations/reverse?lat=40.001&long=10", "/locations?q=inside&fields=label", "/locations/suggest?q=insid",
    "/api?q=star&layer=city", "/api?q=inside&countrycode=at", "/structured?countrycode=at",
    "/reverse?lat=40.001&lon=10", "/reverse?lat=40.001&lon=10&layer=city",
    "/nominatim/search?q=star&countrycodes=at", "/nominatim/search?q=star&featureType=city",
    "/nominatim/reverse?lat=40.001&lon=10", "/nominatim/reverse?lat=40.001&lon=10&zoom=10",
  ])
  func searchOfAreasEndsAtTheDeadlineOfItsComputation(target: String) async throws {
    let store = try await storeOfStar(.city)
    let place = try await store.create(.at(40.001, 10, name: "Inside"), once: nil)
    let driver = ServiceDriver(store: store)
    let target = target.replacingOccurrences(of: "ID", with: place.id.description)

    let response = try await ComputationDeadline.$current.withValue(.now) { try await driver.send(.GET, target) }

    #expect(response.status == 503, "\(response.text)")
    #expect(try response.code == "filter-timeout")
  }

  @Test func addressesInAreasOfManyEdgesAreNotLookedUpOnTheEventLoop() async throws {
    let areas = try await storeOfStar(.city).areas(isCurrent: true)
    let custom = try await storeOfStar(.custom).areas(isCurrent: true)
    let (place, other) = (try Coordinate(latitude: 40.001, longitude: 10), try Coordinate(latitude: 1, longitude: 1))

    let completing: RequestAreas? = RequestAreas(areas, completesAddresses: true)
    let naming: RequestAreas? = RequestAreas(areas)
    // No address has areas of this kind.
    let ofOtherKind: RequestAreas? = RequestAreas(custom, completesAddresses: true)
    let none: RequestAreas? = nil

    #expect(!completing.lookUp([place]))
    #expect(completing.lookUp([other]))
    #expect(naming.lookUp([place]))
    #expect(ofOtherKind.lookUp([place]))
    #expect(none.lookUp([place]))
  }

  /// Areas that can't be read.
  private struct UnavailableAreas: AreaStore {
    func areas(isCurrent: Bool, notBefore position: String?) async throws(PointStoreError) -> Areas {
      throw .unavailable(reason: "away")
    }
    func recentAreas() -> Areas? { nil }
    func commit(
      _ change: AreaChange, onto version: Int64, for client: String?
    ) async throws(PointStoreError) -> Areas? { nil }
    func record(of key: IdempotencyKey) async throws(PointWriteError) -> IdempotencyRecord? { nil }
  }

  @Test(
    arguments: [
      ("/locations", nil, 200), ("/locations?q=inside", nil, 200), ("/locations?q=inside&fields=label", nil, 200),
      ("/locations/suggest?q=insi", nil, 200), ("/locations/reverse?lat=48.5&long=16.5", nil, 200),
      ("/api?q=inside", nil, 200), ("/nominatim/reverse?lat=48.5&lon=16.5", nil, 200),
      ("/locations/search", #"{"q":"inside"}"#, 200), ("/locations?in=Wien", nil, 503),
      ("/locations/search", #"{"in":"Wien"}"#, 503), ("/categories?in=Wien", nil, 400),
    ] as [(String, String?, Int)])
  func onlyNamedAreasAreRequired(target: String, body: String?, status: Int) async throws {
    let store = MemoryStore.countingFromOne()
    _ = try await store.create(.at(48.5, 16.5, name: "Inside"), once: nil)
    var api = LocationsAPI.Configuration(service: PointsService(store: store), version: "1.2.3")
    api.areas = UnavailableAreas()
    let driver = ServiceDriver(LocationsAPI(api))

    let response =
      if let body { try await driver.send(.POST, target, json: body) } else { try await driver.send(.GET, target) }

    #expect(response.status == status, "\(response.text)")
  }

  // MARK: Replacement of a data set

  @Test func replacedSourceLosesTheAreasThatNoRowMeans() async throws {
    let driver = try await driver()
    func rows(_ ids: some Sequence<Int>) -> String {
      ids.map { Self.area("A\($0)", #","source":"s","sourceId":"\#($0)""#) }.joined(separator: "\n")
    }
    func importing(_ ids: some Sequence<Int>, _ query: String = "") async throws -> ServiceDriver.Response {
      try await driver.send(
        .POST, "/areas/import" + query, headers: ["content-type": "application/x-ndjson"], json: rows(ids))
    }
    _ = try await create(driver, Self.area("Other"))
    _ = try await importing(1...20)

    let tried = try await importing(1...18, "?replaceSource=s&dryRun=true")
    let refused = try await importing(1...2, "?replaceSource=s")
    let empty = try await importing([], "?replaceSource=s")
    let replaced = try await importing(3...21, "?replaceSource=s")
    let allowed = try await importing(21...21, "?replaceSource=s&maxDeletions=100%25")
    let invalid = try await importing(1...2, "?maxDeletions=7")

    #expect(try tried.object["deleted"] as? Int == 2, "\(tried.text)")
    #expect(refused.status == 422 && refused.text.contains("18 of the 20 areas of the source 's'"), "\(refused.text)")
    #expect(empty.status == 422, "\(empty.text)")
    #expect(try replaced.object["deleted"] as? Int == 2 && replaced.object["created"] as? Int == 1, "\(replaced.text)")
    #expect(try allowed.object["deleted"] as? Int == 18, "\(allowed.text)")
    #expect(invalid.status == 400 && invalid.text.contains("maxDeletions"))
    #expect(try await driver.send(.GET, "/areas").array.count == 2)
  }

  @Test func areaOfTwoHundredThousandPositionsIsImportedAndSearched() async throws {
    let driver = try await driver()
    let ring = (0..<200_000).map { index in
      let angle = Double(index) / 200_000 * 2 * .pi
      return "[\(16.5 + 0.4 * cos(angle)),\(48.5 + (0.3 + 0.001 * Double(index % 2)) * sin(angle))]"
    }
    let json =
      #"[{"name":"Large","geometry":{"type":"Polygon","coordinates":[[\#((ring + ring.prefix(1)).joined(separator: ","))]]}}]"#

    let imported = try await driver.send(.POST, "/areas/import", json: json)
    let found = try await driver.send(.GET, "/locations?in=large")

    #expect(try imported.object["created"] as? Int == 1, "\(imported.text)")
    #expect(try found.names == ["Inside"])
  }
}
