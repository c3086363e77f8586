import Foundation
import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import OGC

/// OGC API Features, part 4: changes of features.
@Suite struct FeatureWritingTests {
  private static let items = FeaturesService.items
  private static let first = items + "/\(PointID.sample(1))"
  private static let feature =
    #"{"type":"Feature","geometry":{"type":"Point","coordinates":[16.37,48.2]},"properties":{"name":"Corner"}}"#

  private static func service(_ collections: String = "") async throws -> FeaturesService {
    try await FeaturesService(
      [try .at(10, 20, name: "old", category: "cafe", tags: ["population": "5", "river": "Mur"])],
      types: FeaturesService.types, collections: collections)
  }

  @Test func createdFeatureIsAtItsLocation() async throws {
    let service = try await Self.service()
    let response = try await service.driver.send(
      .POST, Self.items, headers: ["content-type": "application/geo+json"], json: Self.feature)
    let location = try #require(response.headers.first(name: "location"))

    #expect(response.status == 201)
    #expect(location.hasPrefix("http://localhost:8080/ogc/collections/places/items/"))
    let created = try await service.get(location.pathAndQuery)
    #expect(try created.object.name == "Corner")
    #expect(created.headers["etag"] == response.headers["etag"])
  }

  @Test func featureIsReplacedOnlyInTheKnownVersion() async throws {
    let service = try await Self.service()
    let etag = try #require(try await service.get(Self.first).headers.first(name: "etag"))
    func put(_ condition: HTTPHeaders) async throws -> Int {
      var headers = condition
      headers.add(name: "content-type", value: "application/geo+json")
      return try await service.driver.send(.PUT, Self.first, headers: headers, json: Self.feature).status
    }

    #expect(try await put(["if-match": "\"77\""]) == 412)
    #expect(try await put(["if-match": etag]) == 200)
    #expect(try await put(["if-match": etag]) == 412)
    let replaced = try await service.get(Self.first).object
    #expect(replaced.name == "Corner")
    #expect(replaced.properties["population"] == nil)
    #expect(try await put([:]) == 200)
  }

  @Test func featureIsReplacedInTheVersionThatWasReadUnderOtherSettings() async throws {
    let service = try await Self.service()
    let etag = try #require(try await service.get(Self.first).headers.first(name: "etag"))
    let other = etag.replacing(/-[0-9a-z]+/, with: "-other")

    let read = try await service.get(Self.first, headers: ["if-none-match": other])
    let written = try await service.driver.send(
      .PUT, Self.first, headers: ["if-match": other, "content-type": "application/geo+json"], json: Self.feature)

    #expect(other != etag)
    #expect(read.status == 200)
    #expect(written.status == 200)
  }

  @Test func featureThatWasReadCanBePutBack() async throws {
    let service = try await Self.service()
    let body = try await service.get(Self.first).text
    let response = try await service.driver.send(
      .PUT, Self.first, headers: ["content-type": "application/geo+json"], json: body)

    #expect(response.status == 200, "\(response.text)")
    let properties = try await service.get(Self.first).object.properties
    #expect(properties["population"] as? Int == 5)
    #expect(properties["tags"] as? [String: String] == ["river": "Mur"])
    #expect(try await service.store.point(id: .sample(1))?.draft.tags["population"] == "5")
  }

  @Test(arguments: ["application/merge-patch+json", "application/geo+json", "application/json"])
  func mergePatchChangesItsMembersAlone(mediaType: String) async throws {
    let service = try await Self.service()
    func patch(_ json: String) async throws -> [String: Any] {
      let response = try await service.driver.send(
        .PATCH, Self.first, headers: ["content-type": mediaType], json: json)
      #expect(response.status == 200, "\(response.text)")
      return try response.object
    }

    let moved = try await patch(#"{"geometry":{"type":"Point","coordinates":[1,2]}}"#)
    #expect(moved.coordinates == [1, 2] && moved.name == "old")
    let changed = try await patch(#"{"properties":{"population":7,"category":null,"tags":{"river":null,"lake":"x"}}}"#)
    #expect(changed.properties["population"] as? Int == 7)
    #expect(changed.properties["category"] == nil)
    #expect(changed.properties["tags"] as? [String: String] == ["lake": "x"])
    #expect(try await patch(#"{"properties":{"population":null}}"#).properties["population"] == nil)
  }

  @Test func positionOfABodyIsInItsSystem() async throws {
    let service = try await Self.service()
    func put(_ coordinates: String, _ system: String) async throws -> [Double] {
      let json = Self.feature.replacing("[16.37,48.2]", with: coordinates)
      let headers: HTTPHeaders = ["content-type": "application/geo+json", "content-crs": system]
      let response = try await service.driver.send(.PUT, Self.first, headers: headers, json: json)
      #expect(response.status == 200, "\(response.text)")
      return try response.object.coordinates
    }

    #expect(try await put("[48.2,16.37]", "<http://www.opengis.net/def/crs/EPSG/0/4326>") == [16.37, 48.2])
    let mercator = try await put(
      "[1822300.064,6140192.439]", "<http://www.opengis.net/def/crs/EPSG/0/3857>")
    #expect(abs(mercator[0] - 16.37) < 1e-6 && abs(mercator[1] - 48.2) < 1e-6)
    let unknown = try await service.driver.send(
      .PUT, Self.first, headers: ["content-crs": "<http://www.opengis.net/def/crs/EPSG/0/31256>"], json: Self.feature)
    #expect(unknown.status == 400)
  }

  @Test func repeatInAnotherSystemIsAnotherRequest() async throws {
    let service = try await Self.service()
    func create(_ system: String) async throws -> Int {
      let headers: HTTPHeaders = [
        "content-type": "application/geo+json", "content-crs": system, "idempotency-key": "1",
      ]
      return try await service.driver.send(.POST, Self.items, headers: headers, json: Self.feature).status
    }

    #expect(try await create("<http://www.opengis.net/def/crs/OGC/1.3/CRS84>") == 201)
    #expect(try await create("<http://www.opengis.net/def/crs/OGC/1.3/CRS84>") == 201)
    #expect(try await create("<http://www.opengis.net/def/crs/EPSG/0/4326>") == 422)
  }

  @Test func tagsMayBeTextAndBodiesWithoutAMediaType() async throws {
    let service = try await Self.service()
    let json =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"name":"a","tags":"{\"b\":\"c\"}","population":null,"version":null}}"#
    let response = try await service.driver.send(.PUT, Self.first, body: .init(string: json))

    #expect(response.status == 200, "\(response.text)")
    #expect(try response.object.properties["tags"] as? [String: String] == ["b": "c"])
  }

  @Test func deletedFeatureIsGone() async throws {
    let service = try await Self.service()

    #expect(try await service.driver.send(.DELETE, Self.first, headers: ["if-match": "\"77\""]).status == 412)
    #expect(try await service.driver.send(.DELETE, Self.first).status == 204)
    #expect(try await service.get(Self.first).status == 404)
    #expect(try await service.driver.send(.DELETE, Self.first).status == 404)
    #expect(try await service.driver.send(.DELETE, Self.items + "/7").status == 404)
  }

  @Test func invalidFeaturesAreRejected() async throws {
    let service = try await Self.service()
    func post(_ json: String, _ type: String = "application/geo+json") async throws -> Int {
      try await service.driver.send(.POST, Self.items, headers: ["content-type": type], json: json).status
    }

    #expect(try await post("{") == 400)
    #expect(try await post("[]") == 422)
    #expect(try await post("{}") == 422)
    #expect(try await post(Self.feature.replacing("Corner", with: "")) == 422)
    #expect(try await post(Self.feature.replacing("[16.37,48.2]", with: "[16.37,91]")) == 422)
    #expect(try await post(Self.feature.replacing("Point", with: "LineString")) == 422)
    #expect(try await post(Self.feature.replacing("{\"name\"", with: "{\"colour\":1,\"name\"")) == 422)
    #expect(try await post(Self.feature, "text/csv") == 415)
  }

  @Test(arguments: [
    (#""name":"a","cuisine":[1,2]"#, "/properties/cuisine"),
    (#""name":"a","tags":{"river":[1]}"#, "/properties/tags/river"),
    (#""name":"a","tags":{"cuisine":{}}"#, "/properties/tags/cuisine"), (#""name":"""#, "/properties/name"),
    (#""name":"a","source":"s""#, "/properties/sourceId"), (#""name":"a","colour":1"#, "/properties/colour"),
  ])
  func problemsNameTheMembersThatWereSent(properties: String, pointer: String) async throws {
    let service = try await FeaturesService([.at(0, 1, name: "old")], types: FeaturesService.types)
    let json =
      #"{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{\#(properties)}}"#

    let created = try await service.driver.send(
      .POST, Self.items, headers: ["content-type": "application/geo+json"], json: json)
    let patched = try await service.driver.send(
      .PATCH, Self.first, headers: ["content-type": "application/merge-patch+json"],
      json: #"{"properties":{\#(properties)}}"#)

    #expect(try created.pointers == [pointer], "\(created.text)")
    #expect(try patched.pointers == [pointer], "\(patched.text)")
  }

  @Test(arguments: ["/ogc/collections/places/items", "/locations"])
  func conflictNamesTheProperty(target: String) async throws {
    let service = try await Self.service()
    let feature = Self.feature.replacing("{\"name\"", with: #"{"source":"s","sourceId":"1","name""#)
    func post() async throws -> ServiceDriver.Response {
      try await service.driver.send(.POST, target, headers: ["content-type": "application/geo+json"], json: feature)
    }

    #expect(try await post().status == 201)
    let conflict = try await post()
    #expect(conflict.status == 409)
    #expect(try conflict.pointers == ["/properties/sourceId"])
  }

  @Test func groupTakesFeaturesOfItsCategoriesAlone() async throws {
    let service = try await Self.service("food=cafe;culture=museum")
    let museum = Self.feature.replacing("{\"name\"", with: "{\"category\":\"museum\",\"name\"")
    func send(_ method: HTTPMethod, _ target: String, _ json: String) async throws -> Int {
      try await service.driver.send(
        method, "/ogc/collections/" + target, headers: ["content-type": "application/geo+json"], json: json
      ).status
    }
    let id = "\(PointID.sample(1))"

    #expect(try await send(.POST, "culture/items", museum) == 201)
    #expect(try await send(.POST, "food/items", museum) == 422)
    #expect(try await send(.POST, "food/items", Self.feature) == 422)
    #expect(try await send(.PUT, "culture/items/\(id)", museum) == 404)
    #expect(try await send(.PATCH, "culture/items/\(id)", "{}") == 404)
    #expect(try await send(.DELETE, "culture/items/\(id)", "") == 404)
    #expect(try await send(.PATCH, "food/items/\(id)", #"{"properties":{"category":"museum"}}"#) == 422)
    #expect(try await send(.PATCH, "places/items/\(id)", #"{"properties":{"category":"museum"}}"#) == 200)
    #expect(try await send(.DELETE, "culture/items/\(id)", "") == 204)
  }

  @Test func allowNamesTheMethodsOfItemsAndItem() async throws {
    let service = try await Self.service()
    func allowed(_ service: FeaturesService, _ target: String) async throws -> String? {
      try await service.driver.send(.OPTIONS, target).headers.first(name: "allow")
    }

    #expect(try await allowed(service, Self.items) == "GET, HEAD, OPTIONS, POST")
    #expect(try await allowed(service, Self.first) == "DELETE, GET, HEAD, OPTIONS, PATCH, PUT")
  }
}
