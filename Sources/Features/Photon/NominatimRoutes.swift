import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /nominatim/search`: the search of Nominatim's API (https://nominatim.org/release-docs/latest/api/Search/).
struct NominatimSearchRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/search", scope: .read, joinsRestriction: true, id: "nominatimSearch", group: .nominatim,
    summary: "Search for places and areas by name",
    description: "The most important area of the name comes first, then places, then other areas of the name.",
    ownParameters: PhotonArguments.nominatimSearchParameters,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, the best match first.", headers: [.contentLanguage],
        media: .json(Schema(.array(of: .nominatimPlace)), example: [Examples.nominatim]))
    ])

  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore

  /// The longest time of each search for a text.
  let timeLimit: Duration

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters)
    let text = arguments.text(isRequired: true)
    let limit = arguments.values.limit(
      atMost: PhotonArguments.maximumNominatimLimit, default: PhotonArguments.defaultNominatimLimit)
    let view = arguments.viewbox()
    let filter = arguments.nominatimFilter()
    let form = arguments.nominatimForm(request.headers, hasAddress: false)
    try arguments.check()
    let query = PointQuery(box: view.isBound ? view.box : nil)
    let areas = await areas.completingAddresses(for: request)
    return try await revalidation.respond(
      to: request, in: .json, languages: form.languages, areas: areas
    ) { () async throws(Problem) in
      guard case .words(let text) = text else {
        return ExpiringResponse(try await form.response(to: [], isList: true, areas, request))
      }
      let search = PhotonSearch(
        service: service, areas: areas, timeLimit: timeLimit, bias: view.bias, limit: limit, request: request)
      var found: [PhotonPlace] = []
      let all = areas?.areas
      if let area = all?.area(named: text, near: view.bias?.center) {
        let center = PhotonPlace(area)?.point.draft.coordinate
        found = try await request.writingAddresses(
          of: [center].compactMap(\.self), in: areas
        ) { () throws(Problem) in
          try [PhotonPlace]().addingAreas(filter, box: query.box, limit: limit, in: areas) { _ in [area] }
        }
      }
      let known = Set(found.map(\.point.id))
      found += try await search.places(named: text, query, filter).filter { !known.contains($0.point.id) }
      // With layers, the search has found the areas too.
      if found.count < limit, filter.layers.isEmpty, let all, !all.isEmpty {
        found = try await request.computing { [found] () throws(Problem) in
          try found.addingAreas(filter, box: query.box, limit: limit, in: areas) { kinds throws(PointStoreError) in
            try all.matching(text, kinds: kinds)
          }
        }
      }
      return ExpiringResponse(try await form.response(to: Array(found.prefix(limit)), isList: true, areas, request))
    }
  }
}

/// `GET /nominatim/reverse`: the place at a position by Nominatim's API
/// (https://nominatim.org/release-docs/latest/api/Reverse/).
struct NominatimReverseRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/reverse", scope: .read, joinsRestriction: true, id: "nominatimReverse", group: .nominatim,
    summary: "Get the place or the area at a position",
    description:
      "The nearest place within a kilometre, else the smallest area around the position. Without either, the response is"
      + " an object with `error`.",
    ownParameters: PhotonArguments.nominatimReverseParameters,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The place.", headers: [.contentLanguage],
        media: .json(
          Schema(
            .anyOf([.nominatimPlace, Schema(.object([.required("error", Schema(.string))], others: nil))])),
          example: Examples.nominatim))
    ],
    problems: [.init(503, .filterTimeout)])

  /// The distance within which a place counts, metres.
  private static let maximumMetres = 1000.0

  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters)
    let center = arguments.center(requiredFor: "the place there")
    let zoom = arguments.values.number(PhotonArguments.detail, in: 0...18) ?? 18
    let form = arguments.nominatimForm(request.headers, hasAddress: true)
    try arguments.check()
    guard let center else { throw .internal }
    let areas = await areas.completingAddresses(for: request)
    return try await revalidation.respond(
      to: request, in: .json, languages: form.languages, areas: areas
    ) { () async throws(Problem) in
      let around = try await areas?.containing(center, for: request) ?? []
      var found: [PhotonPlace] = []
      let kind: AreaKind? =
        zoom <= 4 ? .country : zoom <= 8 ? .region : zoom <= 12 ? .city : zoom <= 15 ? .district : nil
      if let kind {
        // Where there is none of the kind, a larger one.
        let larger = AreaKind.allCases.prefix { $0 != kind } + [kind]
        found = try found.addingAreas(PhotonFilter(), limit: 1, in: areas) { _ in
          around.filter { larger.contains($0.draft.kind) }
        }
      } else {
        let query = PointQuery(proximity: .init(center: center, radiusMetres: Self.maximumMetres))
        let search = PhotonSearch(
          service: service, areas: areas, timeLimit: query.timeLimit, bias: nil, limit: 1, request: request)
        found = try await search.places(matching: query, PhotonFilter())
        found = try found.addingAreas(PhotonFilter(), limit: 1, in: areas) { _ in around }
      }
      return ExpiringResponse(try await form.response(to: found, isList: false, areas, request))
    }
  }
}

/// The kinds of places and areas by which Nominatim filters.
enum NominatimFeatureType: String, CaseIterable {
  case country, state, city, settlement

  fileprivate var layers: [PhotonLayer] {
    switch self {
    case .country: [.country]
    case .state: [.state]
    case .city: [.city]
    case .settlement: [.state, .county, .city, .district, .locality]
    }
  }
}

extension PhotonArguments {
  static let nominatimSearchParameters =
    [words, nominatimLimit, countries, view, isBounded, featureType] + nominatimParameters

  static let nominatimReverseParameters =
    [
      position("lat", "Latitude of the position.", .latitude),
      position("lon", "Longitude of the position.", .longitude),
      detail,
    ] + nominatimParameters

  private static let nominatimParameters = [
    format, languageField, addressDetails, tagDetails, nameDetails, withoutEffect("email"), withoutEffect("dedupe"),
    withoutEffect("debug"),
  ]

  private static let words = Parameter("q") {
    .init(
      "Words of names, categories and addresses.", Parameter.text.description.schema, isRequired: true,
      example: "winchester")
  }

  private static let nominatimLimit = Parameter("limit", .integer) {
    .init(
      "Maximum number of places; more than \(maximumNominatimLimit) counts as that.",
      Schema(.integer, nil, ["minimum": 1, "default": .count(defaultNominatimLimit)]))
  }

  private static let countries = Parameter("countrycodes") {
    .init(
      "Only places in these countries: codes of ISO 3166-1 with two letters, separated by commas.",
      Schema(.string, nil, ["pattern": "^[A-Za-z]{2}(,[A-Za-z]{2})*$"]))
  }

  private static let view = Parameter("viewbox") {
    .init(
      "Two opposite corners of a box, each longitude and latitude in degrees. Places near its centre are preferred.",
      Schema(.string), example: "-122.5,37.7,-121.8,37.2")
  }

  private static let isBounded = toggle("bounded", "With `1`, only places in `viewbox`.")

  private static let featureType = Parameter("featureType") {
    .init("Only places and areas of this kind.", .oneOf(NominatimFeatureType.allCases.map(\.rawValue)))
  }

  fileprivate static let detail = Parameter("zoom", .number) {
    .init(
      "Level of detail: up to 4 countries, to 8 regions, to 12 cities, to 15 districts, above these places.",
      Schema(.number, nil, ["minimum": 0, "maximum": 18, "default": 18]))
  }

  private static let format = Parameter("format") {
    .init(
      "With `json` the key of the main tag is `class`, with `jsonv2` it is `category`.", .nominatimFormat)
  }

  private static let languageField = Parameter("accept-language") {
    .init("Languages of names in the form of the header field, which it replaces.", Schema(.string))
  }

  private static let addressDetails = toggle("addressdetails", "With `1`, places have `address`.")

  private static let tagDetails = toggle(
    "extratags", "With `1`, places have `extratags`, those of no name and no address.")

  private static let nameDetails = toggle(
    "namedetails", "With `1`, places have `namedetails`, their names in all languages.")

  private static func toggle(_ name: StaticString, _ description: String) -> Parameter {
    Parameter(name) { .init(description + " Any text but `0` counts as `1`.", Schema(.string)) }
  }

  private static func withoutEffect(_ name: StaticString) -> Parameter {
    Parameter(name) { .init("Accepted without effect.", Schema(.string)) }
  }

  static let defaultNominatimLimit = 10
  static let maximumNominatimLimit = 40

  /// The distance at which the bias to a box of no size is half as strong, metres.
  private static let leastScaleMetres = 1000.0

  /// Returns a switch, which is off with `0` and on with any other text; geopy sends `True`.
  private func isOn(_ parameter: Parameter, default fallback: Bool) -> Bool {
    values[parameter].map { !$0.hasSameBytes(as: "0") } ?? fallback
  }

  /// Returns the box of `viewbox`, the bias to its centre, and a Boolean value that indicates whether no place outside is
  /// wanted.
  fileprivate mutating func viewbox() -> (box: BoundingBox?, bias: LocationBias?, isBound: Bool) {
    let isBound = isOn(Self.isBounded, default: false)
    guard let text = values[Self.view] else {
      if isBound { values.note(.missing, "viewbox", "must be given with bounded") }
      return (nil, nil, isBound)
    }
    let edges = text.split(separator: ",", omittingEmptySubsequences: false).compactMap { ParameterValues.number($0) }
    guard edges.count == 4,
      let box = try? BoundingBox(
        west: min(edges[0], edges[2]), south: min(edges[1], edges[3]), east: max(edges[0], edges[2]),
        north: max(edges[1], edges[3])),
      let center = try? Coordinate(latitude: (box.south + box.north) / 2, longitude: (box.west + box.east) / 2),
      let corner = try? Coordinate(latitude: box.south, longitude: box.west)
    else {
      values.note(.invalid, "viewbox", "must be two corners, lon,lat,lon,lat in degrees, got '\(text.prefix(50))'")
      return (nil, nil, isBound)
    }
    let scale = max(Geodesic.distanceMetres(from: center, to: corner), Self.leastScaleMetres)
    return (box, LocationBias(center: center, scaleMetres: scale), isBound)
  }

  /// Returns the conditions of `countrycodes` and `featureType`.
  fileprivate mutating func nominatimFilter() -> PhotonFilter {
    var filter = PhotonFilter()
    let codes = values[Self.countries]?.split(separator: ",", omittingEmptySubsequences: false) ?? []
    filter.countries = countries(codes.map { String($0) }, of: Self.countries)
    if values.has(Self.featureType) {
      filter.layers = values.choice(Self.featureType, default: NominatimFeatureType.settlement).layers
    }
    return filter
  }

  /// Returns the form of the response.
  ///
  /// - Parameter hasAddress: a Boolean value that indicates whether places have an address by default.
  fileprivate mutating func nominatimForm(_ headers: RequestFields, hasAddress: Bool) -> NominatimPlaces {
    let format = values[Self.format] ?? "jsonv2"
    if !["json", "jsonv2"].contains(format) {
      values.note(.invalid, "format", "must be json or jsonv2, got '\(format.prefix(50))'")
    }
    var languages = LanguageNegotiation(parameter: nil, headers: headers)
    if let text = values[Self.languageField] {
      languages = LanguageNegotiation(
        parameter: LanguagePriorityList(acceptLanguage: ["accept-language": text]))
    }
    return NominatimPlaces(
      languages: languages, categoryName: format == "json" ? "class" : "category",
      hasAddress: isOn(Self.addressDetails, default: hasAddress), hasTags: isOn(Self.tagDetails, default: false),
      hasNames: isOn(Self.nameDetails, default: false))
  }
}

/// Places as Nominatim describes them.
private struct NominatimPlaces {
  let languages: LanguageNegotiation

  /// The name of the member with the key of the main tag.
  let categoryName: StaticString
  let hasAddress: Bool
  let hasTags: Bool
  let hasNames: Bool

  /// Returns the response with places, or with the first one alone.
  func response(
    to places: [PhotonPlace], isList: Bool, _ areas: RequestAreas?, _ request: HTTPRequest
  ) async throws(Problem) -> HTTPResponse {
    try await request.writingAddresses(
      of: places.lazy.map(\.point.draft.coordinate), in: areas
    ) { () throws(Problem) in
      try response(to: places, isList: isList, areas)
    }
  }

  private func response(
    to places: [PhotonPlace], isList: Bool, _ areas: RequestAreas?
  ) throws(Problem) -> HTTPResponse {
    var points = places.map { FoundPoint(point: $0.point, distanceMetres: nil) }
    let used = languages.translate(&points)
    var json = JSONWriter(ByteBuffer())
    if isList { json.beginArray() }
    for (place, point) in zip(places, points) {
      let around = try areas.completingAddress(of: point.point)
      append(
        PhotonPlace(point.point, in: around), label: point.point.draft.label(in: around), of: place,
        outline: areas?.areas[point.point.id]?.draft.outline, to: &json)
    }
    if isList { json.endArray() }
    if !isList, places.isEmpty {
      json.beginObject()
      json.write(member: "error", "Unable to geocode")
      json.endObject()
    }
    var response = HTTPResponse(contentType: PointFormat.json.mediaType, bytes: json.sink)
    response.addContentLanguage(used)
    return response
  }

  /// Appends a place.
  ///
  /// - Parameters:
  ///   - label: the name and the address of the place in one line.
  ///   - original: the place with its own name.
  ///   - outline: the outline of an area; `nil` for a place.
  private func append(
    _ place: PhotonPlace, label: String, of original: PhotonPlace, outline: AreaOutline?,
    to json: inout JSONWriter<ByteBuffer>
  ) {
    let draft = place.point.draft
    json.beginObject()
    json.write(name: "place_id")
    // JavaScript reads integers up to 2^53 exactly.
    json.write(integer: Int64(place.point.id.low & (1 << 53 - 1)))
    if let (type, id) = PhotonPlace.object(of: draft.origin) {
      json.write(member: "osm_type", type == "N" ? "node" : type == "W" ? "way" : "relation")
      json.write(name: "osm_id")
      json.write(integer: id)
    }
    json.write(member: "id", place.point.id.description)
    json.write(member: "lat", "\(draft.coordinate.latitude)")
    json.write(member: "lon", "\(draft.coordinate.longitude)")
    json.write(member: categoryName, place.mainTag.key.text)
    json.write(member: "type", place.mainTag.value.text)
    json.write(member: "place_rank", place.layer.nominatimRank)
    json.write(member: "addresstype", Self.addressType(place))
    json.write(member: "name", draft.name)
    let language = languages.languages?.ranges.first?.text
    let country = place.countryName(in: language)
    json.write(member: "display_name", country.map { label.hasSuffix($0) ? label : "\(label), \($0)" } ?? label)
    if hasAddress { writeAddress(place, country: country, to: &json) }
    if hasTags {
      write(
        member: "extratags", draft.tags.pairs.filter { !Self.isName($0.key) && !$0.key.hasPrefix("addr:") }, to: &json)
    }
    if hasNames {
      let own = original.point.draft
      write(
        member: "namedetails", [(key: "name", value: own.name)] + own.tags.pairs.filter { Self.isName($0.key) },
        to: &json)
    }
    writeBox(of: outline, at: draft.coordinate, to: &json)
    json.endObject()
  }

  private static func isName(_ key: String) -> Bool { key.hasPrefix("name:") || key.hasSuffix("_name") }

  private static func addressType(_ place: PhotonPlace) -> String {
    switch place.layer {
    case .house, .other: place.mainTag.key.text
    case .street: "road"
    case .locality: place.mainTag.value.text
    case .district: "suburb"
    case .city, .county, .state, .country: place.layer.rawValue
    }
  }

  private func writeAddress(_ place: PhotonPlace, country: String?, to json: inout JSONWriter<ByteBuffer>) {
    let address = place.address
    let parts: [(name: String, text: String?)] = [
      ("house_number", address.houseNumber), ("road", address.street), ("neighbourhood", address.neighbourhood),
      ("suburb", address.district), ("city", address.city), ("county", address.county), ("state", address.state),
      ("postcode", address.postcode), ("country", country), ("country_code", address.countryCode?.lowercased()),
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

  /// Writes the bounds of an area, or the position of a place: south, north, west and east.
  private func writeBox(
    of outline: AreaOutline?, at coordinate: Coordinate, to json: inout JSONWriter<ByteBuffer>
  ) {
    var bounds = [coordinate.latitude, coordinate.latitude, coordinate.longitude, coordinate.longitude]
    if let box = outline?.boxes.first {
      bounds = [box.south, box.north, box.west, box.east].map { Double($0) / AreaOutline.unitsPerDegree }
    }
    json.write(name: "boundingbox")
    json.beginArray()
    for bound in bounds { json.write(string: "\(bound)") }
    json.endArray()
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
  fileprivate static let nominatimFormat = enumeration(["json", "jsonv2"]).named("NominatimFormat", order: 830)

  fileprivate static let nominatimPlace: Schema = {
    let text = Schema(.string)
    let tags = Schema.tags.orNull
    return Schema(
      .object(
        [
          .required("place_id", count), .optional("osm_type", .oneOf(["node", "way", "relation"])),
          .optional("osm_id", count), .required("id", uuid), .required("lat", text), .required("lon", text),
          .optional("class", text), .optional("category", text), .required("type", text),
          .required("place_rank", count), .required("addresstype", text), .required("name", text),
          .required("display_name", text), .optional("address", Schema(.object([], others: text))),
          .optional("extratags", tags), .optional("namedetails", tags),
          .required("boundingbox", Schema(.array(of: text), nil, ["minItems": 4, "maxItems": 4])),
        ], others: nil),
      "A place with the properties of Nominatim's API.", example: Examples.nominatim
    ).named("NominatimPlace", order: 80)
  }()
}

extension Examples {
  fileprivate static let nominatim: JSONValue = [
    "place_id": 7_345_091_273_562_240, "osm_type": "node", "osm_id": 17, "id": .string(id), "lat": "48.2",
    "lon": "16.37", "category": "amenity", "type": "cafe", "place_rank": 30, "addresstype": "amenity",
    "name": "Corner Café", "display_name": "Corner Café, 1010 Wien, Austria",
    "boundingbox": ["48.2", "48.2", "16.37", "16.37"],
  ]
}

extension Call.Group {
  static let nominatim = Call.Group(
    name: "Nominatim", order: 30,
    description: "The calls of Nominatim's API, for apps and libraries that are made for it.")
}
