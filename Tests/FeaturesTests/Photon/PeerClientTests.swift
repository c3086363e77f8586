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

/// Requests as the clients of Photon and Nominatim send them, and what they read of the responses.
@Suite struct PeerClientTests {
  private static func driver() async throws -> ServiceDriver {
    let store = MemoryStore()
    let hall: KeyValuePairs = [
      "amenity": "townhall", "name:en": "Town Hall", "addr:street": "Am Markt", "addr:housenumber": "21",
      "addr:postcode": "28195", "addr:country": "DE", "wheelchair": "yes",
    ]
    let house: KeyValuePairs = [
      "addr:street": "Rue Normandie Maine", "addr:housenumber": "11 bis", "addr:city": "Gesvres",
    ]
    let places: [(Double, Double, String, String, KeyValuePairs<String, String>)] = [
      (48.5, 16.5, "Rathaus", "way/123", hall), (48.6, 16.5, "Rathaus Apotheke", "node/5", ["amenity": "pharmacy"]),
      (40.4168, -3.7038, "Madrid", "node/9", ["place": "city", "addr:country": "ES"]),
      (48.36, -0.62, "Ferme", "node/11", house), (48.7, 16.5, "Bremer Berg", "n12", ["natural": "peak"]),
      (48.8, 16.5, "Bremen Hauptbahnhof", "node/13", ["railway": "station"]),
    ]
    for (latitude, longitude, name, sourceID, tags) in places {
      let draft = try PointDraft(
        name: name, category: tags.first { $0.key == "amenity" }?.value,
        coordinate: Coordinate(latitude: latitude, longitude: longitude), tags: Tags(tags), source: "osm",
        sourceID: sourceID)
      _ = try await store.create(draft, once: nil)
    }
    let areas = AreaEditor(store)
    let city = try AreaDraft.sample("Bremen", names: ["en": "Bremen City"], kind: .city)
    _ = try await areas.create(
      try AreaDraft(
        name: city.name, names: city.names, kind: .city, importance: 0.7, outline: city.outline, source: "osm",
        sourceID: "relation/62559"), once: nil)
    let country = try AreaDraft.sample("Deutschland", degrees: 3, kind: .country)
    _ = try await areas.create(
      try AreaDraft(
        name: country.name, kind: .country, outline: country.outline, tags: Tags(["ISO3166-1": "DE"] as KeyValuePairs)),
      once: nil)
    return ServiceDriver(writing: store)
  }

  private static func response(_ target: String, headers: HTTPHeaders = [:]) async throws -> ServiceDriver.Response {
    let response = try await driver().send(.GET, target, headers: headers)
    #expect(response.status == 200, "\(target): \(response.text)")
    return response
  }

  private static func features(_ target: String) async throws -> [[String: Any]] {
    try #require(try await response(target).object["features"] as? [[String: Any]], "\(target)")
  }

  private static func properties(_ feature: [String: Any]) throws -> [String: Any] {
    try #require(feature["properties"] as? [String: Any])
  }

  // MARK: Photon

  /// The defaults of leaflet-control-geocoder and leaflet.photon have a slash before the question mark.
  @Test(arguments: [
    "/api/?q=rathaus", "/api/?q=rathaus&limit=5&lat=48.5&lon=16.5", "/reverse/?lat=48.5&lon=16.5",
    "/reverse/?limit=1&lat=48.5&lon=16.5", "/structured/?street=am%20markt&housenumber=21",
    // geopy.
    "/api?q=rathaus&limit=1&lang=de&lon=16.5&lat=48.5&bbox=16.0,48.0,17.0,49.0&osm_tag=amenity%3A%21pharmacy",
    "/reverse?lat=48.5&lon=16.5&limit=1&lang=de",
  ])
  func leafletReadsNamesAndPositionsOfPhoton(target: String) async throws {
    let feature = try #require(try await Self.features(target).first)
    let geometry = try #require(feature["geometry"] as? [String: Any])

    #expect(geometry["coordinates"] as? [Double] == [16.5, 48.5])
    let properties = try Self.properties(feature)
    #expect(properties["name"] as? String == "Rathaus" && properties["osm_value"] as? String == "townhall")
    #expect(properties["country"] as? String != nil && properties["city"] as? String == "Bremen")
    #expect(properties["extent"] == nil)
  }

  @Test func areasHaveTheExtentFromTheNorthWestToTheSouthEast() async throws {
    let area = try #require(try await Self.features("/api/?q=bremen&layer=city").first)

    // The edges are geodesics, which are north and south of the corners.
    let extent = try #require(try Self.properties(area)["extent"] as? [Double])
    #expect(extent.map { ($0 * 10).rounded() / 10 } == [16, 49, 17, 48])
  }

  /// Parameters that Photon or Nominatim documents are taken or ignored, and those of neither are ignored.
  @Test(arguments: [
    "/api?q=x&lat=1&lon=1&location_bias_scale=20", "/api?q=x&lat=1&lon=1&location_bias_scale=-1&zoom=99",
    "/api?q=x&zoom=-3", "/api?q=x&suggest_addresses=true", "/api?q=x&limit=0", "/api?q=x&limit=-5", "/api?q=x&lang=",
    "/api?q=x&countrycode=", "/api?q=x&bbox=17,49,16,48", "/api?q=x&debug=x&geometry=true&unknown=1&long=2",
    "/reverse?lat=0&lon=0&distance_sort=x&query_string_filter=a", "/structured?city=a&countrycode=DE&q=b",
    "/nominatim/search.php?q=x", "/nominatim/search/?q=x", "/nominatim/reverse.php?lat=0&lon=0",
    "/nominatim/lookup.php?osm_ids=N1", "/nominatim/status.php?format=json", "/nominatim/search?q=",
    "/nominatim/search?q=x&polygon_geojson=0", "/nominatim/search?q=x&layer=poi", "/nominatim/search?q=x&layer=",
    "/nominatim/search?q=x&json_callback=cb", "/nominatim/search?q=x&countrycodes=", "/nominatim/search?q=x&viewbox=",
    "/nominatim/search?q=x&featureType=&exclude_place_ids=&accept-language=&email=", "/nominatim/search?q=x&bounded=1",
    "/nominatim/search?q=x&viewbox=-200,-95,200,95&bounded=1", "/nominatim/search?q=x&limit=0",
    "/nominatim/search?q=x&polygon_kml=1&polygon_svg=1&polygon_text=1&polygon_threshold=0.1&entrances=1&debug=0",
    "/nominatim/search?q=x&exclude_place_ids=1,%20N5,w7&unknown=1", "/nominatim/reverse?lat=0&lon=0&zoom=19",
    "/nominatim/reverse?lat=0&lon=0&zoom=-1&layer=poi,natural&limit=1", "/nominatim/lookup?osm_ids=x,,N1&unknown=1",
  ])
  func documentedParametersAreTakenOrIgnored(target: String) async throws {
    _ = try await Self.response(target)
  }

  @Test(arguments: [
    ("/api?q=a&zoom=x", "message"), ("/reverse?lat=91&lon=0", "message"), ("/nominatim/search?q=a&layer=x", "error"),
    ("/nominatim/lookup", "error"),
  ])
  func problemHasTheMessageWhereClientsLookForIt(target: String, member: String) async throws {
    let response = try await Self.driver().send(.GET, target)

    #expect(response.status == 400)
    let object = try response.object
    let message = object["message"] ?? (object["error"] as? [String: Any])?["message"]
    #expect(object[member] != nil)
    #expect(message as? String == object["detail"] as? String)
  }

  @Test(arguments: [
    ("/api?q=x&lat=1&lon=2&zoom=99&location_bias_scale=20", 250.0, 0.5),
    ("/api?q=x&lat=1&lon=2&zoom=-7&location_bias_scale=-1", 65_536_000, 1),
  ])
  func biasIsClampedToPhotonsRanges(target: String, metres: Double, weight: Double) throws {
    var arguments = try PhotonArguments(
      ServiceDriver.request(.GET, target), allowing: PhotonArguments.searchParameters)

    let found = arguments.bias()
    let bias = try #require(found)

    #expect(bias.scaleMetres == metres)
    #expect(bias.weight == weight)
  }

  @Test(arguments: [
    ("street=rue+normandie-maine&housenumber=11bis", "Ferme"), ("street=Am-Markt&housenumber=21", "Rathaus"),
    ("street=Rue%20Normandie%20Maine&housenumber=11%20BIS", "Ferme"),
  ])
  func addressIsFoundInOtherSpellings(query: String, name: String) async throws {
    let feature = try #require(try await Self.features("/structured?\(query)").first)

    #expect(try Self.properties(feature)["name"] as? String == name)
  }

  // MARK: Status

  @Test(
    arguments: [
      (["accept": "*/*"], false), (["accept": "application/json"], false),
      (["accept": "text/html,application/xhtml+xml,*/*;q=0.8"], true), ([:], true), (["accept": "image/png"], true),
    ] as [(HTTPHeaders, Bool)])
  func statusIsAPageForBrowsersAndPhotonsForPrograms(headers: HTTPHeaders, isPage: Bool) async throws {
    for (method, path) in [(HTTPMethod.GET, "/status"), (.HEAD, "/status"), (.GET, "/status/")] {
      let response = try await Self.driver().send(method, path, headers: headers)

      #expect(response.status == 200)
      let mediaType = try #require(response.headers.first(name: "content-type"))
      #expect(mediaType.hasPrefix(isPage ? "text/html" : "application/json"))
      if !isPage, method == .GET { #expect(try response.object["status"] as? String == "Ok") }
    }
  }

  @Test func statusOfNominatimIsATextOrJSON() async throws {
    let text = try await Self.response("/nominatim/status")
    let json = try await Self.response("/nominatim/status?format=json")

    #expect(text.text == "OK" && text.headers["content-type"] == ["text/plain; charset=utf-8"])
    #expect(try json.object["status"] as? Int == 0 && json.object["message"] as? String == "OK")
    #expect(try await Self.driver().send(.GET, "/nominatim/status?format=xml").parameters == ["format"])
  }

  @Test func statusSaysThatTheStoreDoesNotRespond() async throws {
    let driver = ServiceDriver(store: AwayStore())

    #expect(try await driver.send(.GET, "/status", headers: ["accept": "*/*"]).status == 503)
    #expect(try await driver.send(.GET, "/nominatim/status").status == 503)
    #expect(try await driver.send(.GET, "/nominatim/status?format=json").object["status"] as? Int == 700)
  }

  // MARK: Nominatim

  /// leaflet-control-geocoder makes an HTML text of the address, which must be there, and bounds of the box.
  @Test func leafletReadsTheListAndThePlaceOfNominatim() async throws {
    let list = try await Self.response("/nominatim/search?q=rathaus&limit=5&format=json&addressdetails=1").array
    let place = try await Self.response(
      "/nominatim/reverse?lat=48.5001&lon=16.5&zoom=19&addressdetails=1&format=json"
    ).object

    #expect(list.count == 2)
    for item in list + [place] {
      #expect(item["address"] is [String: String])
      let box = try #require(item["boundingbox"] as? [String])
      #expect(box.compactMap { Double($0) }.count == 4)
      #expect(Double(item["lat"] as? String ?? "") != nil && Double(item["lon"] as? String ?? "") != nil)
      #expect((item["display_name"] as? String)?.isEmpty == false)
      #expect(item["class"] as? String == "amenity" && item["importance"] is Double)
    }
  }

  /// The sample of maplibre-gl-geocoder computes the centre of `bbox`.
  @Test func mapLibreReadsTheBoxesOfFeatures() async throws {
    let features = try await Self.features(
      "/nominatim/search?q=bremen&format=geojson&polygon_geojson=1&addressdetails=1")
    let area = try #require(features.first)

    let box = try #require(area["bbox"] as? [Double])
    #expect(box.map { ($0 * 10).rounded() / 10 } == [16, 48, 17, 49])
    #expect((area["geometry"] as? [String: Any])?["type"] as? String == "Polygon")
    let properties = try Self.properties(area)
    #expect(properties["display_name"] as? String == "Bremen, Germany")
    #expect(properties["importance"] as? Double == 0.7)
    let plain = try #require(
      try await Self.features("/nominatim/search?q=bremen&format=geojson&polygon_geojson=0").first)
    #expect((plain["geometry"] as? [String: Any])?["type"] as? String == "Point")
  }

  /// The integration places of Home Assistant sends empty parameters, and looks the object up that it was given.
  @Test func homeAssistantReadsThePlaceAndItsDetails() async throws {
    let reverse = try await Self.response(
      "/nominatim/reverse?format=json&lat=48.5&lon=16.5&accept-language=&addressdetails=1&namedetails=1&zoom=18&limit=1"
        + "&email="
    ).object
    let type = try #require(reverse["osm_type"] as? String).prefix(1).uppercased()
    let id = try #require(reverse["osm_id"] as? Int)
    let details = try await Self.response(
      "/nominatim/lookup?osm_ids=\(type)\(id)&format=json&addressdetails=1&extratags=1&namedetails=1&email="
        + "&accept-language="
    ).array

    #expect(details.count == 1)
    for place in [reverse, details[0]] {
      #expect(place["licence"] as? String == NominatimAttributions.openStreetMap)
      #expect(place["type"] as? String == "townhall")
      #expect((place["namedetails"] as? [String: String])?["name"] == "Rathaus")
      let address = try #require(place["address"] as? [String: String])
      #expect(address["house_number"] == "21" && address["road"] == "Am Markt" && address["city"] == "Bremen")
      #expect(address["country_code"] == "de" && address["postcode"] == "28195")
    }
    #expect((details[0]["extratags"] as? [String: String])?["wheelchair"] == "yes")
  }

  @Test(arguments: [
    // geopy, with `exactly_one` and without.
    ("city=Madrid&format=json&limit=1", ["Madrid"]), ("city=Madrid&country=Spain&format=json", ["Madrid"]),
    ("city=madrid&country=es", ["Madrid"]), ("city=madrid&country=Espa%C3%B1a", ["Madrid"]),
    ("city=madrid&country=France", []), ("city=madrid&country=Nowhere", []),
    ("city=madrid&countrycodes=fr&country=es", []),
    ("street=21%20Am%20Markt&city=Bremen", ["Rathaus"]), ("street=Am+Markt+21&postalcode=28195", ["Rathaus"]),
    ("street=Am%20Markt", ["Rathaus"]), ("street=Am%20Markt%2022", []), ("postalcode=28195", ["Rathaus"]),
    ("street=11%20bis,%20Rue%20Normandie%20Maine", ["Ferme"]), ("amenity=apotheke&city=Bremen", ["Rathaus Apotheke"]),
    ("amenity=pharmacy&city=Bremen", ["Rathaus Apotheke"]), ("amenity=rathaus&street=Am+Markt", ["Rathaus"]),
    ("country=Deutschland", ["Deutschland"]), ("country=Germany", ["Deutschland"]), ("city=Bremen", ["Bremen"]),
    ("city=Bremen&state=", ["Bremen"]), ("city=xyzzy", []),
    // Positions.
    ("q=48.5,16.5", ["Rathaus"]), ("q=48.5%2016.5", ["Rathaus"]), ("q=N48.5%20E16.5", ["Rathaus"]),
    ("q=48.5N,16.5E", ["Rathaus"]), ("q=48%C2%B030%2700%22N%2016%C2%B030%2700%22E", ["Rathaus"]),
    ("q=[48.5,16.5]", ["Rathaus"]), ("q=0.5,0.5", []),
    // Filters.
    ("q=bremen&layer=address", ["Bremen"]), ("q=brem&layer=natural", ["Bremer Berg"]),
    ("q=bremen&layer=railway", ["Bremen Hauptbahnhof"]), ("q=rathaus&layer=poi,address&limit=1", ["Rathaus"]),
    ("q=rathaus&layer=natural", []), ("q=rathaus&exclude_place_ids=W123", ["Rathaus Apotheke"]),
    ("q=bremen&exclude_place_ids=R62559", ["Bremen Hauptbahnhof", "Bremer Berg"]),
    ("q=rathaus&viewbox=17,48.55,16,49&bounded=1", ["Rathaus Apotheke"]),
    ("q=rathaus&viewbox=16,49,17,48.55&bounded=1", ["Rathaus Apotheke"]),
    ("q=[pharmacy]&viewbox=16,49,17,48&bounded=1", ["Rathaus Apotheke"]),
  ])
  func nominatimFinds(query: String, names: [String]) async throws {
    let found = try await Self.response("/nominatim/search?\(query)").names

    #expect(found == names)
  }

  @Test func excludedNumberIsThatOfAnEarlierResponse() async throws {
    let driver = try await Self.driver()
    let first = try #require(try await driver.send(.GET, "/nominatim/search?q=rathaus&limit=1").array.first)
    let number = try #require(first["place_id"] as? Int64)

    let rest = try await driver.send(.GET, "/nominatim/search?q=rathaus&exclude_place_ids=\(number)")

    #expect(try rest.names == ["Rathaus Apotheke"])
  }

  @Test func objectsAreLookedUpInTheirOrder() async throws {
    let response = try await Self.response("/nominatim/lookup?osm_ids=R62559,N99,n12,W123,N12,N5")

    #expect(try response.names == ["Bremen", "Bremer Berg", "Rathaus", "Rathaus Apotheke"])
    let many = (0..<51).map { "N\($0)" }.joined(separator: ",")
    #expect(try await Self.driver().send(.GET, "/nominatim/lookup?osm_ids=\(many)").parameters == ["osm_ids"])
    #expect(try await Self.driver().send(.GET, "/nominatim/lookup").parameters == ["osm_ids"])
  }

  /// Areas are of the theme of addresses alone.
  @Test(
    arguments: [
      ("layer=poi", "Rathaus"), ("layer=natural", nil), ("layer=railway", nil), ("layer=natural&zoom=10", nil),
      ("layer=address&zoom=10", "Bremen"), ("zoom=3", "Deutschland"),
    ] as [(String, String?)])
  func reverseIsFilteredByThemes(query: String, name: String?) async throws {
    let place = try await Self.response("/nominatim/reverse?lat=48.5&lon=16.5&\(query)").object

    #expect(place["name"] as? String == name)
    #expect(place["error"] as? String == (name == nil ? "Unable to geocode" : nil))
  }

  @Test func geocodeJSONHasThePartsOfTheAddress() async throws {
    let response = try await Self.response("/nominatim/reverse?lat=48.5&lon=16.5&format=geocodejson").object
    let search = try await Self.response("/nominatim/search?q=rathaus&format=geocodejson&limit=1").object

    let feature = try #require((response["features"] as? [[String: Any]])?.first)
    let geocoding = try #require(try Self.properties(feature)["geocoding"] as? [String: Any])
    #expect(geocoding["type"] as? String == "house" && geocoding["osm_value"] as? String == "townhall")
    #expect(geocoding["housenumber"] as? String == "21" && geocoding["street"] as? String == "Am Markt")
    #expect((search["geocoding"] as? [String: Any])?["query"] as? String == "rathaus")
    #expect((search["geocoding"] as? [String: Any])?["version"] as? String == "0.1.0")
  }

  @Test func polygonOfJSONIsThatOfTheArea() async throws {
    let list = try await Self.response("/nominatim/search?q=bremen&format=json&polygon_geojson=1&limit=5").array

    #expect((list.first?["geojson"] as? [String: Any])?["type"] as? String == "Polygon")
    #expect((list.last?["geojson"] as? [String: Any])?["type"] as? String == "Point")
  }

  @Test(arguments: [
    ("search?q=a&city=b", ["q"]), ("search?city=-", ["city"]), ("search?format=xml&q=a", ["format"]),
    ("search?q=a&exclude_place_ids=x", ["exclude_place_ids"]), ("search?q=a&layer=planet", ["layer"]),
    ("search?q=a&limit=x", ["limit"]), ("reverse?lat=0&lon=0&zoom=x", ["zoom"]),
    ("reverse?lat=0&lon=0&layer=x", ["layer"]), ("search?q=a&viewbox=a,b,c,d", ["viewbox"]),
  ])
  func invalidValueOfNominatimIsNamed(target: String, names: [String]) async throws {
    let response = try await Self.driver().send(.GET, "/nominatim/\(target)")

    #expect(response.status == 400)
    #expect(try response.parameters == names)
  }
}

/// A store that does not respond.
private struct AwayStore: ForwardingStore {
  let store = MemoryStore()

  func checkReadiness() async throws(PointStoreError) -> StoreReadiness { throw .unavailable(reason: "away") }
}
