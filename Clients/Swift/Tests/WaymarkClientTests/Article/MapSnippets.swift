import Foundation
import Testing
import WaymarkClient
import WaymarkTesting

@Suite struct MapSnippets {
  private let box: BoundingBox

  init() throws {
    box = try BoundingBox(west: 16.3, south: 48.1, east: 16.5, north: 48.3)
  }

  // MARK: Areas and routes

  @Test func exampleOfAnAreaFindsPlaces() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: area
    let park = try SearchArea(wkt: "POLYGON((16.35 48.19, 16.39 48.19, 16.37 48.22, 16.35 48.19))")
    for try await place in waymark.places(in: park, category: "playground") {
      print(place.name)
    }
    // end

    #expect(service.requests.first?.url?.query()?.contains("within=POLYGON") == true)
  }

  @Test func exampleOfARouteFindsPlaces() async throws {
    let service = try MockService(.ok(#"[{"name":"A","alongMetres":8123.5,"distance":212.4}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let polyline = "_p~iF~ps|U_ulLnnqC_mqNvxq`@"

    // snippet: route
    let route = try SearchRoute(polyline: polyline, radiusMetres: 500)
    for place in try await waymark.places(along: route, category: "charging_station", pageSize: 3).firstPage() {
      print(place.name, place.alongMetres ?? 0, place.distanceMetres ?? 0)
    }
    // end

    #expect(service.requests.first?.url?.query()?.contains("radius=500.0") == true)
  }

  @Test func exampleOfConditionsQuotesTheText() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)
    let text = "Joe's%"

    // snippet: condition
    let filter = PointFilter(
      box: box, tags: ["wheelchair": ["yes", "limited"]],
      condition: "CASEI(name) LIKE CASEI(\(text)) AND (website IS NOT NULL OR \(tag: "contact:website") IS NOT NULL)")
    let places = try await waymark.places(filter, pageSize: 50).firstPage()
    // end

    #expect(places.map(\.name) == ["A"])
    #expect(filter.condition?.text.hasPrefix("CASEI(name) LIKE CASEI('Joe''s%') AND") == true)
  }

  @Test func exampleOfADataSetFindsAPlaceByItsIdentifier() async throws {
    let service = try MockService(.ok(#"[{"name":"A"}]"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: data set
    let station = PointFilter(source: "osm", sourceID: "node/358829")
    let places = try await waymark.places(station).firstPage()
    // end

    #expect(places.map(\.name) == ["A"])
    #expect(service.requests.first?.url?.query(percentEncoded: true) == "source=osm&sourceId=node%2F358829&fields=%2A")
  }

  // MARK: Maps

  @Test func exampleOfClustersHasTheirPlaces() async throws {
    let service = try MockService(
      .ok(#"{"features":[{"id":"1/0/0","geometry":{"coordinates":[1,2]},"properties":{"count":2,"name":"A"}}]}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: clusters
    for cluster in try await waymark.clusters(zoom: 5, filter: PointFilter(box: box)) {
      print(cluster.coordinate, cluster.placeID == nil ? "\(cluster.count) places" : cluster.name)
    }
    // end

    #expect(service.requests.first?.url?.query() == "zoom=5&bbox=16.3,48.1,16.5,48.3")
  }

  @Test func exampleOfFacetsHasTheirValues() async throws {
    let service = try MockService(
      .ok(
        #"{"count":1,"facets":{"category":[],"tag.cuisine":[{"value":"pizza","count":1}]},"missing":{"category":1,"tag.cuisine":0}}"#
      ))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: facets
    let facets = try await waymark.facets(by: [.category, .tag("cuisine")], filter: PointFilter(box: box))
    for value in facets[.tag("cuisine")]?.values ?? [] {
      print(value.value, value.count)
    }
    // end

    #expect(facets[.tag("cuisine")]?.values == [PointFacet.Value("pizza", count: 1)])
  }

  @Test func exampleOfTilesNamesThem() throws {
    let waymark = Waymark(baseURL: try URL(text: "https://example.com"))

    // snippet: tiles
    let tiles = try waymark.tiles(of: PointFilter(categories: ["museum"]), tags: ["website"])
    let source: [String: Any] = [
      "type": "vector", "tiles": [tiles.template], "maxzoom": VectorTiles.zoomLevels.upperBound,
    ]
    let layer = ["id": "museums", "type": "circle", "source": "places", "source-layer": VectorTiles.placesLayer]
    // end

    #expect(source["tiles"] as? [String] == ["https://example.com/tiles/{z}/{x}/{y}.mvt?category=museum&tags=website"])
    #expect(layer["source-layer"] == "places")
  }

  @Test func exampleOfAMapOfMatchesSearchesForTheText() async throws {
    let service = try MockService(.ok(#"{"features":[]}"#))
    let waymark = Waymark(baseURL: service.baseURL, session: service.session)

    // snippet: matches on a map
    let matches = try await waymark.clusters(zoom: 12, matching: "museum", filter: PointFilter(box: box))
    let tilesOfMatches = try waymark.tiles(matching: "museum")
    // end

    #expect(matches.isEmpty)
    #expect(service.requests.first?.url?.query() == "zoom=12&q=museum&bbox=16.3,48.1,16.5,48.3")
    #expect(tilesOfMatches.template.hasSuffix("/tiles/{z}/{x}/{y}.mvt?q=museum"))
  }
}
