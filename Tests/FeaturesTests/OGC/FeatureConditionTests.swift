import Foundation
import HTTPServer
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// OGC API Features, parts 2 and 3: reference systems and conditions.
@Suite struct FeatureConditionTests {
  private static let items = FeaturesService.items
  private static let crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"
  private static let epsg4326 = "http://www.opengis.net/def/crs/EPSG/0/4326"
  private static let epsg3857 = "http://www.opengis.net/def/crs/EPSG/0/3857"

  // MARK: Reference systems

  @Test func positionsHaveTheOrderAndTheUnitOfTheirSystem() async throws {
    let service = try await FeaturesService([try .at(48.2, 16.37, name: "Wien")])
    func coordinates(_ query: String) async throws -> [Double] {
      let response = try await service.get(Self.items + query)
      let system = query.isEmpty ? Self.crs84 : String(query.dropFirst(5))
      #expect(response.headers["content-crs"] == ["<\(system)>"])
      return try await service.features(Self.items + query)[0].coordinates
    }

    #expect(try await coordinates("") == [16.37, 48.2])
    #expect(try await coordinates("?crs=\(Self.crs84)") == [16.37, 48.2])
    #expect(try await coordinates("?crs=\(Self.epsg4326)") == [48.2, 16.37])
    let mercator = try await coordinates("?crs=\(Self.epsg3857)")
    // As PROJ has it.
    #expect(abs(mercator[0] - 1_822_300.064) < 0.001 && abs(mercator[1] - 6_140_192.439) < 0.001, "\(mercator)")
    let item = try await service.get(Self.items + "/\(PointID.sample(1))?crs=\(Self.epsg4326)")
    #expect(try item.object.coordinates == [48.2, 16.37])
    #expect(item.headers["content-crs"] == ["<\(Self.epsg4326)>"])
  }

  @Test func boxIsInItsOwnSystem() async throws {
    let service = try await FeaturesService([
      try .at(48.2, 16.37, name: "Wien"), try .at(16.37, 48.2, name: "Aden"), try .at(0, 179.5, name: "east"),
      try .at(0, -179.5, name: "west"),
    ])

    #expect(try await service.names(Self.items + "?bbox=16,48,17,49") == ["Wien"])
    #expect(try await service.names(Self.items + "?bbox=16,48,0,17,49,100") == ["Wien"])
    #expect(try await service.names(Self.items + "?bbox=48,16,49,17&bbox-crs=\(Self.epsg4326)") == ["Wien"])
    #expect(
      try await service.names(Self.items + "?bbox=1800000,6100000,1900000,6200000&bbox-crs=\(Self.epsg3857)")
        == ["Wien"])
    #expect(try await service.names(Self.items + "?bbox=179,-1,-179,1") == ["east", "west"])
    #expect(try await service.names(Self.items + "?bbox=-1,179,1,-179&bbox-crs=\(Self.epsg4326)") == ["east", "west"])
    #expect(try await service.names(Self.items + "?bbox=-1000,-1000,1000,1e300").count == 4)
  }

  @Test func geometriesOfAFilterAreInItsSystem() async throws {
    let service = try await FeaturesService([
      try .at(48.2, 16.37, name: "Wien"), try .at(16.37, 48.2, name: "Aden"),
    ])
    func names(_ polygon: String, _ system: String) async throws -> [String] {
      let filter = "S_INTERSECTS(geometry, \(polygon))".encoded
      return try await service.names(Self.items + "?filter=\(filter)&filter-crs=\(system)")
    }

    let square = "POLYGON((16 48, 17 48, 17 49, 16 49, 16 48))"
    #expect(try await names(square, Self.crs84) == ["Wien"])
    #expect(try await names(square, Self.epsg4326) == ["Aden"])
    #expect(try await names("BBOX(1800000, 6100000, 1900000, 6200000)", Self.epsg3857) == ["Wien"])
    #expect(
      try await names(
        "POLYGON((1800000 6100000, 1900000 6100000, 1900000 6200000, 1800000 6100000))", Self.epsg3857) == [])
  }

  @Test func polesHaveFinitePositionsInMercator() async throws {
    let service = try await FeaturesService([try .at(90, 0, name: "north"), try .at(-90, 180, name: "south")])
    let features = try await service.features(Self.items + "?crs=\(Self.epsg3857)")

    for feature in features { #expect(feature.coordinates.count == 2 && feature.coordinates.allSatisfy(\.isFinite)) }
    #expect(features[0].coordinates[1] == -features[1].coordinates[1])
  }

  // MARK: Queryables

  private static func typedService() async throws -> FeaturesService {
    try await FeaturesService(
      [
        .at(48.2, 16.37, name: "Wien", tags: ["population": "2000000", "cuisine": "cake;coffee", "limit": "no"]),
        .at(47, 15.4, name: "Graz", tags: ["population": "300000", "opened": "1128-01-01", "river": "Mur"]),
        .at(47.8, 13, name: "Salzburg", tags: ["population": "many"]),
      ], types: FeaturesService.types)
  }

  @Test func queryablesAreThePropertiesOfPlacesAndTheDeclaredTags() async throws {
    let schema = try await Self.typedService().get("/ogc/collections/places/queryables").object
    let properties = try #require(schema["properties"] as? [String: [String: Any]])

    #expect(schema["type"] as? String == "object")
    #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    #expect(schema["$id"] as? String == "http://localhost:8080/ogc/collections/places/queryables")
    #expect(schema["additionalProperties"] as? Bool == true)
    #expect(properties["geometry"]?["format"] as? String == "geometry-point")
    #expect(properties["population"]?["type"] as? String == "integer")
    #expect(properties["cuisine"]?["type"] as? String == "array")
    #expect(properties["opened"]?["format"] as? String == "date")
    #expect(properties["updatedAt"]?["format"] as? String == "date-time")
    // The parameter of the same name takes precedence.
    #expect(properties["tag.limit"] != nil && properties["limit"] == nil)
  }

  @Test func declaredTagsArePropertiesOfTheirTypes() async throws {
    let features = try await Self.typedService().features(Self.items)

    #expect(features[0].properties["population"] as? Int == 2_000_000)
    #expect(features[0].properties["cuisine"] as? [String] == ["cake", "coffee"])
    #expect(features[0].properties["tag.limit"] as? String == "no")
    #expect((features[0].properties["tags"] as? [String: String]) == [:])
    #expect(features[1].properties["opened"] as? String == "1128-01-01")
    #expect((features[1].properties["tags"] as? [String: String]) == ["river": "Mur"])
    // A value of another type stays a tag.
    #expect(features[2].properties["population"] == nil)
    #expect((features[2].properties["tags"] as? [String: String]) == ["population": "many"])
  }

  /// OGC 23-058r2, requirements /req/schemas/json-schema and /req/schemas/properties.
  @Test(arguments: ["schema", "queryables"])
  func schemaIsAtItsIdentifierAndHasTypesOfAllProperties(name: String) async throws {
    let service = try await Self.typedService()
    let collection = try await service.get("/ogc/collections/places").object
    let target = try #require(
      collection.target("http://www.opengis.net/def/rel/ogc/1.0/\(name)", type: "application/schema+json"))
    let response = try await service.get(target.pathAndQuery, headers: ["accept": "application/schema+json"])
    let schema = try response.object
    let properties = try #require(schema["properties"] as? [String: [String: Any]])

    #expect(response.headers["content-type"] == ["application/schema+json"])
    #expect(schema["$id"] as? String == target)
    #expect(schema["$schema"] as? String == "https://json-schema.org/draft/2020-12/schema")
    for (name, property) in properties {
      let isSpatial = (property["format"] as? String)?.hasPrefix("geometry-") == true
      #expect((property["type"] == nil) == isSpatial, "\(name)")
    }
    #expect(properties.values.count { $0["x-ogc-role"] as? String == "id" } == 1)
    #expect(properties["geometry"]?["x-ogc-role"] as? String == "primary-geometry")
  }

  @Test func schemaHasThePropertiesOfEveryFeature() async throws {
    let service = try await Self.typedService()
    let schema = try await service.get("/ogc/collections/places/schema").object
    let geoJSON = try await service.get("/ogc/collections/places/schema?f=geojson").object
    let flat = Set(try #require(schema["properties"] as? [String: Any]).keys)
    let nested = try #require(
      ((geoJSON["properties"] as? [String: Any])?["properties"] as? [String: Any])?["properties"] as? [String: Any])

    for feature in try await service.features(Self.items) {
      #expect(flat.isSuperset(of: feature.properties.keys))
      #expect(Set(nested.keys).union(["version"]).isSuperset(of: feature.properties.keys))
    }
  }

  @Test(arguments: [
    ("name=Wien", ["Wien"]), ("name=Wien&name=Graz", ["Wien", "Graz"]), ("name=wien", []), ("lat=47", ["Graz"]),
    ("lat=47.0&long=15.4", ["Graz"]), ("population=300000", ["Graz"]), ("cuisine=coffee", ["Wien"]),
    ("opened=1128-01-01", ["Graz"]), ("tag.limit=no", ["Wien"]), ("tag.river=Mur", ["Graz"]), ("version=77", []),
    ("createdAt=1970-01-01T00:00:00Z", ["Wien", "Graz", "Salzburg"]),
  ])
  func propertiesAreParameters(query: String, names: [String]) async throws {
    #expect(try await Self.typedService().names(Self.items + "?" + query) == names)
  }

  @Test func idIsAParameter() async throws {
    #expect(try await Self.typedService().names(Self.items + "?id=\(PointID.sample(2))") == ["Graz"])
  }

  @Test(arguments: [
    ("population > 1000000", "cql2-text", ["Wien"]),
    ("name LIKE 'S%' OR river = 'Mur'", "cql-text", ["Graz", "Salzburg"]),
    ("{\"op\": \">\", \"args\": [{\"property\": \"population\"}, 1000000]}", "cql2-json", ["Wien"]),
    ("opened > '1100-01-01' AND updatedAt > '1969-01-01T00:00:00Z'", "cql-text", ["Graz"]),
    ("S_INTERSECTS(geometry, BBOX(15, 46, 16, 48))", "cql2-text", ["Graz"]),
  ])
  func filterIsACondition(filter: String, language: String, names: [String]) async throws {
    let target = Self.items + "?filter=\(filter.encoded)&filter-lang=\(language)"
    #expect(try await Self.typedService().names(target) == names)
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", 1), ("1970-01-01T00:00:01Z", 0), ("../1970-01-01T00:00:00Z", 1),
    ("1969-01-01T00:00:00Z/..", 1),
    ("/1969-01-01T00:00:00Z", 0), ("1970-01-01T01:00:00%2B01:00", 1), ("../..", 1),
    ("1970-01-01", 1), ("1969-12-31", 0), ("1970-01-02", 0), ("1970-01-01/1970-01-01", 1), ("1970-01-01/..", 1),
    ("../1970-01-01", 1), ("1969-12-30/1969-12-31", 0), ("1969-12-31/1970-01-01T00:00:00Z", 1),
  ])
  func dateTimeIsThatOfTheLastChange(dateTime: String, count: Int) async throws {
    let service = try await FeaturesService([try .at(1, 1, name: "here")])

    #expect(try await service.features(Self.items + "?datetime=" + dateTime).count == count)
  }
}
