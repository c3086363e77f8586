import Basics
import Foundation
import HTTPServer
import JSONText
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// OGC API Features, part 1: the resources and their links.
@Suite struct FeaturesTests {
  private static let items = FeaturesService.items

  // MARK: Resources

  @Test func landingPageLinksToTheDescriptionTheClassesAndTheCollections() async throws {
    let service = try await FeaturesService([])
    let landing = try await service.get("/ogc").object

    let description = landing.target("service-desc", type: "application/vnd.oai.openapi+json;version=3.0")
    #expect(description == "http://localhost:8080/ogc/api")
    #expect(landing.target("service-doc", type: "text/html") == "http://localhost:8080/docs")
    for relation in ["self", "conformance", "data"] {
      let target = try #require(landing.target(relation, type: "application/json"))
      #expect(try await service.get(target.pathAndQuery).status == 200, "\(relation)")
    }
    #expect(try await service.get("/ogc/").object["title"] as? String == "Waymark")
    #expect(landing.target("alternate", type: "text/html") == "http://localhost:8080/ogc?f=html")
  }

  @Test func conformanceNamesTheClassesThatTheServiceHas() async throws {
    func classes(_ service: FeaturesService) async throws -> [String] {
      try #require(try await service.get("/ogc/conformance").object["conformsTo"] as? [String])
    }
    let all = try await classes(try await FeaturesService([]))
    let withoutIndex = try await classes(try await FeaturesService([], hasIndex: false))

    #expect(all.contains("http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core"))
    #expect(all.contains("http://www.opengis.net/spec/cql2/1.0/conf/basic-cql2"))
    #expect(Set(all).count == all.count)
    #expect(all.count { $0.contains("ogcapi-features-4") } == 4)
    let ofIndex = Set(all).subtracting(withoutIndex)
    // Of two literal geometries there are no relations, which this class includes.
    #expect(!all.contains { $0.hasSuffix("property-property") })
    #expect(ofIndex.count == 26)
    #expect(ofIndex.allSatisfy { $0.contains(/ogcapi-features-3|cql2|ogcapi-tiles|tms/) })
  }

  @Test func collectionsAreThoseOfAllPlacesAndOfTheSetting() async throws {
    let service = try await FeaturesService([], collections: "food=cafe,restaurant; culture = museum")
    let collections = try #require(try await service.get("/ogc/collections").object["collections"] as? [[String: Any]])

    #expect(collections.map { $0["id"] as? String } == ["places", "food", "culture"])
    for collection in collections {
      #expect(collection["itemType"] as? String == "feature")
      #expect(collection["storageCrs"] as? String == "http://www.opengis.net/def/crs/OGC/1.3/CRS84")
      #expect((collection["crs"] as? [String])?.count == 3)
      for link in collection.links where link["rel"] != "license" {
        let target = try #require(link["href"])
        #expect(try await service.get(target.pathAndQuery).status == 200, "\(target)")
      }
    }
    #expect(try await service.get("/ogc/collections/nothing").status == 404)
    #expect(try await service.get("/ogc/collections/nothing/items").status == 404)
  }

  @Test func extentIsThatOfThePlacesOfTheCollection() async throws {
    let places: [PointDraft] = try [
      .at(1, 2, name: "a", category: "cafe"), .at(-3, 4.5, name: "b"), .at(7, 179, name: "c", category: "port"),
      .at(8, -179.25, name: "d", category: "port"),
    ]
    let service = try await FeaturesService(places, collections: "food=cafe;sea=port,pier;none=bar")
    let empty = try await FeaturesService([])
    let withoutIndex = try await FeaturesService(places, hasIndex: false)
    func box(_ service: FeaturesService, _ id: String) async throws -> [Double]? {
      try await service.get("/ogc/collections/\(id)").object.box
    }

    #expect(try await box(service, "places") == [2, -3, -179.25, 8])
    #expect(try await box(service, "food") == [2, 1, 2, 1])
    #expect(try await box(service, "sea") == [179, 7, -179.25, 8])
    #expect(try await box(service, "none") == [-180, -90, 180, 90])
    #expect(try await box(empty, "places") == [-180, -90, 180, 90])
    #expect(try await box(withoutIndex, "places") == [-180, -90, 180, 90])
    let all = try #require(try await service.get("/ogc/collections").object["collections"] as? [[String: Any]])
    #expect(all.map(\.box) == [[2, -3, -179.25, 8], [2, 1, 2, 1], [179, 7, -179.25, 8], [-180, -90, 180, 90]])
  }

  @Test(arguments: ["a", "a=", "a=b,", "=b", "places=cafe", "a=b;a=c", "a b=c", "a/b=c"])
  func textThatNamesNoCollectionsIsRejected(text: String) {
    #expect(PointCollections(text) == nil)
  }

  @Test func groupHasThePlacesOfItsCategories() async throws {
    let places = try FeaturesService.places(9) + [.at(1, 1, name: "none"), .at(1, 1, name: "bar", category: "bar")]
    let service = try await FeaturesService(places, collections: "culture=museum,bar")

    #expect(try await service.names("/ogc/collections/culture/items") == ["p3", "p6", "p9", "bar"])
    #expect(try await service.names("/ogc/collections/culture/items?category=museum") == ["p3", "p6", "p9"])
    #expect(try await service.names("/ogc/collections/culture/items?category=cafe") == [])
    #expect(try await service.get("/ogc/collections/culture/items/\(PointID.sample(3))").status == 200)
    #expect(try await service.get("/ogc/collections/culture/items/\(PointID.sample(1))").status == 404)
  }

  @Test func targetsHaveTheConfiguredAddressOrTheHostOfTheClient() async throws {
    let service = try await FeaturesService([])
    let configured = try await FeaturesService([], address: PublicAddress(url: "https://example.org/poi"))

    let own = try await service.get("/ogc", headers: ["host": "example.net:81"]).object
    #expect(own.target("self") == "http://example.net:81/ogc")
    #expect(try await configured.get("/ogc").object.target("self") == "https://example.org/poi/ogc")
    #expect(
      try await configured.get("/ogc").object.target("conformance") == "https://example.org/poi/ogc/conformance")
  }

  @Test(arguments: ["http://a@example.net/ogc", "http://ex\"><b>/ogc", "http://example.net%0A/ogc", "http:///ogc"])
  func targetsHaveNoHostThatIsNotPlain(target: String) async throws {
    let landing = try await FeaturesService([]).get(target).object

    #expect(landing.target("self") == "/ogc")
  }

  // MARK: Items

  @Test func pagesFollowEachOtherToTheLastPlace() async throws {
    let service = try await FeaturesService(try FeaturesService.places(25))
    var target: String? = Self.items
    var names: [String] = []
    var counts: [Int] = []
    while let page = target {
      let response = try await service.get(page)
      let object = try response.object
      let features = try #require(object["features"] as? [[String: Any]])
      #expect(object["numberMatched"] as? Int == 25)
      #expect(object["numberReturned"] as? Int == features.count)
      #expect(features.allSatisfy { $0["id"] is String })
      names += features.map(\.name)
      counts.append(features.count)
      let next = object.links.first { $0["rel"] == "next" }
      #expect(next?["type"] == (next == nil ? nil : "application/geo+json"))
      #expect(response.headers["link"].isEmpty == (next == nil))
      target = next?["href"]?.pathAndQuery
    }

    #expect(names == (1...25).map { "p\($0)" })
    #expect(counts == [10, 10, 5])
  }

  @Test func nextPageKeepsTheOtherParameters() async throws {
    let service = try await FeaturesService(try FeaturesService.places(30))
    let first = try await service.get(Self.items + "?limit=2&category=museum&bbox=0.05,9,1,11").object
    let next = try #require(first.target("next"))

    #expect(try await service.names(next.pathAndQuery) == ["p12", "p15"])
  }

  @Test func limitBeyondTheMaximumIsTheMaximum() async throws {
    let service = try await FeaturesService(try FeaturesService.places(3))

    #expect(try await service.names(Self.items + "?limit=99999999999999999999999").count == 3)
    #expect(try await service.names(Self.items + "?limit=2").count == 2)
    for limit in ["0", "-1", "", "ten", "1.5"] {
      #expect(try await service.get(Self.items + "?limit=\(limit)").status == 400, "\(limit)")
    }
  }

  @Test func longPageHasAllItsFeatures() async throws {
    let service = try await FeaturesService(try FeaturesService.places(3000))
    let page = try await service.get(Self.items + "?limit=10000").object

    #expect((page["features"] as? [Any])?.count == 3000)
    #expect(page.target("next") == nil)
  }

  @Test func numberMatchedFollowsTheConditions() async throws {
    let service = try await FeaturesService(try FeaturesService.places(100))
    func count(_ query: String) async throws -> Int? {
      try await service.get(Self.items + "?limit=1&" + query).object["numberMatched"] as? Int
    }

    #expect(try await count("bbox=0.095,9,0.305,11") == 21)
    #expect(try await count("category=museum") == 33)
    #expect(try await count("category=museum&bbox=0.095,9,0.305,11") == 7)
    #expect(try await count("filter=\("name LIKE 'p9%'".encoded)") == 11)
    #expect(try await count("source=test") == 50)
    #expect(try await count("source=other") == 0)
    #expect(try await count("category=") == 0)
    #expect(try await count("category=%00") == 0)
  }

  @Test func featureIsThePlaceWithLinks() async throws {
    let service = try await FeaturesService(try FeaturesService.places(2))
    let response = try await service.get(Self.items + "/\(PointID.sample(2))")
    let feature = try response.object

    #expect(feature["id"] as? String == "\(PointID.sample(2))")
    #expect(feature.coordinates == [0.02, 10])
    #expect(feature.properties["source"] as? String == "test")
    #expect(feature.properties["sourceId"] as? String == "2")
    #expect(feature.target("self") == "http://localhost:8080\(Self.items)/\(PointID.sample(2))")
    #expect(feature.target("collection") == "http://localhost:8080/ogc/collections/places")
    #expect(response.headers["content-type"] == ["application/geo+json"])
    #expect(try await service.get(Self.items + "/\(PointID.sample(3))").status == 404)
    #expect(try await service.get(Self.items + "/3").status == 404)
  }

  @Test func featureIsRevalidatedByItsEntityTag() async throws {
    let service = try await FeaturesService(try FeaturesService.places(1))
    let target = Self.items + "/\(PointID.sample(1))"
    let etag = try #require(try await service.get(target).headers.first(name: "etag"))

    #expect(!etag.hasPrefix("W/"))
    #expect(try await service.get(target, headers: ["if-none-match": etag]).status == 304)
    #expect(try await service.get(target, headers: ["if-none-match": "\"7\""]).status == 200)
    let page = try await service.get(Self.items)
    let pageTag = try #require(page.headers.first(name: "etag"))
    #expect(try await service.get(Self.items, headers: ["if-none-match": pageTag]).status == 304)
    #expect(try await service.get(Self.items + "?f=html", headers: ["if-none-match": pageTag]).status == 200)
  }

  @Test func unknownAndInvalidParametersAreRejected() async throws {
    let service = try await FeaturesService([])

    for query in [
      "radius=5", "population=5", "bbox=1,2,3", "bbox=1,2,3,x", "bbox=0,10,1,9", "crs=EPSG:4326", "datetime=now",
      "datetime=2026-01-01T00:00:00Z/2026-01-02T00:00:00Z/..", "datetime=1980-01-01T00:00:00Z/1970-01-01T00:00:00Z",
      "datetime=2026-01-02/2026-01-01", "datetime=2026-02-30", "datetime=2026-1-1", "f=xml", "lat=north",
      "updatedAt=now", "cursor=x", "filter=name", "filter-lang=cql2-text", "limit=1&limit=2",
    ] {
      let response = try await service.get(Self.items + "?" + query)
      #expect(response.status == 400, "\(query): \(response.text.prefix(200))")
    }
    #expect(try await service.get("/ogc?x=1").status == 400)
  }

  @Test func representationIsChosenByTheParameterAndTheHeader() async throws {
    let service = try await FeaturesService(try FeaturesService.places(1))
    func type(_ target: String, _ accept: String? = nil) async throws -> String? {
      try await service.get(target, headers: accept.map { ["accept": $0] } ?? [:]).headers.first(name: "content-type")
    }
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"

    #expect(try await type(Self.items) == "application/geo+json")
    #expect(try await type(Self.items, "application/json") == "application/json")
    #expect(try await type(Self.items, browser) == "text/html; charset=utf-8")
    #expect(try await type(Self.items + "?f=json", browser) == "application/geo+json")
    #expect(try await type("/ogc", browser) == "text/html; charset=utf-8")
    #expect(try await type("/ogc/collections/places/queryables") == "application/schema+json")
    #expect(try await service.get(Self.items, headers: ["accept": "image/png"]).status == 406)
  }

  // MARK: Stores

  private static func place() throws -> PointOfInterest {
    let time = Timestamp(microsecondsSinceEpoch: 0)
    return PointOfInterest(
      id: .sample(1), draft: try .at(1, 2, name: "here"), version: 1, createdAt: time, updatedAt: time)
  }

  @Test(arguments: [PointStoreError.filterTimeout, .overloaded, .timeout])
  func numberMatchedIsLeftOutWhereCountingTakesTooLong(_ error: PointStoreError) async throws {
    let found = FoundPoint(point: try Self.place(), distanceMetres: nil)
    var store = StubStore { _ in PointPage(points: [found], hasMore: true) }
    store.onCount = { _ throws(PointStoreError) in throw error }
    let page = try await ServiceDriver(store: store).send(.GET, Self.items + "?filter=\("name LIKE '%'".encoded)")

    #expect(page.status == 200)
    #expect(try page.object["numberMatched"] == nil)
    #expect(try page.object["numberReturned"] as? Int == 1)
    store.onCount = { _ throws(PointStoreError) in throw .unavailable(reason: "") }
    #expect(try await ServiceDriver(store: store).send(.GET, Self.items).status == 503)
  }

  @Test func conditionsOnCategoriesAndSourcesNeedNoIndex() async throws {
    let store = StubStore { query in
      #expect(query.filter == nil)
      #expect(query.categories == ["cafe", "bar"])
      #expect(query.source == .init(name: "osm"))
      return PointPage(points: [], hasMore: false)
    }
    let target = Self.items + "?category=cafe&category=bar&source=osm&bbox=0,0,1,1"

    #expect(try await ServiceDriver(store: store).send(.GET, target).status == 200)
  }
}
