import Basics
import Foundation
import Geo
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI
@testable import Photon

@Suite struct PhotonTests {
  private static func place(
    _ latitude: Double, _ longitude: Double, _ name: String, _ category: String?, id: String? = nil,
    tags: KeyValuePairs<String, String> = [:]
  ) throws -> PointDraft {
    try PointDraft(
      name: name, category: category, coordinate: .init(latitude: latitude, longitude: longitude), tags: Tags(tags),
      source: id == nil ? nil : "osm", sourceID: id)
  }

  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      Self.place(
        53.076, 8.807, "Rathaus", "townhall", id: "way/123",
        tags: [
          "amenity": "townhall", "addr:street": "Am Markt", "addr:housenumber": "21", "addr:postcode": "28195",
          "addr:city": "Bremen", "addr:country": "DE", "addr:suburb": "Mitte", "addr:state": "Bremen",
          "name:en": "Town Hall",
        ]),
      Self.place(53.077, 8.807, "Rathaus Apotheke", "pharmacy", tags: ["amenity": "pharmacy"]),
      Self.place(53.078, 8.807, "Rathaus Museum", "museum"),
      Self.place(53.5, 8.0, "Rathausen", "place:village", tags: ["place": "village"]),
    ])
  }

  private func features(_ response: ServiceDriver.Response) throws -> [[String: Any]] {
    #expect(response.status == 200)
    let object = try response.object
    #expect(object["type"] as? String == "FeatureCollection")
    return try #require(object["features"] as? [[String: Any]])
  }

  private func properties(_ response: ServiceDriver.Response) throws -> [[String: Any]] {
    try features(response).compactMap { $0["properties"] as? [String: Any] }
  }

  private func names(_ response: ServiceDriver.Response) throws -> [String] {
    try properties(response).compactMap { $0["name"] as? String }
  }

  @Test func searchHasPhotonsProperties() async throws {
    let response = try await driver().send(.GET, "/api?q=rathaus&limit=1&lat=53.076&lon=8.807")

    let feature = try #require(try features(response).first)
    let geometry = try #require(feature["geometry"] as? [String: Any])
    let properties = try #require(feature["properties"] as? [String: Any])
    #expect(response.headers["content-type"].first?.hasPrefix("application/json") == true)
    #expect(geometry["type"] as? String == "Point")
    #expect(geometry["coordinates"] as? [Double] == [8.807, 53.076])
    #expect(properties["osm_id"] as? Int == 123)
    let texts = properties.compactMapValues { $0 as? String }
    #expect(
      texts == [
        "osm_type": "W", "osm_key": "amenity", "osm_value": "townhall", "type": "house", "name": "Rathaus",
        "housenumber": "21", "street": "Am Markt", "postcode": "28195", "city": "Bremen", "district": "Mitte",
        "state": "Bremen", "country": "Germany", "countrycode": "DE",
      ])
  }

  @Test(arguments: [
    ("osm_tag=amenity:pharmacy", ["Rathaus Apotheke"]), ("osm_tag=amenity", ["Rathaus", "Rathaus Apotheke"]),
    ("osm_tag=:museum", ["Rathaus Museum"]), ("osm_tag=!amenity", ["Rathaus Museum", "Rathausen"]),
    ("osm_tag=!amenity:pharmacy", ["Rathaus", "Rathaus Museum", "Rathausen"]),
    ("osm_tag=amenity:!pharmacy", ["Rathaus", "Rathaus Museum", "Rathausen"]),
    ("osm_tag=:!museum", ["Rathaus", "Rathaus Apotheke", "Rathausen"]),
    ("osm_tag=tourism:museum&osm_tag=amenity:pharmacy", ["Rathaus Apotheke", "Rathaus Museum"]),
    ("osm_tag=amenity&osm_tag=:!pharmacy", ["Rathaus"]), ("layer=city", ["Rathausen"]),
    ("layer=city&layer=house", ["Rathaus", "Rathaus Apotheke", "Rathaus Museum", "Rathausen"]),
    ("bbox=8.8,53,8.9,53.0765", ["Rathaus"]), ("layer=street", []),
    ("", ["Rathaus", "Rathaus Apotheke", "Rathaus Museum", "Rathausen"]),
  ])
  func searchIsFiltered(query: String, expected: [String]) async throws {
    let response = try await driver().send(.GET, "/api?q=rathaus&\(query)")

    #expect(try names(response).sorted() == expected)
  }

  @Test(arguments: [
    ("countrycode=de", ["Rathaus"]), ("countrycode=AT", []), ("countrycode=AT&countrycode=DE", ["Rathaus"]),
    ("include=osm.amenity", ["Rathaus", "Rathaus Apotheke"]),
    ("include=osm.amenity.pharmacy,osm.tourism.museum", ["Rathaus Apotheke", "Rathaus Museum"]),
    ("include=osm.amenity&include=osm.amenity.townhall", ["Rathaus"]),
    ("exclude=osm.amenity", ["Rathaus Museum", "Rathausen"]),
    ("exclude=osm.amenity,osm.amenity.townhall", ["Rathaus Apotheke", "Rathaus Museum", "Rathausen"]),
    ("exclude=osm.amenity.townhall&exclude=osm.tourism", ["Rathaus Apotheke", "Rathausen"]),
    ("include=other.amenity", []),
  ])
  func searchIsFilteredByCountriesAndCategories(query: String, expected: [String]) async throws {
    let response = try await driver().send(.GET, "/api?q=rathaus&\(query)")

    #expect(try names(response).sorted() == expected)
  }

  @Test func categoriesAloneFindTheNearestPlaces() async throws {
    let response = try await driver().send(.GET, "/api?include=osm.amenity,osm.place&lat=53.5&lon=8")

    #expect(try names(response) == ["Rathausen", "Rathaus Apotheke", "Rathaus"])
  }

  @Test(arguments: [
    "/api?q=a&countrycode=DEU", "/api?q=a&include=osm", "/api?q=a&include=", "/api?q=a&exclude=a.b.c.d.e",
    "/api?q=a&include=osm.a%20b", "/api", "/structured", "/structured?city=-", "/structured?q=a",
    "/structured?city=a&city=b",
  ])
  func invalidFiltersAreRejected(target: String) async throws {
    let response = try await driver().send(.GET, target)

    #expect(response.status == 400, "\(response.text)")
  }

  @Test func streetsOfOneNameAndPostalCodeAreOne() async throws {
    let street = ["highway": "residential", "addr:postcode": "1010", "addr:country": "AT"] as KeyValuePairs
    let driver = try await ServiceDriver(places: [
      Self.place(48.2, 16.37, "Gasse", nil, tags: street), Self.place(48.2, 16.38, "Gasse", nil, tags: street),
      Self.place(48.2, 16.39, "Gasse", nil, tags: ["highway": "residential", "addr:postcode": "1020"]),
      Self.place(48.2, 16.4, "Gasse", "bus_stop"), Self.place(48.2, 16.4, "Gasse", "bus_stop"),
    ])

    #expect(try names(try await driver.send(.GET, "/api?q=gasse")).count == 4)
    #expect(try names(try await driver.send(.GET, "/api?q=gasse&dedupe=0")).count == 5)
    #expect(try names(try await driver.send(.GET, "/api?q=gasse&dedupe=true&layer=street")).count == 2)
  }

  @Test(arguments: [
    ("street=am%20markt&housenumber=21", ["Rathaus"]), ("street=Am%20Markt&city=BREMEN", ["Rathaus"]),
    ("street=am%20markt&city=berlin", []), ("street=am%20markt&housenumber=22", []), ("postcode=28195", ["Rathaus"]),
    ("postcode=28195&countrycode=AT", []), ("city=rathausen", ["Rathausen"]),
    ("housenumber=21&state=bremen", ["Rathaus"]),
    ("city=rathaus", []),
  ])
  func addressIsFoundByItsParts(query: String, expected: [String]) async throws {
    let response = try await driver().send(.GET, "/structured?\(query)")

    #expect(try names(response) == expected)
  }

  @Test func layersFindAreasToo() async throws {
    let driver = try await driver()
    let square = #"{"type":"Polygon","coordinates":[[[8.7,53],[8.9,53],[8.9,53.2],[8.7,53.2],[8.7,53]]]}"#
    for (name, kind) in [("Bremen", "city"), ("Germany", "country"), ("28195", "postcode")] {
      let tags = kind == "country" ? #"{"ISO3166-1:alpha2":"DE"}"# : "{}"
      let response = try await driver.send(
        .POST, "/areas",
        json: #"{"name":"\#(name)","names":{"fr":"\#(name)-fr"},"kind":"\#(kind)","tags":\#(tags),"source":"osm","#
          + #""sourceId":"relation/\#(name.count)","geometry":\#(square)}"#)
      #expect(response.status == 201, "\(response.text)")
    }

    let city = try await driver.send(.GET, "/api?q=bremen&layer=city")
    let properties = try properties(city)
    #expect(properties.first?["osm_type"] as? String == "R" && properties.first?["type"] as? String == "city")
    #expect(properties.first?["countrycode"] as? String == "DE", "\(city.text)")
    #expect(try names(try await driver.send(.GET, "/api?q=bremen")).contains("Bremen") == false)
    let around = try await driver.send(.GET, "/reverse?lat=53.1&lon=8.8&layer=city&layer=country&limit=5&lang=fr")
    #expect(try names(around).sorted() == ["Bremen-fr", "Germany-fr"], "\(around.text)")
    #expect(try names(try await driver.send(.GET, "/structured?city=bremen&countrycode=de")) == ["Bremen"])
    #expect(try names(try await driver.send(.GET, "/structured?countrycode=DE")) == ["Germany"])
    #expect(try names(try await driver.send(.GET, "/api?q=bremen&layer=city&bbox=0,0,1,1")).isEmpty)
    // The name of the area in another language than that of the address.
    #expect(try names(try await driver.send(.GET, "/structured?street=am%20markt&city=bremen-fr")) == ["Rathaus"])
    // The area says in which city and country a place without an address is.
    #expect(
      try names(try await driver.send(.GET, "/api?q=rathaus&countrycode=DE")).sorted() == [
        "Rathaus", "Rathaus Apotheke", "Rathaus Museum",
      ])
  }

  @Test(
    arguments: [
      ("limit=1", [.country, .region, .city, .district]), ("layer=city&layer=state", [.region, .city]),
      ("layer=house", []),
      ("osm_tag=amenity", []), ("osm_tag=place", [.country, .region, .city, .district]), ("osm_tag=:city", [.city]),
      ("osm_tag=!place:city&layer=city", []), ("osm_tag=place:!city", [.country, .region, .district]),
      ("exclude=osm.place.district", [.country, .region, .city]), ("exclude=osm.place", []),
      ("include=osm.place.state", [.region]), ("include=osm.place.state&layer=city", []),
    ] as [(String, [AreaKind])])
  func areasOfKindsThatNoConditionExcludesAreSearched(query: String, kinds: [AreaKind]) throws {
    var arguments = try PhotonArguments(
      ServiceDriver.request(.GET, "/api?q=a&\(query)"), allowing: PhotonArguments.searchParameters)
    let filter = arguments.filter()
    var searched: [[AreaKind]] = []

    _ = try [PhotonPlace]().addingAreas(filter, limit: 1, in: nil) { kinds in
      searched.append(kinds)
      return []
    }

    #expect(searched == (kinds.isEmpty ? [] : [kinds]))
  }

  @Test(arguments: AreaKind.allCases)
  func placeOfAnAreaHasTheMainTagOfItsLayer(kind: AreaKind) throws {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    let area = Area(
      id: PointID(high: 1, low: 2), draft: try .sample("A", names: ["en": "B"], kind: kind), version: 1,
      createdAt: time, updatedAt: time)

    let place = PhotonPlace(area)

    #expect(place?.layer == PhotonLayer(kind))
    #expect(place?.mainTag == PhotonLayer(kind).map(PhotonPlace.mainTag(ofAreasIn:)))
  }

  @Test(arguments: [
    ("q=ort&layer=city&countrycode=at", ["Ort 1", "Ort 2"]), ("q=ort&layer=city&countrycode=de", []),
    ("q=ort&layer=city&countrycode=at&osm_tag=:city", ["Ort 1", "Ort 2"]),
    ("q=ort&layer=city&countrycode=at&osm_tag=:state", []),
  ])
  func areasAreFilteredByTheCountryAroundThem(query: String, expected: [String]) async throws {
    let store = MemoryStore()
    let editor = AreaEditor(store)
    let country = try AreaDraft.sample("Land", degrees: 5, kind: .country)
    _ = try await editor.create(
      try AreaDraft(
        name: country.name, kind: .country, outline: country.outline, tags: Tags(["ISO3166-1": "AT"] as KeyValuePairs)),
      once: nil)
    for (name, latitude) in [("Ort 1", 48.0), ("Ort 2", 49), ("Ort 3", 60)] {
      _ = try await editor.create(.sample(name, latitude: latitude, kind: .city), once: nil)
    }

    let response = try await ServiceDriver(store: store).send(.GET, "/api?\(query)")

    #expect(try names(response).sorted() == expected)
  }

  @Test func lastWordMayBeTheBeginningOfAWord() async throws {
    let driver = try await ServiceDriver(places: [
      Self.place(48.2, 16.37, "Bergmannstüberl", nil), Self.place(0, 0, "Ber", nil),
    ])

    let response = try await driver.send(.GET, "/api?q=ber&lat=48.2&lon=16.37")

    // As the beginning of a word it fits the near place as well.
    #expect(try names(response) == ["Bergmannstüberl", "Ber"])
  }

  /// A store without an index that records how many places are read.
  private final class CountedPages: ForwardingStore {
    let store: MemoryStore
    let limits = Mutex<[Int]>([])

    init(_ store: MemoryStore) {
      self.store = store
    }

    var index: (any StoreIndex)? { nil }

    func page(matching query: PointQuery) async throws(PointStoreError) -> PointPage {
      limits.withLock { $0.append(query.limit) }
      return try await store.page(matching: query)
    }
  }

  @Test(arguments: [("limit=3", [3]), ("limit=100&osm_tag=:museum", [200]), ("limit=50&osm_tag=:cafe", [200])])
  func noMorePagesAreReadThanTheLimitNeeds(query: String, limits: [Int]) async throws {
    let store = MemoryStore()
    for number in 0..<300 {
      let category = number % 2 == 0 ? "museum" : "cafe"
      _ = try await store.create(Self.place(0, Double(number) / 10_000, "Stop", category), once: nil)
    }
    let pages = CountedPages(store)

    let response = try await ServiceDriver(writing: pages).send(.GET, "/reverse?lat=0&lon=0&radius=100&\(query)")

    #expect(response.status == 200)
    #expect(pages.limits.withLock { $0 } == limits)
  }

  @Test func searchOfSeveralPagesIsRecordedOnce() async throws {
    let store = MemoryStore()
    for number in 0..<450 {
      _ = try await store.create(Self.place(0, Double(number) / 10_000, "Stop", "cafe"), once: nil)
    }
    let searches = SearchCounter()
    let service = PointsService(store: store, analytics: searches)
    let driver = ServiceDriver(LocationsAPI(.init(service: service, version: "1")))

    for target in ["/api?q=stop&osm_tag=:museum", "/reverse?lat=0&lon=0&radius=100&osm_tag=:museum"] {
      #expect(try names(try await driver.send(.GET, target)).isEmpty)
    }

    #expect(searches.count == 2)
  }

  @Test(arguments: ["/api?q=stop&osm_tag=:museum", "/reverse?lat=0&lon=0&osm_tag=:museum"])
  func filteredSearchEndsAtTheDeadlineOfItsComputation(target: String) async throws {
    let driver = try await ServiceDriver(places: [Self.place(0, 0, "Stop", "cafe")])

    let response = try await ComputationDeadline.$current.withValue(.now) { try await driver.send(.GET, target) }

    #expect(response.status == 503)
    #expect(try response.code == "filter-timeout")
  }

  @Test func filteredSearchLooksBehindTheFirstPage() async throws {
    let places = try (0..<300).map { number in
      try Self.place(0, Double(number) / 1000, "Stop", number == 299 ? "museum" : "cafe")
    }
    let driver = try await ServiceDriver(places: places)

    let search = try await driver.send(.GET, "/api?q=stop&osm_tag=tourism:museum")
    let reverse = try await driver.send(.GET, "/reverse?lat=0&lon=0&radius=100&osm_tag=:museum")

    #expect(try names(search).count == 1)
    #expect(try names(reverse).count == 1)
  }

  @Test(arguments: [(1_999, 1), (2_000, 0)])
  func filteredSearchExamines2000Places(index: Int, count: Int) async throws {
    let places = try (0..<2_100).map { number in
      try Self.place(0, Double(number) / 10_000, "Stop", number == index ? "museum" : "cafe")
    }
    let driver = try await ServiceDriver(places: places)

    let response = try await driver.send(.GET, "/reverse?lat=0&lon=0&radius=100&osm_tag=:museum")

    #expect(try names(response).count == count)
  }

  @Test func filteredSearchHasAtMostAsManyPlacesAsItsLimit() async throws {
    let driver = try await ServiceDriver(
      places: try (0..<5).map { try Self.place(0, Double($0) / 1000, "Stop", "cafe") })

    for target in ["/api?q=stop&osm_tag=:cafe&limit=2", "/reverse?lat=0&lon=0&radius=100&osm_tag=:cafe&limit=2"] {
      #expect(try names(try await driver.send(.GET, target)).count == 2)
    }
  }

  @Test func reverseIsTheNearestPlaceWithinAKilometre() async throws {
    let driver = try await driver()

    let one = try await driver.send(.GET, "/reverse?lat=53.0771&lon=8.807")
    let three = try await driver.send(.GET, "/reverse?lat=53.0771&lon=8.807&limit=10")
    let wide = try await driver.send(.GET, "/reverse?lat=53.0771&lon=8.807&limit=10&radius=100")
    let none = try await driver.send(.GET, "/reverse?lat=53.0915&lon=8.807")

    #expect(try names(one) == ["Rathaus Apotheke"])
    #expect(try names(three).count == 3)
    #expect(try names(wide).count == 4)
    #expect(try names(none).isEmpty)
  }

  @Test(arguments: [("lang=en", [:]), ("", ["accept-language": "en"])] as [(String, HTTPHeaders)])
  func languageIsOfTheParameterOrTheHeader(query: String, headers: HTTPHeaders) async throws {
    let response = try await driver().send(
      .GET, "/reverse?lat=53.076&lon=8.807&\(query)", headers: headers)

    #expect(try names(response) == ["Town Hall"])
    #expect(response.headers["content-language"] == ["en"])
  }

  @Test func languageDefaultStandsForTheOwnName() async throws {
    let driver = try await ServiceDriver(places: [Self.place(0, 0, "A", nil, tags: ["name:default": "B"])])

    let response = try await driver.send(.GET, "/reverse?lat=0&lon=0&lang=default")

    #expect(try names(response) == ["A"])
  }

  @Test func countryWithoutACodeIsNamedAsItsTagSays() async throws {
    let driver = try await ServiceDriver(places: [Self.place(0, 0, "A", nil, tags: ["addr:country": "Atlantis"])])

    let response = try await driver.send(.GET, "/reverse?lat=0&lon=0")

    #expect(try properties(response).first?["country"] as? String == "Atlantis")
  }

  @Test(arguments: [
    ("de", "Deutschland"), ("de-AT", "Deutschland"), ("de-x-none", "Deutschland"), ("none", "Germany"),
    (nil, "Germany"),
  ])
  func countryIsNamedInTheNearestKnownLanguage(language: String?, name: String) {
    let names = CountryNames()

    #expect(names.name(ofCountry: "DE", language: language) == name)
    #expect(names.name(ofCountry: "DE", language: language) == name)
  }

  @Test func unknownCountryHasNoName() {
    let names = CountryNames()

    #expect(names.name(ofCountry: "QQ", language: "en") == nil)
    #expect(names.name(ofCountry: "QQ", language: "en") == nil)
  }

  @Test func countryIsNamedInTheLanguage() async throws {
    let driver = try await driver()

    let german = try await driver.send(.GET, "/reverse?lat=53.076&lon=8.807&lang=de")
    let own = try await driver.send(
      .GET, "/reverse?lat=53.076&lon=8.807&lang=default", headers: ["accept-language": "en"])

    #expect(try properties(german).first?["country"] as? String == "Deutschland")
    #expect(try names(own) == ["Rathaus"])
  }

  @Test func textWithoutWordsFindsNothing() async throws {
    #expect(try names(try await driver().send(.GET, "/api?q=%21%21")).isEmpty)
    // Nothing is searched for then, so that no index is needed.
    let unindexed = ServiceDriver(writing: UnindexedStore(store: MemoryStore()))
    #expect(try names(try await unindexed.send(.GET, "/api?q=%21%21")).isEmpty)
  }

  @Test func greaterLimitCountsAsTheMaximum() async throws {
    let driver = try await ServiceDriver(places: (0..<120).map { try Self.place(0, Double($0) / 100, "Stop", nil) })

    #expect(try names(try await driver.send(.GET, "/api?q=stop&limit=100000")).count == 100)
    #expect(try names(try await driver.send(.GET, "/api?q=stop&limit=23894202653905309696")).count == 100)
    #expect(try names(try await driver.send(.GET, "/api?q=stop")).count == 15)
  }

  @Test(arguments: [
    ("/api?q=a&zoom=x&lat=1", "invalid-parameter"), ("/api?q=a&long=1&zoom=x", "invalid-parameter"),
    ("/api?lat=1&zoom=x", "missing-parameter"),
  ])
  func problemHasTheCodeOfItsFirstError(target: String, code: String) async throws {
    #expect(try await driver().send(.GET, target).code == code)
  }

  @Test func elementsOfAListMayComeInSeveralParameters() async throws {
    let driver = try await driver()
    let box = "bbox=-180&bbox=-90&bbox=180&bbox=90"

    let response = try await driver.send(.GET, "/api?q=rathaus&lang=ko&lang=fr&\(box)")
    let expected = try await driver.send(.GET, "/api?q=rathaus")

    #expect(response.status == 200)
    #expect(try names(response) == names(expected))
  }

  @Test func textMayHave200Characters() async throws {
    let text = String(repeating: "a", count: 200)

    #expect(try await driver().send(.GET, "/api?q=\(text)").status == 200)
  }

  @Test(arguments: [
    ("/api", ["q"]), ("/api?q=", ["q"]), ("/api?q=a&lat=1", ["lon"]), ("/api?q=a&lon=1", ["lat"]),
    ("/api?q=a&lat=91&lon=1", ["lat"]), ("/api?q=a&zoom=x", ["zoom"]),
    ("/api?q=a&location_bias_scale=x", ["location_bias_scale"]), ("/api?q=a&bbox=1,2,3", ["bbox"]),
    ("/api?q=a&bbox=1,2,3,4,5", ["bbox"]), ("/api?q=a&bbox=1,2,3,91", ["bbox"]),
    ("/api?q=a&limit=x", ["limit"]), ("/api?q=a&osm_tag=", ["osm_tag"]),
    ("/api?q=a&osm_tag=a:", ["osm_tag"]), ("/api?q=a&osm_tag=!a:!b", ["osm_tag"]), ("/api?q=a&layer=planet", ["layer"]),
    ("/api?q=a&lang=e_n", ["lang"]), ("/api?q=a&q=b", ["q"]),
    ("/api?q=a&dedupe=maybe", ["dedupe"]), ("/reverse", ["lat", "lon"]), ("/reverse?lat=1", ["lon"]),
    ("/reverse?lat=1&lon=1&radius=5001", ["radius"]),
    ("/api?q=\(String(repeating: "a", count: 201))", ["q"]),
  ])
  func invalidParametersAreReported(target: String, parameters: [String]) async throws {
    let response = try await driver().send(.GET, target)

    #expect(response.status == 400)
    #expect(try response.parameters == parameters)
  }

  @Test(
    arguments: [
      ("museum", [:], "tourism", "museum", "house"), ("natural:peak", [:], "natural", "peak", "other"),
      ("cafe", [:], "amenity", "cafe", "house"), ("x:y", [:], "amenity", "x:y", "house"),
      (nil, [:], "place", "yes", "house"), ("city", [:], "place", "city", "city"),
      ("a", ["shop": "no", "tourism": "hotel"], "tourism", "hotel", "house"),
      ("a", ["highway": "residential"], "highway", "residential", "street"),
      ("a", ["highway": "bus_stop"], "highway", "bus_stop", "house"),
      ("a", ["place": "suburb"], "place", "suburb", "district"),
      ("a", ["shop": "", "tourism": "hotel"], "tourism", "hotel", "house"),
    ] as [(String?, KeyValuePairs<String, String>, String, String, String)])
  func mainTagIsThatOfOpenStreetMapOrOfTheCategory(
    category: String?, tags: KeyValuePairs<String, String>, key: String, value: String, layer: String
  ) throws {
    let point = point(try Self.place(0, 0, "A", category, tags: tags))

    #expect(point.mainTag.key.text == key)
    #expect(point.mainTag.value.text == value)
    #expect(point.layer.rawValue == layer)
  }

  @Test(arguments: [
    ("node/1", "N", 1), ("w22", "W", 22), ("R333", "R", 333), ("relation/4", "R", 4), ("overture", nil, nil),
    ("node/999999999999999999", "N", 999_999_999_999_999_999), ("node/9999999999999999999", nil, nil),
    ("node/99999999999999999999", nil, nil), ("node/-1", nil, nil),
  ])
  func objectOfOpenStreetMapIsThatOfTheOrigin(id: String, type: String?, number: Int?) async throws {
    let driver = try await ServiceDriver(places: [Self.place(0, 0, "A", nil, id: id)])

    let properties = try #require(try properties(try await driver.send(.GET, "/reverse?lat=0&lon=0")).first)

    #expect(properties["osm_type"] as? String == type)
    #expect(properties["osm_id"] as? Int == number)
  }

  @Test(arguments: [(18, 250.0), (12, 16_000), (0, 65_536_000), (24, 250)])
  func zoomIsTheScaleOfTheBias(zoom: Int, metres: Double) throws {
    let request = ServiceDriver.request(.GET, "/api?q=a&lat=1&lon=2&zoom=\(zoom)&location_bias_scale=1")
    var arguments = try PhotonArguments(request, allowing: PhotonArguments.searchParameters)

    let found = arguments.bias()
    let bias = try #require(found)

    #expect(bias.scaleMetres == metres)
    #expect(bias.weight == 0.5)
  }

  @Test func biasHasPhotonsDefaults() throws {
    var arguments = try PhotonArguments(
      ServiceDriver.request(.GET, "/api?q=a&lat=1&lon=2"), allowing: PhotonArguments.searchParameters)

    let found = arguments.bias()
    let bias = try #require(found)

    #expect(bias.scaleMetres == 16_000)
    #expect(bias.weight == 0.8)
  }

  private func point(_ draft: PointDraft) -> PhotonPlace {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return PhotonPlace(
      PointOfInterest(id: PointID(high: 1, low: 2), draft: draft, version: 1, createdAt: time, updatedAt: time))
  }
}
