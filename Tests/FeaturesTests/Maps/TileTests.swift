import Basics
import CQL2
import Foundation
import Geo
import Gzip
import HTTPServer
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import Maps

@Suite struct TileTests {
  /// A hundred places in a tile of zoom 10 near the equator, and one in another tile.
  private func places() throws -> [PointDraft] {
    var places: [PointDraft] = []
    for number in 0..<100 {
      let (latitude, longitude) = (0.01 + Double(number % 10) / 50, 0.01 + Double(number / 10) / 50)
      let category = number.isMultiple(of: 4) ? "bar" : "cafe"
      let cuisine = number < 7 ? "thai" : "lao"
      places.append(
        try .at(
          latitude, longitude, name: "E\(number)", category: category, tags: ["cuisine": cuisine],
          sourceID: "\(number)"))
    }
    places.append(try .at(50, 50, name: "Far", sourceID: "far"))
    return places
  }

  private static let address = "/tiles/10/512/511.mvt"

  private func driver() async throws -> ServiceDriver { try await ServiceDriver(places: try places()) }

  private func read(_ response: ServiceDriver.Response) throws -> VectorTileReader {
    #expect(response.status == 200, "\(response.text)")
    #expect(response.headers.first(name: "content-type") == "application/vnd.mapbox-vector-tile")
    return try VectorTileReader(response.body)
  }

  @Test func tileHasClustersAndPlaces() async throws {
    let driver = try await driver()

    let (low, high) = (
      try await driver.send(.GET, "/tiles/4/8/7.mvt"), try await driver.send(.GET, "/tiles/14/8192/8191.mvt")
    )

    let clusters = try read(low).clusters
    #expect(try read(low).placeCount == 100)
    #expect(clusters.reduce(0) { $0 + ($1.number("count") ?? 0) } == 100)
    #expect(clusters.allSatisfy { $0.text("category") == "cafe" && $0.text("name")?.first == "E" })
    #expect(clusters.allSatisfy { $0.text("cell")?.hasPrefix("8/128/127") == true })
    let names = try read(high).places.compactMap { $0.text("name") }
    #expect(names == ["E0"])
    #expect(try read(high).places[0].text("category") == "bar")
    #expect(try read(high).places[0].text("cuisine") == nil)
  }

  @Test func tileIsFiltered() async throws {
    let driver = try await driver()

    for (query, count) in [
      ("category=bar", 25), ("tag.cuisine=thai", 7), ("filter=name%20LIKE%20%27E1%25%27", 11),
      ("category=bar&tag.cuisine=thai", 2), ("category=none", 0), ("source=none", 0),
    ] {
      let tile = try read(try await driver.send(.GET, "\(Self.address)?\(query)"))
      #expect(tile.placeCount == count, "\(query)")
    }
    let tagged = try read(try await driver.send(.GET, "/tiles/14/8192/8191.mvt?tags=cuisine,none"))
    #expect(tagged.places.compactMap { $0.text("cuisine") } == ["thai"])
  }

  @Test func tileHasThePlacesThatMatchAText() async throws {
    let driver = try await driver()

    for query in ["q=E77", "q=far", "q=E1&category=bar", "q=cafe%20E1", "q=E4", "q=E1&tag.cuisine=lao", "q=cafee"] {
      let page = try await driver.send(.GET, "/locations?limit=1000&\(query)")
      let found = try #require(try JSONSerialization.jsonObject(with: Data(page.body)) as? [[String: Any]])
      let count = found.count { ($0["name"] as? String)?.hasPrefix("E") == true }
      #expect(try read(try await driver.send(.GET, "\(Self.address)?\(query)")).placeCount == count, "\(query)")
      let facets = try await driver.send(.GET, "/locations/facets?by=category&\(query)").object
      #expect(facets["count"] as? Int == found.count, "\(query)")
    }
    #expect(try read(try await driver.send(.GET, "/tiles/0/0/0.mvt?q=far")).places.map { $0.text("name") } == ["Far"])
    #expect(try read(try await driver.send(.GET, "/tiles/0/0/0.mvt?q=E1")).placeCount >= 11)
    #expect(try read(try await driver.send(.GET, "/tiles/14/8192/8191.mvt?q=E0")).places.count == 1)
  }

  @Test func tagOfATextIsThatOfAllPlaces() async throws {
    let store = MemoryStore.countingFromOne()
    let driver = ServiceDriver(writing: store)
    for place in try places() { _ = try await store.create(place, once: nil) }
    let target = Self.address + "?q=Fat"
    let first = try await driver.send(.GET, target)
    let tag = try #require(first.headers.first(name: "etag"))
    #expect(try await driver.send(.GET, target, headers: ["if-none-match": tag]).status == 304)

    // A place elsewhere that has the word itself.
    _ = try await store.create(try .at(-50, 50, name: "Fat", sourceID: "fat"), once: nil)

    #expect(try await driver.send(.GET, target, headers: ["if-none-match": tag]).status == 200)
  }

  @Test(arguments: ["q=", "q=%20", "q=!", "q=a&q=b", "q=" + String(repeating: "a", count: 201)])
  func textWithoutAWordIsRejected(query: String) async throws {
    let driver = try await driver()

    for target in [
      "\(Self.address)?", "/tiles.json?", "/locations/clusters?zoom=3&", "/locations/facets?by=category&",
    ] {
      let response = try await driver.send(.GET, target + query)
      #expect(response.status == 400)
      #expect(try response.parameters == ["q"])
    }
  }

  @Test func tileHasTheEntityTagOfItsContent() async throws {
    let store = MemoryStore.countingFromOne()
    let driver = ServiceDriver(writing: store)
    let points = try places()
    var created: [PointOfInterest] = []
    for place in points { created.append(try await store.create(place, once: nil)) }
    func tag(_ target: String = Self.address) async throws -> String {
      try #require(try await driver.send(.GET, target).headers.first(name: "etag"))
    }
    func status(_ tag: String, _ target: String = Self.address) async throws -> Int {
      try await driver.send(.GET, target, headers: ["if-none-match": tag]).status
    }

    let first = try await tag()
    #expect(try await status(first) == 304)
    #expect(try await status("\"x\", \(first)") == 304)
    #expect(try await status("*") == 304)
    #expect(try await status(first, Self.address + "?category=bar") == 304)
    // A change elsewhere.
    _ = try await store.put(try .at(50, 50.1, name: "Far", sourceID: "far"), id: created[100].id, if: .none)
    #expect(try await status(first) == 304)
    #expect(try await tag("/tiles/0/0/0.mvt") != first)
    // A change inside.
    _ = try await store.put(try .at(0.15, 0.01, name: "New", sourceID: "7"), id: created[7].id, if: .none)
    #expect(try await status(first) == 200)
    let second = try await tag()
    try await store.delete(id: created[8].id, if: .none)
    #expect(try await status(second) == 200)
    #expect(try await status(try await tag()) == 304)
  }

  @Test func repeatedRequestsGetTheTileOfTheMoment() async throws {
    let store = MemoryStore.countingFromOne()
    let driver = ServiceDriver(writing: store)
    for place in try places() { _ = try await store.create(place, once: nil) }
    func bodies() async throws -> (plain: ServiceDriver.Response, compressed: ServiceDriver.Response) {
      let compressed = try await driver.send(.GET, Self.address, headers: ["accept-encoding": "gzip"])
      return (try await driver.send(.GET, Self.address), compressed)
    }

    let (first, second) = (try await bodies(), try await bodies())
    _ = try await store.create(try .at(0.15, 0.01, name: "New", sourceID: "new"), once: nil)
    let third = try await bodies()

    #expect(first.plain.body == second.plain.body && first.compressed.body == second.compressed.body)
    #expect(first.plain.headers == second.plain.headers && first.compressed.headers == second.compressed.headers)
    #expect(second.compressed.headers.first(name: "content-encoding") == "gzip")
    #expect(second.plain.headers.first(name: "content-encoding") == nil)
    #expect(try read(second.plain).placeCount == 100)
    #expect(try read(third.plain).placeCount == 101)
    #expect(third.compressed.body != second.compressed.body)
    #expect(third.compressed.headers["etag"] == third.plain.headers["etag"])
  }

  /// The version of the second tile is that of its places, which are visited for it unless the tile is kept.
  @Test(arguments: ["/tiles/0/0/0.mvt", "/tiles/14/8192/8191.mvt"])
  func keptTileIsConfirmedWithItsFields(address: String) async throws {
    let driver = try await driver()

    let drawn = try await driver.send(.GET, address)
    let kept = try await driver.send(.GET, address)
    let tag = try #require(drawn.headers.first(name: "etag"))
    let confirmed = try await driver.send(.GET, address, headers: ["if-none-match": tag])

    #expect(drawn.status == 200 && kept.body == drawn.body && kept.headers == drawn.headers)
    #expect(confirmed.status == 304 && confirmed.body.isEmpty)
    for name in ["etag", "cache-control", "vary"] { #expect(confirmed.headers[name] == drawn.headers[name], "\(name)") }
  }

  @Test func tileIsCompressedOnRequest() async throws {
    let driver = try await driver()

    let plain = try await driver.send(.GET, Self.address)
    let gzip = try await driver.send(.GET, Self.address, headers: ["accept-encoding": "gzip, deflate, br"])

    #expect(gzip.headers.first(name: "content-encoding") == "gzip")
    #expect(gzip.body.starts(with: [0x1F, 0x8B]))
    #expect(gzip.body.count < plain.body.count)
    #expect(gzip.headers.first(name: "etag") == plain.headers.first(name: "etag"))
    #expect(gzip.headers.first(name: "vary")?.contains("accept-encoding") == true)
  }

  @Test(arguments: [
    "/tiles/23/0/0.mvt", "/tiles/0/1/0.mvt", "/tiles/0/0/1.mvt", "/tiles/3/8/0.mvt", "/tiles/-1/0/0.mvt",
    "/tiles/01/0/0.mvt", "/tiles/a/0/0.mvt", "/tiles/1/+1/0.mvt", "/tiles/22/4194304/0.mvt",
    "/tiles/22/99999999999999999999/0.mvt", "/tiles/0/0/0.png", "/tiles/0/0/.mvt", "/tiles/0/0/0",
  ])
  func tileOutsideOfTheLevelIsNotFound(target: String) async throws {
    #expect(try await driver().send(.GET, target).status == 404)
  }

  @Test func lastTileOfTheHighestLevelExists() async throws {
    #expect(try await driver().send(.GET, "/tiles/22/4194303/4194303.mvt").body.isEmpty)
  }

  @Test(arguments: [
    ("tags=id", "tags"), ("tags=", "tags"), ("tags=a,,b", "tags"), ("tags=a&tags=", "tags"), ("lat=1&long=1", "lat"),
    ("bbox=1,1,2,2", "bbox"), ("limit=1", "limit"), ("filter=name", "filter"),
    ("tags=" + (0...20).map { "k\($0)" }.joined(separator: ","), "tags"),
  ])
  func invalidParameterIsRejected(query: String, parameter: String) async throws {
    let response = try await driver().send(.GET, "\(Self.address)?\(query)")

    #expect(response.status == 400)
    #expect(try response.parameters.contains(parameter))
  }

  @Test func callsNeedAnIndex() async throws {
    let driver = ServiceDriver(store: StubStore())

    for target in [
      "/tiles/0/0/0.mvt", "/tiles.json", "/locations/clusters?zoom=3", "/locations/facets?by=category",
      "/tiles/0/0/0.mvt?q=a", "/locations/clusters?zoom=3&q=a", "/locations/facets?by=category&q=a",
      "/ogc/collections/places/tiles/WebMercatorQuad/0/0/0",
    ] {
      let response = try await driver.send(.GET, target)
      #expect(response.status == 501)
      #expect(try response.code == "not-implemented")
    }
  }

  @Test func tileSetDescribesTheTiles() async throws {
    let driver = try await driver()

    let response = try await driver.send(
      .GET, "/tiles.json?category=bar&tags=cuisine", headers: ["host": "maps.example:81"])

    let object = try response.object
    #expect(object["tilejson"] as? String == "3.0.0")
    #expect(
      object["tiles"] as? [String]
        == ["http://maps.example:81/tiles/{z}/{x}/{y}.mvt?category=bar&tags=cuisine"])
    #expect(object["minzoom"] as? Int == 0 && object["maxzoom"] as? Int == 22)
    #expect(object["bounds"] as? [Double] == [0.01, 0.01, 50, 50])
    let layers = try #require(object["vector_layers"] as? [[String: Any]])
    #expect(layers.map { $0["id"] as? String } == ["places", "clusters"])
    #expect((layers[0]["fields"] as? [String: String])?.keys.sorted() == ["category", "cuisine", "id", "name"])
  }

  @Test func tileSetHasTheAttributionsAsText() async throws {
    let store = MemoryStore.countingFromOne()
    let driver = ServiceDriver(writing: store)
    let row = "{\"name\":\"A\",\"lat\":1,\"long\":2,\"source\":\"s\",\"sourceId\":\"1\"}\n"
    let response = try await driver.send(
      .POST, "/locations/import?source=s&attribution=%3Cb%3E%26%22A%27",
      headers: ["content-type": "application/x-ndjson"], json: row)
    #expect(response.status == 200, "\(response.text)")

    #expect(try await driver.send(.GET, "/tiles.json").object["attribution"] as? String == "&lt;b&gt;&amp;&quot;A&#39;")
  }
}

@Suite struct ClustersTests {
  private func driver() async throws -> ServiceDriver {
    var places: [PointDraft] = []
    for number in 0..<30 {
      let category = number < 20 ? "cafe" : "bar"
      places.append(
        try .at(
          10 + Double(number) / 1e4, 20, name: "P\(number)", category: category, tags: ["cuisine": "k\(number % 4)"],
          sourceID: "\(number)"))
    }
    places.append(try .at(-40, -70, name: "South", sourceID: "south"))
    return try await ServiceDriver(places: places)
  }

  private func features(_ response: ServiceDriver.Response) throws -> [[String: Any]] {
    #expect(response.status == 200, "\(response.text)")
    return try #require(try response.object["features"] as? [[String: Any]])
  }

  @Test func cellsAreFeatures() async throws {
    let driver = try await driver()

    let found = try features(try await driver.send(.GET, "/locations/clusters?zoom=3"))

    #expect(found.count == 2)
    #expect(found[0]["id"] as? String == "7/71/60")
    let properties = try #require(found[0]["properties"] as? [String: Any])
    #expect(properties["count"] as? Int == 30)
    #expect(properties["category"] as? String == "cafe")
    #expect((properties["name"] as? String)?.hasPrefix("P") == true)
    let coordinates = try #require((found[0]["geometry"] as? [String: Any])?["coordinates"] as? [Double])
    #expect(abs(coordinates[0] - 20) < 1e-6 && abs(coordinates[1] - 10.00145) < 1e-6)
    let single = try #require(found[1]["properties"] as? [String: Any])
    #expect(single["count"] as? Int == 1 && single["name"] as? String == "South" && single["category"] == nil)
    #expect(PointID(found[1]["id"] as? String ?? "") != nil)
  }

  @Test func featuresAreThoseOfTheBoxAndTheFilters() async throws {
    let driver = try await driver()
    func count(_ query: String) async throws -> Int {
      try features(try await driver.send(.GET, "/locations/clusters?\(query)")).reduce(0) {
        $0 + (($1["properties"] as? [String: Any])?["count"] as? Int ?? 0)
      }
    }

    #expect(try await count("zoom=3&bbox=19,9,21,11") == 30)
    #expect(try await count("zoom=3&bbox=19.9,10.0001,20.1,10.0002") == 30)
    #expect(try await count("zoom=3&bbox=30,30,31,31") == 0)
    #expect(try await count("zoom=0&category=bar") == 10)
    #expect(try await count("zoom=0&tag.cuisine=k1") == 8)
    #expect(try await count("zoom=3&q=South") == 1)
    #expect(try await count("zoom=3&q=P7") >= 1)
    #expect(try await count("zoom=20&q=P2&bbox=19.9,10.00015,20.1,10.00025") == 1)
    #expect(try await count("zoom=20&q=South&bbox=19.9,10.00015,20.1,10.00025") == 0)
    #expect(try await count("zoom=20&bbox=19.9,10.0001,20.1,10.00055") == 5)
    #expect(try features(try await driver.send(.GET, "/locations/clusters?zoom=14")).count == 31)
  }

  @Test func tooManyFeaturesAreRejected() async throws {
    let store = MemoryStore()
    let rows = try (0..<10_001).map { number in
      try ImportRow.sample("P", Double(number / 200), Double(number % 200) / 2, number: number + 1)
    }
    try await store.importRows(rows)
    let driver = ServiceDriver(store: store)

    let response = try await driver.send(.GET, "/locations/clusters?zoom=22")

    #expect(response.status == 400)
    #expect(try response.parameters == ["zoom"])
    #expect(try features(try await driver.send(.GET, "/locations/clusters?zoom=22&bbox=0,0,99.7,49.5")).count == 10_000)
  }

  @Test func clustersAreNotWrittenBeyondTheDeadlineOfTheirComputation() async throws {
    let driver = try await driver()

    let response = try await ComputationDeadline.$current.withValue(.now) {
      try await driver.send(.GET, "/locations/clusters?zoom=3")
    }

    #expect(response.status == 503)
    #expect(try response.code == "filter-timeout")
  }

  @Test(arguments: ["", "zoom=23", "zoom=-1", "zoom=1.5", "zoom=+1", "zoom=1&zoom=2", "zoom=1&tags=a"])
  func invalidZoomIsRejected(query: String) async throws {
    #expect(try await driver().send(.GET, "/locations/clusters?\(query)").status == 400)
  }

  @Test func responsesCanBeRevalidated() async throws {
    let driver = try await driver()

    for target in ["/locations/clusters?zoom=3", "/locations/facets?by=category"] {
      let tag = try #require(try await driver.send(.GET, target).headers.first(name: "etag"))
      #expect(try await driver.send(.GET, target, headers: ["if-none-match": tag]).status == 304)
    }
  }

  @Test func facetsAreCounted() async throws {
    let driver = try await driver()

    let object = try await driver.send(.GET, "/locations/facets?by=category,tag.cuisine&limit=2").object

    #expect(object["count"] as? Int == 31)
    let facets = try #require(object["facets"] as? [String: [[String: Any]]])
    #expect(facets["category"]?.map { $0["value"] as? String } == ["cafe", "bar"])
    #expect(facets["category"]?.map { $0["count"] as? Int } == [20, 10])
    #expect(facets["tag.cuisine"]?.map { $0["value"] as? String } == ["k0", "k1"])
    #expect(facets["tag.cuisine"]?.map { $0["count"] as? Int } == [8, 8])
    #expect(object["missing"] as? [String: Int] == ["category": 1, "tag.cuisine": 1])
  }

  @Test func facetsOfAListAreItsElements() async throws {
    let cuisines = ["pizza; pasta", "pizza", "pasta;pizza;pizza", " ; ", "sushi"]
    let places = try cuisines.enumerated().map { number, cuisine in
      try PointDraft.at(0, Double(number), name: "p", tags: ["cuisine": cuisine, "kind": cuisine])
    }
    let driver = try await ServiceDriver(
      places: places + [.at(0, 9, name: "none")],
      filtering: Filtering(queryables: Queryables(types: ["cuisine": .stringArray]), timeLimit: .seconds(600)))

    let object = try await driver.send(.GET, "/locations/facets?by=tag.cuisine,tag.kind").object

    let facets = try #require(object["facets"] as? [String: [[String: Any]]])
    #expect(facets["tag.cuisine"]?.map { $0["value"] as? String } == ["pizza", "pasta", "sushi"])
    #expect(facets["tag.cuisine"]?.map { $0["count"] as? Int } == [3, 2, 1])
    #expect(facets["tag.kind"]?.count == 5)
    #expect(object["missing"] as? [String: Int] == ["tag.cuisine": 2, "tag.kind": 1])
  }

  @Test func facetsAreThoseOfTheBoxAndTheFilters() async throws {
    let driver = try await driver()

    let inBox = try await driver.send(.GET, "/locations/facets?by=category&bbox=19,10.00195,21,11").object
    let filtered = try await driver.send(.GET, "/locations/facets?by=tag.cuisine&category=bar&tag.cuisine=k3").object

    let matching = try await driver.send(.GET, "/locations/facets?by=tag.cuisine&q=South").object

    #expect(matching["count"] as? Int == 1 && matching["missing"] as? [String: Int] == ["tag.cuisine": 1])
    #expect(inBox["count"] as? Int == 10)
    #expect((inBox["facets"] as? [String: [[String: Any]]])?["category"]?.map { $0["value"] as? String } == ["bar"])
    #expect(filtered["count"] as? Int == 2)
  }

  @Test(arguments: [
    "", "by=", "by=name", "by=category,category", "by=tag.", "by=category&limit=0", "by=category&limit=1001",
    "by=category&zoom=1",
  ])
  func invalidFacetsAreRejected(query: String) async throws {
    #expect(try await driver().send(.GET, "/locations/facets?\(query)").status == 400)
  }
}
