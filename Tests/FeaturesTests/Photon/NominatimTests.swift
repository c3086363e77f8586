import Foundation
import Geo
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI
@testable import Photon

/// `GET /nominatim/search` and `GET /nominatim/reverse`.
@Suite struct NominatimTests {
  private let store = MemoryStore()

  private func driver() async throws -> ServiceDriver {
    let hall: KeyValuePairs = [
      "amenity": "townhall", "addr:street": "Am Markt", "addr:housenumber": "21", "addr:postcode": "28195",
      "addr:country": "DE", "name:en": "Town Hall",
    ]
    let places: [(Double, String, String, KeyValuePairs<String, String>)] = [
      (48.5, "Rathaus", "way/123", hall), (48.6, "Rathaus Apotheke", "node/5", ["amenity": "pharmacy"]),
      (20, "Rathaus", "x", ["amenity": "townhall", "addr:country": "AT"]),
    ]
    for (latitude, name, sourceID, tags) in places {
      let draft = try PointDraft(
        name: name, category: nil, coordinate: Coordinate(latitude: latitude, longitude: 16.5), tags: Tags(tags),
        source: "osm", sourceID: sourceID)
      _ = try await store.create(draft, once: nil)
    }
    let areas = AreaEditor(store)
    _ = try await areas.create(.sample("Bremen", names: ["en": "Bremen City"], kind: .city), once: nil)
    _ = try await areas.create(.sample("Niederland", degrees: 3, kind: .country), once: nil)
    return ServiceDriver(writing: store)
  }

  private func found(_ driver: ServiceDriver, _ target: String) async throws -> [[String: Any]] {
    let response = try await driver.send(.GET, "/nominatim/search?\(target)")
    #expect(response.status == 200, "\(response.text)")
    return try #require(try JSONSerialization.jsonObject(with: response.body) as? [[String: Any]])
  }

  private func place(_ driver: ServiceDriver, _ target: String) async throws -> [String: Any] {
    let response = try await driver.send(.GET, "/nominatim/reverse?\(target)")
    #expect(response.status == 200, "\(response.text)")
    return try response.object
  }

  @Test func placeHasNominatimsProperties() async throws {
    let driver = try await driver()

    let query = "q=rathaus%20markt&addressdetails=1&extratags=1&namedetails=1&accept-language=en"
    let place = try #require(try await found(driver, query).first)

    #expect(place["osm_type"] as? String == "way" && place["osm_id"] as? Int == 123)
    #expect(place["lat"] as? String == "48.5" && place["lon"] as? String == "16.5")
    #expect(place["category"] as? String == "amenity" && place["type"] as? String == "townhall")
    #expect(place["name"] as? String == "Town Hall" && place["addresstype"] as? String == "amenity")
    #expect(place["display_name"] as? String == "Town Hall, Am Markt 21, 28195 Bremen, Germany")
    #expect(
      place["address"] as? [String: String] == [
        "amenity": "Town Hall", "house_number": "21", "road": "Am Markt", "city": "Bremen", "postcode": "28195",
        "country": "Germany", "country_code": "de",
      ])
    #expect(place["extratags"] as? [String: String] == ["amenity": "townhall"])
    #expect(place["namedetails"] as? [String: String] == ["name": "Rathaus", "name:en": "Town Hall"])
    #expect(place["boundingbox"] as? [String] == ["48.5", "48.5", "16.5", "16.5"])
    #expect(try #require(place["place_id"] as? Int64) < 1 << 53)
    #expect(try await found(driver, "q=rathaus%20markt&format=json").first?["class"] as? String == "amenity")
    #expect(try await found(driver, "q=rathaus%20markt").first?["address"] == nil)
  }

  @Test func areaOfTheNameComesFirstWithItsBounds() async throws {
    let driver = try await driver()

    let area = try #require(try await found(driver, "q=bremen").first)

    #expect(area["name"] as? String == "Bremen" && area["addresstype"] as? String == "city")
    let bounds = try #require(area["boundingbox"] as? [String]).compactMap { Double($0) }
    #expect(bounds.count == 4 && bounds[0] < 48 && bounds[1] > 49 && bounds[2...] == [16, 17])
  }

  @Test(arguments: [
    ("q=rathaus", 3), ("q=rathaus&limit=1", 1), ("q=rathaus&countrycodes=at", 1), ("q=rathaus&countrycodes=at,de", 2),
    ("q=rathaus&viewbox=16,49,17,48&bounded=1", 2), ("q=rathaus&viewbox=16,49,17,48&bounded=True", 2),
    ("q=rathaus&viewbox=16,49,17,48&bounded=0", 3), ("q=rathaus&viewbox=17,48,16,49", 3),
    ("q=bremen&featureType=country", 0), ("q=bremen&featureType=city", 1), ("q=!", 0), ("q=xyzzy", 0),
  ])
  func searchIsFiltered(query: String, count: Int) async throws {
    #expect(try await found(driver(), query).count == count)
  }

  @Test(arguments: [
    ("lat=48.5001&lon=16.5", "Rathaus"), ("lat=48.5001&lon=16.5&accept-language=en", "Town Hall"),
    ("lat=48.5001&lon=16.5&zoom=15", "Bremen"), ("lat=48.5001&lon=16.5&zoom=10", "Bremen"),
    ("lat=48.5001&lon=16.5&zoom=3", "Niederland"), ("lat=48.8&lon=16.8", "Bremen"),
    ("lat=50&lon=18&zoom=12", "Niederland"),
  ])
  func reverseFindsThePlaceOrTheArea(query: String, name: String) async throws {
    #expect(try await place(driver(), query)["name"] as? String == name)
  }

  @Test func nothingAtAPositionIsAnErrorInTheBody() async throws {
    #expect(try await place(driver(), "lat=0&lon=0")["error"] as? String == "Unable to geocode")
  }

  @Test(arguments: [
    ("search?", "q"), ("search?q=a&limit=x", "limit"), ("search?q=a&countrycodes=deu", "countrycodes"),
    ("search?q=a&viewbox=1,2,3", "viewbox"), ("search?q=a&viewbox=1,2,3,x", "viewbox"),
    ("search?q=a&featureType=x", "featureType"), ("search?q=a&format=xml", "format"),
    ("reverse?lat=1", "lon"), ("reverse?lat=1&lon=181", "lon"), ("reverse?lat=1&lon=1&zoom=x", "zoom"),
  ])
  func invalidParameterIsNamed(target: String, name: String) async throws {
    let response = try await ServiceDriver(writing: store).send(.GET, "/nominatim/\(target)")

    #expect(response.status == 400)
    #expect(try response.parameters == [name])
  }
}
