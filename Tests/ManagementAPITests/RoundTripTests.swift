import Foundation
import MemoryStore
import NIOCore
import NIOHTTP1
import ServiceTestSupport
import Testing

@testable import LocationsAPI

/// A place that was read can be edited and put back without loss.
@Suite struct PointRoundTripTests {
  private static let fields: Set = [
    "id", "name", "category", "lat", "long", "tags", "source", "sourceId", "version", "createdAt", "updatedAt",
  ]
  private let driver = ServiceDriver(writing: MemoryStore())
  private let place =
    #"{"name":"a","category":"cafe","lat":1,"long":2,"tags":{"k":"v"},"source":"osm","sourceId":"node/1"}"#

  private func create() async throws -> (target: String, response: ServiceDriver.Response) {
    let response = try await driver.send(.POST, "/locations", json: place)
    return ("/locations/" + (try #require(response.object["id"] as? String)), response)
  }

  @Test func singlePlacesAndWriteResponsesHaveAllFields() async throws {
    let (target, created) = try await create()
    let read = try await driver.send(.GET, target)
    let replaced = try await driver.send(.PUT, target, json: place)
    let changed = try await driver.send(
      .PATCH, target, headers: ["content-type": "application/merge-patch+json"], json: #"{"name":"b"}"#)

    for response in [created, read, replaced, changed] { #expect(try Set(response.object.keys) == Self.fields) }
    #expect(try await Set(driver.send(.GET, target + "?fields=name").object.keys) == ["name"])
  }

  @Test(arguments: ["/locations", "/locations/featured"])
  func otherReadsHaveTheStandardFields(target: String) async throws {
    _ = try await create()

    let response = try await driver.send(.GET, target)

    #expect(response.status == 200)
    #expect(!response.text.contains("sourceId") && !response.text.contains("version"))
  }

  @Test(arguments: [("application/json", "json"), ("application/geo+json", "geojson")])
  func editedPlaceKeepsItsSourceWhenItIsPutBack(type: String, format: String) async throws {
    let (target, _) = try await create()
    let read = try await driver.send(.GET, target + "?f=\(format)")
    let edited = read.text.replacing("\"name\":\"a\"", with: "\"name\":\"b\"")

    let written = try await driver.send(.PUT, target, headers: ["content-type": type], json: edited)

    #expect(written.status == 200)
    let object = try written.object
    #expect(object["name"] as? String == "b")
    #expect(object["source"] as? String == "osm")
    #expect(object["sourceId"] as? String == "node/1")
    let current = try #require(try await driver.send(.GET, target + "?fields=version").object["version"] as? Int)
    #expect(object["version"] as? Int == current)
    #expect(object["tags"] as? [String: String] == ["k": "v"])
  }

  @Test func fieldsThatTheServiceSetsAreIgnored() async throws {
    let service =
      #""id":"0199a1b2-0000-7000-8000-000000000001","version":99,"createdAt":"1999","updatedAt":7,"distance":3"#
    let body = "{\"name\":\"x\",\"lat\":1,\"long\":2,\(service)}"

    let created = try await driver.send(.POST, "/locations", json: body)
    let replaced = try await driver.send(.PUT, "/locations/0199A1B2-0000-7000-8000-000000000001", json: body)
    let patched = try await driver.send(
      .PATCH, "/locations/0199a1b2-0000-7000-8000-000000000001",
      headers: ["content-type": "application/merge-patch+json"], json: "{\(service)}")

    #expect([created, replaced, patched].map(\.status) == [201, 201, 200])
    #expect(try created.object["id"] as? String != "0199a1b2-0000-7000-8000-000000000001")
    for response in [created, replaced] { #expect(try response.object["version"] as? Int != 99) }
  }

  @Test(arguments: [HTTPMethod.PUT, .PATCH])
  func idThatContradictsThePathIsRejected(method: HTTPMethod) async throws {
    let (target, _) = try await create()
    let body = #"{"name":"x","lat":1,"long":2,"id":"0199a1b2-0000-7000-8000-000000000002"}"#

    let response = try await driver.send(method, target, json: body)

    #expect(response.status == 422)
    #expect(try response.pointers == ["/id"])
  }
}
