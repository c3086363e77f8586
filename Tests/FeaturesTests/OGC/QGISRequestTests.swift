import Foundation
import HTTPServer
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// The requests of QGIS from 3.36 on, in their order: it opens a layer, sends conditions, and saves edits.
@Suite struct QGISRequestTests {
  private static let root = "/ogc"
  private static let typed =
    "application/vnd.oai.openapi+json;version=3.0, application/openapi+json;version=3.0, application/json"

  private static func service() async throws -> FeaturesService {
    try await FeaturesService(
      [
        .at(48.2, 16.37, name: "Corner Café", category: "cafe", tags: ["population": "5"], sourceID: "1"),
        .at(48.3, 16.4, name: "Museum", category: "museum", tags: ["population": "70"]),
        .at(10, 20, name: "Bar", category: "bar"),
      ], types: FeaturesService.types)
  }

  @Test func layerIsOpenedFromItsLandingPage() async throws {
    let service = try await Self.service()
    let landing = try await service.get(Self.root, headers: ["accept": "application/json"]).object
    let api = try #require(landing.target("service-desc", type: "application/vnd.oai.openapi+json;version=3.0"))
    let collections = try #require(landing.target("data"))
    let conformance = try #require(landing.target("conformance"))

    let document = try await service.get(api.pathAndQuery, headers: ["accept": Self.typed]).object
    let parameters = try #require((document["components"] as? [String: Any])?["parameters"] as? [String: [String: Any]])
    let limit = try #require(parameters["limit"]?["schema"] as? [String: Any])
    #expect(limit["default"] as? Int == 10 && limit["maximum"] as? Int == 10_000)
    let classes = try #require(
      try await service.get(conformance.pathAndQuery).object["conformsTo"] as? [String])
    for name in ["cql2/1.0/conf/cql2-text", "cql2/1.0/conf/basic-cql2", "ogcapi-features-3/1.0/conf/features-filter"] {
      #expect(classes.contains("http://www.opengis.net/spec/" + name), "\(name)")
    }

    // It builds these addresses itself.
    let collection = collections.pathAndQuery + "/places"
    let described = try await service.get(collection, headers: ["accept": "application/json"]).object
    #expect((described["extent"] as? [String: Any])?["spatial"] != nil)
    let queryables = try await service.get(
      collection + "/queryables", headers: ["accept": "application/schema+json, application/json"])
    let properties = try #require(try queryables.object["properties"] as? [String: [String: Any]])
    #expect(properties["population"]?["type"] as? String == "integer")
    let first = try await service.get(
      collection + "/items?limit=10", headers: ["accept": "application/geo+json, application/json"])
    #expect(try first.object["numberMatched"] as? Int == 3)
    #expect(first.headers["content-type"] == ["application/geo+json"])
  }

  @Test func parametersOfPropertiesAreThoseThatQGISSends() async throws {
    let service = try await Self.service()
    let document = try await service.get("/ogc/api").object
    let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
    let components = try #require(
      (document["components"] as? [String: Any])?["parameters"] as? [String: [String: Any]])
    let parameters = try #require(paths["/collections/places/items"]?["get"]?["parameters"] as? [[String: Any]])
    let resolved = parameters.map { parameter -> [String: Any] in
      guard let reference = parameter["$ref"] as? String else { return parameter }
      return components[String(reference.split(separator: "/").last ?? "")] ?? [:]
    }
    let simple = resolved.filter { $0["style"] as? String == "form" && $0["explode"] as? Bool == false }
    let names = Set(simple.compactMap { $0["name"] as? String }).subtracting(["bbox"])

    #expect(names.isSuperset(of: ["name", "category", "source", "sourceId", "population", "updatedAt"]))
    for parameter in simple where names.contains(parameter["name"] as? String ?? "") {
      #expect(parameter["in"] as? String == "query")
      #expect((parameter["schema"] as? [String: Any])?["type"] is String)
    }
    // GDAL looks for a reference that has the name of the parameter, and for the name of the language.
    #expect(parameters.contains { $0["$ref"] as? String == "#/components/parameters/limit" })
    let languages = try #require(resolved.first { $0["name"] as? String == "filter-lang" }?["schema"] as? [String: Any])
    #expect((languages["enum"] as? [String])?.contains("cql-text") == true)
    let server = try #require((document["servers"] as? [[String: String]])?.first?["url"])
    #expect(server == "http://localhost:8080/ogc")
  }

  @Test(arguments: [
    ("(\"category\" = 'cafe')", ["Corner Café"]), ("\"population\" > 10", ["Museum"]),
    ("(\"name\" LIKE '%a%') AND (\"population\" BETWEEN 1 AND 10)", ["Corner Café"]),
    ("CASEI(\"name\") LIKE CASEI('%MUS%')", ["Museum"]), ("\"category\" IN ('cafe','bar')", ["Corner Café", "Bar"]),
    ("\"population\" IS NULL", ["Bar"]), ("NOT (\"category\" <> 'bar')", ["Bar"]),
    ("S_INTERSECTS(geometry,POLYGON((16 48,17 48,17 49,16 49,16 48)))", ["Corner Café", "Museum"]),
    ("S_INTERSECTS(geometry,BBOX(16,48.25,17,49)) AND (\"category\" = 'museum')", ["Museum"]),
  ])
  func expressionIsSentAsAFilter(filter: String, names: [String]) async throws {
    let service = try await Self.service()
    let target = FeaturesService.items + "?limit=1000&filter=\(filter.encoded)&filter-lang=cql2-text"

    #expect(try await service.names(target) == names)
    #expect(try await service.names(target + "&bbox=-180,-90,180,90") == names)
  }

  @Test func editsAreSavedOneByOne() async throws {
    let service = try await Self.service()
    let items = FeaturesService.items
    let crs = "<http://www.opengis.net/def/crs/EPSG/0/4326>"

    let created = try await service.driver.send(
      .POST, items, headers: ["content-type": "application/geo+json", "content-crs": crs],
      json: """
        {"geometry":{"coordinates":[48.5,16.5],"type":"Point"},"properties":{"name":"New","category":null,\
        "population":3,"tags":null,"source":null,"sourceId":null,"version":null,"createdAt":null,"updatedAt":null},\
        "type":"Feature"}
        """)
    #expect(created.status == 201, "\(created.text)")
    let location = try #require(created.headers.first(name: "location"))
    let id = try #require(location.components(separatedBy: "/items/").last)
    let item = items + "/" + id
    #expect(try await service.get(item).object.coordinates == [16.5, 48.5])

    let moved = try await service.driver.send(
      .PATCH, item, headers: ["content-type": "application/merge-patch+json", "content-crs": crs],
      json: #"{"geometry":{"coordinates":[48.6,16.6],"type":"Point"}}"#)
    #expect(moved.status == 200)
    let changed = try await service.driver.send(
      .PATCH, item, headers: ["content-type": "application/merge-patch+json"],
      json: #"{"properties":{"name":"Renamed","population":4}}"#)
    #expect(changed.status == 200)
    let feature = try await service.get(item).object
    #expect(feature.coordinates == [16.6, 48.6] && feature.name == "Renamed")
    #expect(feature.properties["population"] as? Int == 4)

    let replaced = try await service.driver.send(
      .PUT, item, headers: ["content-type": "application/geo+json"],
      json: """
        {"geometry":{"coordinates":[1.0,2.0],"type":"Point"},"id":"\(id)","properties":{"name":"Replaced"},\
        "type":"Feature"}
        """)
    #expect(replaced.status == 200, "\(replaced.text)")
    #expect(try await service.driver.send(.DELETE, item).status == 204)
    #expect(try await service.get(item).status == 404)
  }
}
