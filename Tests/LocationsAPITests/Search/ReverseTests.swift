import Foundation
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct ReverseTests {
  private func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [
      .at(
        53.076, 8.807, name: "Rathaus", category: "townhall",
        tags: [
          "addr:street": "Am Markt", "addr:housenumber": "21", "addr:postcode": "28195", "addr:city": "Bremen",
          "addr:country": "DE", "name:en": "Town Hall",
        ]),
      .at(53.08, 8.81, name: "Café", category: "cafe", sourceID: "7"),
    ])
  }

  @Test func nearestPlaceHasALabel() async throws {
    let response = try await driver().send(.GET, "/locations/reverse?lat=53.0761&long=8.8071")

    #expect(response.status == 200)
    #expect(try response.object["label"] as? String == "Rathaus, Am Markt 21, 28195 Bremen")
    #expect(try response.object["name"] as? String == "Rathaus")
    #expect(try Set(response.object.keys) == ["id", "name", "category", "lat", "long", "distance", "tags", "label"])
    #expect(response.headers["vary"] == ["accept, accept-encoding, accept-language"])
    #expect(response.headers.contains(name: "etag"))
  }

  @Test func categoryAndFieldsAreSelected() async throws {
    let response = try await driver().send(
      .GET, "/locations/reverse?lat=53.076&long=8.807&category=cafe&fields=label,source")

    #expect(response.text == #"{"source":"test","label":"Café"}"#)
  }

  @Test(arguments: [
    ("geojson", #""label":"Rathaus, Am Markt 21, 28195 Bremen"}}"#),
    ("csv", "distance,tags,label\r\n"),
  ])
  func labelIsInEveryFormat(format: String, expected: String) async throws {
    let response = try await driver().send(.GET, "/locations/reverse?lat=53.076&long=8.807&f=\(format)")

    #expect(response.status == 200)
    #expect(response.text.contains(expected))
  }

  @Test func headerChoosesTheLanguageAndTheEntityTag() async throws {
    let driver = try await driver()
    let target = "/locations/reverse?lat=53.076&long=8.807"

    let own = try await driver.send(.GET, target)
    let english = try await driver.send(.GET, target, headers: ["accept-language": "en"])
    let tag = try #require(english.headers.first(name: "etag"))
    let known = try await driver.send(.GET, target, headers: ["accept-language": "en", "if-none-match": tag])
    let other = try await driver.send(.GET, target, headers: ["accept-language": "de", "if-none-match": tag])
    let byParameter = try await driver.send(.GET, target + "&lang=en", headers: ["accept-language": "de"])

    #expect(try english.object["label"] as? String == "Town Hall, Am Markt 21, 28195 Bremen")
    #expect(english.headers["content-language"] == ["en"])
    #expect(own.headers["etag"] != english.headers["etag"])
    #expect(known.status == 304)
    #expect(known.headers["vary"] == ["accept, accept-encoding, accept-language"])
    #expect(other.status == 200)
    #expect(try byParameter.object["name"] as? String == "Town Hall")
    #expect(byParameter.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test func placeOutsideOfTheRadiusIs404() async throws {
    let response = try await driver().send(.GET, "/locations/reverse?lat=0&long=0&radius=10")

    #expect(response.status == 404)
    #expect(try response.code == "not-found")
  }

  @Test(arguments: [
    ("", ["lat", "long"]), ("?lat=1", ["long"]), ("?lat=x&long=1", ["lat"]), ("?lat=1&long=1&q=a", ["q"]),
    ("?lat=1&long=1&fields=score", ["fields"]),
  ])
  func invalidParametersAreReported(query: String, parameters: [String]) async throws {
    let response = try await driver().send(.GET, "/locations/reverse\(query)")

    #expect(response.status == 400)
    #expect(try response.parameters == parameters)
  }

  @Test func labelIsNoFieldOfLists() async throws {
    let response = try await driver().send(.GET, "/locations?fields=label")

    #expect(response.status == 400)
    #expect(try response.parameters == ["fields"])
  }
}
