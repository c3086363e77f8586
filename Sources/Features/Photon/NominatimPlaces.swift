import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import PointDetails
import PointFormats
import Points
import SearchWords

/// The attributions of data sets, which are read at most once in some seconds.
struct NominatimAttributions: Sendable {
  /// The attribution that Nominatim states, for objects of OpenStreetMap.
  static let openStreetMap = "Data © OpenStreetMap contributors, ODbL 1.0. http://osm.org/copyright"

  private let service: PointsService
  private let recent: RecentValue<Current>

  /// The attributions at a time.
  struct Current: Sendable {
    /// The attributions, or else the licences, by the names of the data sets.
    fileprivate var texts: [ExactText: String] = [:]

    /// The names of the data sets of OpenStreetMap.
    private(set) var sourcesOfOpenStreetMap = ["osm"]

    fileprivate init(_ sources: [DataSource]) {
      for source in sources {
        if let text = source.attribution ?? source.licence { texts[ExactText(source.name)] = text }
        let words = [source.name, source.attribution ?? "", source.licence ?? ""].joined(separator: " ").lowercased()
        if source.name != "osm", words.contains("osm") || words.contains("openstreetmap") {
          sourcesOfOpenStreetMap.append(source.name)
        }
      }
      sourcesOfOpenStreetMap = Array(sourcesOfOpenStreetMap.prefix(NominatimAttributions.maximumSources))
    }

    /// Returns the attribution of a place: that of its data set, or of OpenStreetMap; empty if it has none.
    fileprivate func text(of place: PhotonPlace) -> String {
      guard let origin = place.point.draft.origin else { return "" }
      return texts[ExactText(origin.source)]
        ?? (place.object == nil ? origin.source : NominatimAttributions.openStreetMap)
    }
  }

  /// The maximum number of data sets in which an object is looked up.
  private static let maximumSources = 8

  init(_ service: PointsService) {
    self.service = service
    recent = RecentValue(maximumAge: .seconds(10))
  }

  /// Returns the attributions; none while the store does not respond.
  func current() async -> Current {
    await recent.value { [service] in Current((try? await service.sources()) ?? []) }
  }
}

/// Places as Nominatim describes them.
struct NominatimPlaces {
  let form: NominatimForm

  /// A Boolean value that indicates whether the response is a list, and not the first place alone.
  let isList: Bool

  /// The text of the search; `nil` for another call.
  let query: String?
  let attributions: NominatimAttributions.Current
  let areas: RequestAreas?

  /// The number of positions of outlines up to which they are written on the event loop.
  private static let shortOutlines = 2_000

  /// Returns the response with places, or with the first one alone.
  func response(to places: [PhotonPlace], _ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    if form.hasPolygons {
      let positions = places.reduce(0) { $0 + (outline(of: $1)?.positionCount ?? 0) }
      if positions > Self.shortOutlines {
        return try await request.computing { () throws(Problem) in try response(to: places) }
      }
    }
    return try await request.writingAddresses(
      of: places.lazy.map(\.point.draft.coordinate), in: areas
    ) { () throws(Problem) in
      try response(to: places)
    }
  }

  private func response(to places: [PhotonPlace]) throws(Problem) -> HTTPResponse {
    var points = places.map { FoundPoint(point: $0.point, distanceMetres: nil) }
    let used = form.languages.translate(&points)
    var json = JSONWriter(ByteBuffer())
    if !isList, places.isEmpty {
      json.beginObject()
      json.write(member: "error", "Unable to geocode")
      json.endObject()
    } else {
      begin(places, &json)
      for (original, point) in zip(places, points) {
        let around = try areas.completingAddress(of: point.point)
        // A city is in no city of its own name.
        let others = around.filter { area in
          PhotonLayer(area.draft.kind) != original.layer || area.draft.name != original.point.draft.name
        }
        append(
          Described(
            place: PhotonPlace(point.point, in: around), original: original, outline: outline(of: original),
            label: point.point.draft.label(in: others), language: form.languages.languages?.ranges.first?.text),
          to: &json)
      }
      end(&json)
    }
    var response = HTTPResponse(contentType: PointFormat.json.mediaType, bytes: json.sink)
    response.addContentLanguage(used)
    return response
  }

  /// Returns the outline of an area; `nil` for a place.
  private func outline(of place: PhotonPlace) -> AreaOutline? { areas?.areas[place.point.id]?.draft.outline }

  // MARK: Formats

  private func begin(_ places: [PhotonPlace], _ json: inout JSONWriter<ByteBuffer>) {
    switch form.format {
    case .json, .jsonv2: if isList { json.beginArray() }
    case .geojson:
      json.beginObject()
      json.write(member: "type", "FeatureCollection")
      json.write(member: "licence", licence(of: places))
      json.write(name: "features")
      json.beginArray()
    case .geocodejson:
      json.beginObject()
      json.write(member: "type", "FeatureCollection")
      json.write(name: "geocoding")
      json.beginObject()
      json.write(member: "version", "0.1.0")
      json.write(member: "attribution", licence(of: places))
      json.write(member: "query", query ?? "")
      json.endObject()
      json.write(name: "features")
      json.beginArray()
    }
  }

  private func end(_ json: inout JSONWriter<ByteBuffer>) {
    switch form.format {
    case .json, .jsonv2: if isList { json.endArray() }
    case .geojson, .geocodejson:
      json.endArray()
      json.endObject()
    }
  }

  /// Returns the attributions of all places, each once.
  private func licence(of places: [PhotonPlace]) -> String {
    let texts = Set(places.map { ExactText(attributions.text(of: $0)) }.filter { !$0.text.isEmpty })
    return texts.sorted().map(\.text).joined(separator: "; ")
  }

  /// A place with what its description needs.
  private struct Described {
    let place: PhotonPlace

    /// The place with its own name.
    let original: PhotonPlace
    let outline: AreaOutline?

    /// The name and the address in one line.
    let label: String

    /// The language of the country's name; `nil` for English.
    let language: String?

    var country: String? { place.countryName(in: language) }

    var displayName: String { country.map { label.hasSuffix($0) ? label : "\(label), \($0)" } ?? label }

    /// The bounds of the area, or the position, in degrees.
    var bounds: (west: Double, south: Double, east: Double, north: Double) {
      let center = place.point.draft.coordinate
      return outline?.bounds ?? (center.longitude, center.latitude, center.longitude, center.latitude)
    }

    /// The importance of the area; of others the one that Nominatim computes from the rank.
    func importance(in areas: RequestAreas?) -> Double {
      let stated = areas?.areas[place.point.id]?.draft.importance ?? 0
      return stated > 0 ? stated : max(0, 0.40001 - Double(place.layer.nominatimRank) / 75)
    }
  }

  private func append(_ described: Described, to json: inout JSONWriter<ByteBuffer>) {
    json.beginObject()
    switch form.format {
    case .json, .jsonv2:
      let coordinate = described.place.point.draft.coordinate
      writeObject(of: described, to: &json)
      json.write(member: "licence", attributions.text(of: described.place))
      json.write(member: "lat", "\(coordinate.latitude)")
      json.write(member: "lon", "\(coordinate.longitude)")
      writeProperties(of: described, categoryName: form.format == .json ? "class" : "category", to: &json)
      json.write(name: "boundingbox")
      json.beginArray()
      let bounds = described.bounds
      for edge in [bounds.south, bounds.north, bounds.west, bounds.east] { json.write(string: "\(edge)") }
      json.endArray()
      if form.hasPolygons { writeGeometry("geojson", of: described, to: &json) }
    case .geojson:
      json.write(member: "type", "Feature")
      json.write(name: "properties")
      json.beginObject()
      writeObject(of: described, to: &json)
      writeProperties(of: described, categoryName: "category", to: &json)
      json.endObject()
      json.write(name: "bbox")
      json.beginArray()
      let bounds = described.bounds
      for edge in [bounds.west, bounds.south, bounds.east, bounds.north] { json.write(number: edge) }
      json.endArray()
      writeGeometry("geometry", of: described, to: &json)
    case .geocodejson:
      json.write(member: "type", "Feature")
      json.write(name: "properties")
      json.beginObject()
      json.write(name: "geocoding")
      json.beginObject()
      writeObject(of: described, to: &json)
      writeGeocoding(of: described, to: &json)
      json.endObject()
      json.endObject()
      writeGeometry("geometry", of: described, to: &json)
    }
    json.endObject()
  }

  // MARK: Parts

  /// Writes the ids.
  private func writeObject(of described: Described, to json: inout JSONWriter<ByteBuffer>) {
    let point = described.place.point
    json.write(name: "place_id")
    json.write(integer: described.place.number)
    if let (type, id) = PhotonPlace.object(of: point.draft.origin) {
      json.write(member: "osm_type", type == "N" ? "node" : type == "W" ? "way" : "relation")
      json.write(name: "osm_id")
      json.write(integer: id)
    }
    json.write(member: "id", point.id.description)
  }

  private func writeProperties(
    of described: Described, categoryName: StaticString, to json: inout JSONWriter<ByteBuffer>
  ) {
    let (place, draft) = (described.place, described.place.point.draft)
    json.write(member: categoryName, place.mainTag.key.text)
    json.write(member: "type", place.mainTag.value.text)
    json.write(member: "place_rank", place.layer.nominatimRank)
    json.write(name: "importance")
    json.write(number: described.importance(in: areas))
    json.write(member: "addresstype", Self.addressType(place))
    json.write(member: "name", draft.name)
    json.write(member: "display_name", described.displayName)
    if form.hasAddress { writeAddress(of: described, to: &json) }
    if form.hasTags { write(member: "extratags", Self.otherTags(of: draft), to: &json) }
    if form.hasNames {
      let own = described.original.point.draft
      write(
        member: "namedetails", [(key: "name", value: own.name)] + own.tags.pairs.filter { Self.isName($0.key) },
        to: &json)
    }
  }

  private func writeGeocoding(of described: Described, to json: inout JSONWriter<ByteBuffer>) {
    let (place, address) = (described.place, described.place.address)
    json.write(member: "osm_key", place.mainTag.key.text)
    json.write(member: "osm_value", place.mainTag.value.text)
    json.write(member: "type", place.layer == .other ? PhotonLayer.house.rawValue : place.layer.rawValue)
    json.write(member: "label", described.displayName)
    json.write(member: "name", place.point.draft.name)
    if form.hasAddress {
      let parts: [(name: StaticString, text: String?)] = [
        ("housenumber", address.houseNumber), ("street", address.street), ("locality", address.neighbourhood),
        ("district", address.district), ("postcode", address.postcode), ("city", address.city),
        ("county", address.county), ("state", address.state), ("country", described.country),
        ("country_code", address.countryCode?.lowercased()),
      ]
      for (name, text) in parts {
        if let text { json.write(member: name, text) }
      }
      json.write(name: "admin")
      json.beginObject()
      json.endObject()
    }
    if form.hasTags { write(member: "extra", Self.otherTags(of: place.point.draft), to: &json) }
  }

  private func writeGeometry(
    _ name: StaticString, of described: Described, to json: inout JSONWriter<ByteBuffer>
  ) {
    json.write(name: name)
    if form.hasPolygons, let outline = described.outline {
      AreaJSON.geometry(of: outline).withUnsafeBufferPointer { json.write(json: $0) }
      return
    }
    let coordinate = described.place.point.draft.coordinate
    json.beginObject()
    json.write(member: "type", "Point")
    json.write(name: "coordinates")
    json.beginArray()
    json.write(number: coordinate.longitude)
    json.write(number: coordinate.latitude)
    json.endArray()
    json.endObject()
  }

  private static func isName(_ key: String) -> Bool { key.hasPrefix("name:") || key.hasSuffix("_name") }

  /// Returns the tags of no name and no address.
  private static func otherTags(of draft: PointDraft) -> [(key: String, value: String)] {
    draft.tags.pairs.filter { !isName($0.key) && !$0.key.hasPrefix("addr:") }
  }

  private static func addressType(_ place: PhotonPlace) -> String {
    switch place.layer {
    case .house, .other: place.mainTag.key.text
    case .street: "road"
    case .locality: place.mainTag.value.text
    case .district: "suburb"
    case .city, .county, .state, .country: place.layer.rawValue
    }
  }

  private func writeAddress(of described: Described, to json: inout JSONWriter<ByteBuffer>) {
    let (place, address) = (described.place, described.place.address)
    let parts: [(name: String, text: String?)] = [
      ("house_number", address.houseNumber), ("road", address.street), ("neighbourhood", address.neighbourhood),
      ("suburb", address.district), ("city", address.city), ("county", address.county), ("state", address.state),
      ("postcode", address.postcode), ("country", described.country),
      ("country_code", address.countryCode?.lowercased()),
    ]
    let type = Self.addressType(place)
    let own = [(name: type, text: String?.some(place.point.draft.name))]
    let others = parts.filter { !$0.name.hasSameBytes(as: type) }
    write(member: "address", (own + others).compactMap { part in part.text.map { (part.name, $0) } }, to: &json)
  }

  /// Writes an object of texts; `null` where there are none.
  private func write(
    member name: StaticString, _ texts: [(key: String, value: String)], to json: inout JSONWriter<ByteBuffer>
  ) {
    json.write(name: name)
    if texts.isEmpty { return json.writeNull() }
    json.beginObject()
    for (key, value) in texts {
      json.write(escapedName: key)
      json.write(string: value)
    }
    json.endObject()
  }
}

extension PhotonLayer {
  /// The place in the order of the sizes of places, as Nominatim counts it.
  fileprivate var nominatimRank: Int {
    switch self {
    case .country: 4
    case .state: 8
    case .county: 12
    case .city: 16
    case .district: 18
    case .locality: 20
    case .street: 26
    case .house, .other: 30
    }
  }
}

extension Schema {
  static let nominatimPlace: Schema = {
    let (text, tags) = (Schema(.string), Schema.tags.orNull)
    return Schema(
      .object(
        [
          .required("place_id", count), .optional("osm_type", .oneOf(["node", "way", "relation"])),
          .optional("osm_id", count), .required("id", uuid), .required("licence", text), .required("lat", text),
          .required("lon", text), .optional("class", text), .optional("category", text), .required("type", text),
          .required("place_rank", count), .required("importance", Schema(.number, nil, ["minimum": 0, "maximum": 1])),
          .required("addresstype", text), .required("name", text), .required("display_name", text),
          .optional("address", Schema(.object([], others: text))), .optional("extratags", tags),
          .optional("namedetails", tags),
          .required("boundingbox", Schema(.array(of: text), nil, ["minItems": 4, "maxItems": 4])),
          .optional("geojson", jsonObject),
        ], others: nil),
      "A place with the properties of Nominatim's API.", example: Examples.nominatim
    ).named("NominatimPlace", order: 80)
  }()

  /// The features of GeoJSON and GeocodeJSON. Their properties are objects of any members, since a generated client would
  /// have a type for each.
  static let nominatimFeatures: Schema = {
    let feature = Schema(
      .object(
        [
          .required("type", .oneOf(["Feature"])), .required("properties", jsonObject),
          .optional("bbox", Schema(.array(of: Schema(.number)), nil, ["minItems": 4, "maxItems": 4])),
          .required("geometry", jsonObject),
        ], others: nil))
    return Schema(
      .object(
        [
          .required("type", .oneOf(["FeatureCollection"])), .optional("licence", Schema(.string)),
          .optional("geocoding", jsonObject), .required("features", Schema(.array(of: feature))),
        ], others: nil),
      "Places as GeoJSON with the properties of Nominatim's API, or as GeocodeJSON with `geocoding`."
    ).named("NominatimFeatureCollection", order: 82)
  }()

  /// The places of a list, in each of the formats.
  static let nominatimPlaces = Schema(.anyOf([Schema(.array(of: .nominatimPlace)), .nominatimFeatures]))
}

extension Examples {
  static let nominatim: JSONValue = [
    "place_id": 7_345_091_273_562_240, "osm_type": "node", "osm_id": 17, "id": .string(id),
    "licence": .string(NominatimAttributions.openStreetMap), "lat": "48.2", "lon": "16.37", "category": "amenity",
    "type": "cafe", "place_rank": 30, "importance": 0.00001, "addresstype": "amenity", "name": "Corner Café",
    "display_name": "Corner Café, 1010 Wien, Austria", "boundingbox": ["48.2", "48.2", "16.37", "16.37"],
  ]
}
