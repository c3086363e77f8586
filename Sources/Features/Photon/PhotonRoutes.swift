import APIDescription
import Basics
import CQL2
import Geo
import HTTPServer
import JSONText
package import LocationsAPI
import NIOCore
import NIOHTTP1
import PointDetails
import PointFormats
import Points
import SearchWords

/// `GET /api`: the search of Photon's API.
struct PhotonSearchRoute: CallHandler {
  static let call = Call(
    .GET, "/api", aliases: ["/api/"], scope: .read, joinsRestriction: true, id: "photonSearch",
    group: .photon,
    summary: "Search for places by name",
    description:
      "The last word of `q` is the beginning of a word. A text without letters and digits finds nothing. With `layer`,"
      + " areas of it are found too.",
    ownParameters: PhotonArguments.searchParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, the best match first.", headers: [.contentLanguage],
        media: .json(.photonCollection, example: Examples.photon))
    ])

  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore

  /// The longest time of each search for a text.
  let timeLimit: Duration

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters)
    let text = arguments.text()
    let bias = arguments.bias()
    let box = arguments.box()
    let limit = arguments.limit(atMost: PhotonArguments.maximumLimit, default: PhotonArguments.defaultSearchLimit)
    let filter = arguments.filter()
    let languages = arguments.languages(request.headers)
    try arguments.check()
    let filters = PointQuery(proximity: bias.map { .init(center: $0.center) }, box: box, timeLimit: timeLimit)
    let areas = await areas.completingAddresses(for: request)
    return try await revalidation.respond(
      to: request, in: .geoJSON, languages: languages, areas: areas
    ) { () async throws(Problem) in
      let search = PhotonSearch(
        service: service, areas: areas, timeLimit: timeLimit, bias: bias, limit: limit, request: request)
      let places: [PhotonPlace]
      switch text {
      case .words(let text): places = try await search.places(named: text, PointQuery(box: box), filter)
      case .any: places = try await search.places(matching: filters, filter)
      case .none: places = []
      }
      return ExpiringResponse(try await request.response(of: places, languages, areas))
    }
  }
}

/// `GET /structured`: the search by the parts of an address of Photon's API.
struct PhotonStructuredRoute: CallHandler {
  static let call = Call(
    .GET, "/structured", aliases: ["/structured/"], scope: .read, joinsRestriction: true, id: "photonStructuredSearch",
    group: .photon,
    summary: "Search for an address by its parts",
    description:
      "With `street` or `housenumber` the places with that address, or the street; with `postcode` the places with it;"
      + " else the district, city, county, state or country. Each part must be equal, without regard to case and"
      + " accents. What the address of a place lacks is taken from the areas that it is in.",
    ownParameters: PhotonArguments.structuredParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places.", headers: [.contentLanguage],
        media: .json(.photonCollection, example: Examples.photon))
    ],
    problems: ProblemDescription.index)

  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore
  let filtering: Filtering

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters)
    let address = arguments.address()
    let bias = arguments.bias()
    let box = arguments.box()
    let limit = arguments.limit(atMost: PhotonArguments.maximumLimit, default: PhotonArguments.defaultSearchLimit)
    let filter = arguments.filter()
    let languages = arguments.languages(request.headers)
    try arguments.check()
    let query = PointQuery(
      proximity: bias.map { .init(center: $0.center) }, box: box, timeLimit: filtering.timeLimit)
    let areas = await areas.completingAddresses(for: request)
    return try await revalidation.respond(
      to: request, in: .geoJSON, languages: languages, areas: areas
    ) { [filter] () async throws(Problem) in
      let search = PhotonSearch(
        service: service, areas: areas, timeLimit: filtering.timeLimit, bias: bias, limit: limit, request: request)
      let found = try await search.places(at: PhotonAddress(parts: address), query, filter, by: filtering)
      return ExpiringResponse(try await request.response(of: found, languages, areas))
    }
  }
}

/// An address that is searched for by its parts.
struct PhotonAddress: Hashable {
  /// The parts as they are given.
  var parts: [PhotonAddressPart: String]

  /// The name or the category of a place at the address; `nil` for the address itself.
  var amenity: String?

  /// A Boolean value that indicates whether places with the address are searched for, and not an area or a street.
  private var isOfPlaces: Bool { parts[.street] != nil || parts[.houseNumber] != nil || parts[.postcode] != nil }

  /// The condition on the tags of the street, the house number and the postal code, by which places are found that have
  /// the address.
  fileprivate var condition: FilterExpression? {
    guard isOfPlaces else { return nil }
    let keys: [(part: PhotonAddressPart, keys: [ExactText])] = [
      (.street, ["addr:street", "addr:place"]), (.houseNumber, ["addr:housenumber"]), (.postcode, ["addr:postcode"]),
    ]
    func folded(_ expression: FilterExpression) -> FilterExpression {
      .operation(.casei, [.operation(.accenti, [expression])])
    }
    // Areas may have the postal code of places that have no street.
    let isHouse = parts[.street] != nil || parts[.houseNumber] != nil
    var conditions: [FilterExpression] = []
    for (part, keys) in keys where !isHouse || part != .postcode {
      guard let text = parts[part] else { continue }
      var equal: [FilterExpression] = []
      for key in keys {
        for spelling in part.spellings(of: text) {
          equal.append(.operation(.equal, [folded(.property(key)), folded(.string(spelling))]))
        }
      }
      conditions.append(.operation(.or, equal))
    }
    return FilterExpression(allOf: conditions)
  }
}

extension PhotonAddressPart {
  /// The maximum number of separators of a street whose spellings are all tried.
  private static let maximumSeparators = 4

  /// Returns the spellings of a text that a filter, which folds case and accents alone, does not know to be the same.
  fileprivate func spellings(of text: String) -> Set<ExactText> {
    switch self {
    case .houseNumber:
      let compact = PhotonPlace.compact(text).text
      let spaced = compact.replacing(/([0-9])([A-Za-z])/) { "\($0.1) \($0.2)" }
      return Set([text, compact, spaced].map { ExactText($0) })
    case .street:
      var spellings = [text]
      let separators = text.indices.filter { text[$0] == " " || text[$0] == "-" }
      if separators.count <= Self.maximumSeparators {
        for index in separators {
          let other: Character = text[index] == " " ? "-" : " "
          spellings += spellings.map { spelling in
            var characters = Array(spelling)
            characters[text.distance(from: text.startIndex, to: index)] = other
            return String(characters)
          }
        }
      }
      return Set(
        spellings.flatMap { [$0, $0.replacing("ss", with: "ß"), $0.replacing("ß", with: "ss")] }.map { ExactText($0) })
    default: return [ExactText(text)]
    }
  }
}

/// The searches of the calls of geocoders.
struct PhotonSearch: Sendable {
  let service: PointsService
  let areas: RequestAreas?
  let timeLimit: Duration
  let bias: LocationBias?
  let limit: Int
  let request: HTTPRequest

  /// Returns the places of a name, and with layers the areas of these that have it.
  ///
  /// - Parameter name: the name; `nil` for areas of any name, and no places.
  func places(
    named name: String?, _ filters: PointQuery, _ filter: PhotonFilter
  ) async throws(Problem) -> [PhotonPlace] {
    var found: [PhotonPlace] = []
    if let name {
      try await areas?.prepare(name, isIncomplete: true, near: bias?.center, for: request)
      let query = TextQuery(
        text: name, completesLastWord: true, bias: bias, filters: filters,
        areaReadings: areas?.readings(of: name, isIncomplete: true, near: bias?.center) ?? [],
        timeLimit: timeLimit)
      found = try await places(matching: query, filter)
    }
    guard found.count < limit, !filter.layers.isEmpty, let all = areas?.areas, !all.isEmpty else { return found }
    return try await request.computing { () throws(Problem) in
      try found.addingAreas(filter, box: filters.box, limit: limit, in: areas) { kinds throws(PointStoreError) in
        guard let name else { return all.all }
        return try all.matching(name, kinds: kinds)
      }
    }
  }

  /// Returns the places of an address, or else the street, district, city, county, state or country that it is.
  func places(
    at address: PhotonAddress, _ query: PointQuery, _ filter: PhotonFilter, by filtering: Filtering
  ) async throws(Problem) -> [PhotonPlace] {
    var (query, filter) = (query, filter)
    filter.address = address.parts.mapValues { NormalizedText($0).text }
    var areaPart: PhotonAddressPart?
    for (part, kind) in [(PhotonAddressPart.district, AreaKind.district), (.city, .city), (.state, .region)] {
      guard query.area == nil, let name = address.parts[part] else { continue }
      query.area = try await areas?.area(named: name, of: kind, near: bias?.center, for: request)
      if query.area != nil { areaPart = part }
    }
    let condition = address.condition
    if condition != nil || address.amenity != nil {
      var (places, atAddress) = (query, filter)
      places.filter = condition.flatMap { try? filtering.filter($0) }
      if let areaPart { atAddress.address[areaPart] = nil }
      if let amenity = address.amenity {
        places.proximity = nil
        return try await self.places(named: amenity, places, atAddress)
      }
      let found = try await self.places(matching: places, atAddress)
      guard found.isEmpty, let street = address.parts[.street] else { return found }
      // A street has no number.
      atAddress.address[.houseNumber] = nil
      if atAddress.layers.isEmpty { atAddress.layers = [.street] }
      var streets = query
      streets.proximity = nil
      return try await self.places(named: street, streets, atAddress)
    }
    let layers: [(part: PhotonAddressPart, layers: [PhotonLayer])] = [
      (.district, [.district, .locality]), (.city, [.city]), (.county, [.county]), (.state, [.state]),
    ]
    (query.proximity, query.area) = (nil, nil)
    for (part, layers) in layers {
      guard let name = address.parts[part] else { continue }
      if filter.layers.isEmpty { filter.layers = layers }
      return try await self.places(named: name, query, filter)
    }
    if filter.layers.isEmpty { filter.layers = [.country] }
    return try await self.places(named: nil, query, filter)
  }

  /// Returns the places that match a text.
  ///
  /// Without a filter, most searches end with their first page, which has the event loop as long as it is short. All
  /// other pages are one computation.
  private func places(matching query: TextQuery, _ filter: PhotonFilter) async throws(Problem) -> [PhotonPlace] {
    var (query, matches) = (query, PhotonMatches(filter, limit: limit, in: areas))
    query.limit = matches.pageSize
    if filter.isEmpty {
      query.after = try await service.matches(of: query, in: areas, for: request) { page throws(Problem) in
        try matches.add(page.matches.map(\.point))
        return page.next
      }
      if query.after == nil || matches.isComplete { return matches.places }
    }
    let snapshot = try await service.requiredSnapshot(as: .matches, for: request, text: ExactText(query.text))
    return try await completing(matches) { () throws(PointStoreError) in
      let page = try service.matches(of: query, in: snapshot, isRecorded: query.after == nil)
      query.after = page.next
      return (page.matches.map(\.point), page.next != nil)
    }
  }

  /// Returns the places of matches and of further pages, which are one computation.
  ///
  /// - Parameter nextPage: returns the places of the next page, and whether there is another one.
  private func completing(
    _ matches: PhotonMatches,
    with nextPage: () throws(PointStoreError) -> (places: [PointOfInterest], hasNext: Bool)
  ) async throws(Problem) -> [PhotonPlace] {
    try await request.computing { () throws(Problem) in
      var (matches, hasNext) = (matches, true)
      while hasNext, !matches.isComplete {
        let page = try request.searchResult(of: nextPage())
        try matches.add(page.places)
        hasNext = page.hasNext
      }
      return matches.places
    }
  }

  /// Returns the places that match conditions, page by page in the same way.
  func places(matching query: PointQuery, _ filter: PhotonFilter) async throws(Problem) -> [PhotonPlace] {
    var (query, matches) = (query, PhotonMatches(filter, limit: limit, in: areas))
    query.limit = matches.pageSize
    func addPage() async throws(Problem) {
      query.after = try await service.page(
        matching: query, isRecorded: query.after == nil, in: areas, for: request
      ) { page throws(Problem) in
        try matches.add(page.points.map(\.point))
        return page.next
      }
    }
    if filter.isEmpty {
      try await addPage()
      if query.after == nil || matches.isComplete { return matches.places }
    }
    guard case .snapshot(let snapshot) = try await service.view(of: query, for: request) else {
      // The time for which the store waits for a database counts to no computation.
      repeat { try await addPage() } while query.after != nil && !matches.isComplete
      return matches.places
    }
    return try await completing(matches) { () throws(PointStoreError) in
      let page = try service.page(matching: query, in: snapshot, isRecorded: query.after == nil)
      query.after = page.next
      return (page.points.map(\.point), page.next != nil)
    }
  }
}

/// The properties of a place by which it stands for an area.
private struct AreaKey: Hashable {
  let layer: PhotonLayer
  let name: ExactText
}

extension [PhotonPlace] {
  /// Returns the places with those of areas, which come behind. An area of which a place has the name and the layer is
  /// left out.
  ///
  /// - Parameters:
  ///   - known: the areas of the request, which complete addresses.
  ///   - areas: returns the areas, of the given kinds at least. It is called if there may be such places.
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  func addingAreas(
    _ filter: PhotonFilter, box: BoundingBox? = nil, limit: Int, in known: RequestAreas?,
    _ areas: (_ kinds: [AreaKind]) throws(PointStoreError) -> [Area]
  ) throws(Problem) -> [PhotonPlace] {
    let kinds = filter.areaKinds
    guard count < limit, !kinds.isEmpty else { return self }
    let keys = Set(map { AreaKey(layer: $0.layer, name: ExactText($0.point.draft.name)) })
    var (places, steps) = (self, AreaSteps())
    do throws(PointStoreError) {
      for area in try areas(kinds) {
        guard places.count < limit else { break }
        try steps.spend(1)
        // The conditions that take the least come first.
        guard kinds.contains(area.draft.kind), let layer = PhotonLayer(area.draft.kind),
          let center = area.draft.outline.center, box?.contains(center) ?? true
        else { continue }
        try steps.spend(Self.stepsPerName)
        guard !keys.contains(AreaKey(layer: layer, name: ExactText(area.draft.name))) else { continue }
        let around = try filter.needsAddress ? known.completingAddress(at: center, within: &steps) : []
        try steps.spend(AreaSteps.perPlace)
        guard filter.matches(countryCode: PostalAddress(area.draft.tags, in: around).countryCode),
          let place = PhotonPlace(area), !filter.excludes(place),
          filter.matchesAddress(of: PhotonPlace(place.point, in: around))
        else { continue }
        places.append(place)
      }
    } catch {
      throw Problem(error)
    }
    return places
  }

  /// The number of steps to compare the name of an area with those of places.
  private static var stepsPerName: Int { 32 }
}

/// `GET /reverse`: the places nearest to a coordinate, by Photon's API.
struct PhotonReverseRoute: CallHandler {
  static let call = Call(
    .GET, "/reverse", aliases: ["/reverse/"], scope: .read, joinsRestriction: true, id: "photonReverse",
    group: .photon,
    summary: "Get the nearest places",
    description: "With `layer`, areas of it that are around the position come first.",
    ownParameters: PhotonArguments.reverseParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, nearest first; none is no problem.", headers: [.contentLanguage],
        media: .json(.photonCollection, example: Examples.photon))
    ],
    problems: [.init(503, .filterTimeout)])

  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters)
    let center = arguments.center(requiredFor: "the nearest places")
    let radius = arguments.radiusMetres()
    let limit = arguments.limit(atMost: PhotonArguments.maximumLimit, default: PhotonArguments.defaultReverseLimit)
    let filter = arguments.filter()
    let languages = arguments.languages(request.headers)
    try arguments.check()
    guard let center else { throw .internal }
    let query = PointQuery(proximity: .init(center: center, radiusMetres: radius))
    let areas = await areas.completingAddresses(for: request)
    return try await revalidation.respond(
      to: request, in: .geoJSON, languages: languages, areas: areas
    ) { () async throws(Problem) in
      let search = PhotonSearch(
        service: service, areas: areas, timeLimit: query.timeLimit, bias: nil, limit: limit, request: request)
      var found: [PhotonPlace] = []
      if !filter.layers.isEmpty, let all = areas?.areas, !all.isEmpty {
        found = try await request.computing { () throws(Problem) in
          try [PhotonPlace]().addingAreas(filter, limit: limit, in: areas) { _ throws(PointStoreError) in
            try all.containing(center)
          }
        }
      }
      if found.count < limit { found += try await search.places(matching: query, filter) }
      return ExpiringResponse(try await request.response(of: Array(found.prefix(limit)), languages, areas))
    }
  }
}

/// The first places of a search that match a filter, which leaves some of them out: more are looked for page by page.
private struct PhotonMatches {
  /// The number of places that are examined at most.
  private static let maximumExamined = 2000

  /// The number of places of a page.
  let pageSize: Int

  private let filter: PhotonFilter
  private let areas: RequestAreas?
  private let limit: Int
  private var found: [PhotonPlace] = []
  private var streets: Set<ExactText> = []
  private var examined = 0

  init(_ filter: PhotonFilter, limit: Int, in areas: RequestAreas?) {
    self.filter = filter
    self.areas = areas
    self.limit = limit
    pageSize = filter.isEmpty ? limit : 200
  }

  /// A Boolean value that indicates whether no further page is looked for.
  var isComplete: Bool { found.count >= limit || examined >= Self.maximumExamined }

  /// The places.
  var places: [PhotonPlace] { Array(found.prefix(limit)) }

  /// Adds those places of a page that match. The address comes last, for which areas are looked up.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  mutating func add(_ points: [PointOfInterest]) throws(Problem) {
    examined += pageSize
    var steps = AreaSteps()
    do throws(PointStoreError) {
      for point in points {
        try steps.spend(AreaSteps.perPlace)
        var place = PhotonPlace(point)
        guard filter.matches(place) else { continue }
        if filter.needsAddress {
          place = PhotonPlace(point, in: try areas.completingAddress(at: point.draft.coordinate, within: &steps))
          guard filter.matchesAddress(of: place) else { continue }
        }
        if !filter.keepsDuplicates, let key = place.duplicateKey, !streets.insert(ExactText(key)).inserted { continue }
        found.append(place)
      }
    } catch {
      throw Problem(error)
    }
  }
}

extension AreaSteps {
  /// The number of steps to make the address or the place of an area or of a place, several microseconds.
  fileprivate static let perPlace = 1024
}

extension HTTPRequest {
  /// Returns the FeatureCollection of places, their names in the languages of a request.
  fileprivate func response(
    of places: [PhotonPlace], _ languages: LanguageNegotiation, _ areas: RequestAreas?
  ) async throws(Problem) -> HTTPResponse {
    try await writingAddresses(of: places.lazy.map(\.point.draft.coordinate), in: areas) { () throws(Problem) in
      try HTTPResponse(places, languages, areas)
    }
  }
}

extension HTTPResponse {
  /// Creates the FeatureCollection of places, their names in the languages of a request.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  fileprivate init(
    _ places: [PhotonPlace], _ languages: LanguageNegotiation, _ areas: RequestAreas?
  ) throws(Problem) {
    var points = places.map { FoundPoint(point: $0.point, distanceMetres: nil) }
    let used = languages.translate(&points)
    var json = JSONWriter(ByteBuffer())
    json.beginObject()
    json.write(member: "type", "FeatureCollection")
    json.write(name: "features")
    json.beginArray()
    let language = languages.languages?.ranges.first?.text
    for point in points {
      try PhotonPlace(point.point, in: areas.completingAddress(of: point.point)).append(
        language: language, outline: areas?.areas[point.point.id]?.draft.outline, to: &json)
    }
    json.endArray()
    json.endObject()
    // Clients of Photon expect this media type, not that of GeoJSON.
    self.init(contentType: PointFormat.json.mediaType, bytes: json.sink)
    addContentLanguage(used)
  }
}

/// The APIs of Photon and Nominatim to the places of an interface.
package struct PhotonAPI: Sendable {
  package let endpoints: [Endpoint]

  package init(_ locations: LocationsAPI) {
    let (service, revalidation) = (locations.configuration.service, locations.revalidation)
    let (areas, filtering) = (locations.configuration.areas, locations.configuration.filtering)
    let nominatim = NominatimService(
      service: service, revalidation: revalidation, areas: areas, filtering: filtering,
      attributions: NominatimAttributions(service))
    let status = PeerStatus(service, version: locations.configuration.version)
    let handlers: [any CallHandler] = [
      PhotonSearchRoute(
        service: service, revalidation: revalidation, areas: areas, timeLimit: filtering.timeLimit),
      PhotonStructuredRoute(service: service, revalidation: revalidation, areas: areas, filtering: filtering),
      PhotonReverseRoute(service: service, revalidation: revalidation, areas: areas),
      PhotonStatusRoute(status: status), NominatimSearchRoute(nominatim: nominatim),
      NominatimReverseRoute(nominatim: nominatim), NominatimLookupRoute(nominatim: nominatim),
      NominatimStatusRoute(status: status),
    ]
    endpoints = handlers.map(\.endpoint)
  }
}

extension Schema {
  static let photonLayer = enumeration(PhotonLayer.allCases.map(\.rawValue)).named("PhotonLayer", order: 810)
  static let photonSwitch = enumeration(["0", "1", "true", "false"]).named("PhotonSwitch", order: 820)

  fileprivate static let photonCollection: Schema = {
    let texts = [
      "housenumber", "street", "locality", "district", "postcode", "city", "county", "state", "country", "countrycode",
    ].map { Property.optional($0, Schema(.string)) }
    let properties = Schema(
      .object(
        [
          .optional("osm_type", .oneOf(["N", "W", "R"])), .optional("osm_id", count),
          .required("osm_key", Schema(.string)), .required("osm_value", Schema(.string)),
          .required("type", .photonLayer), .required("name", Schema(.string)),
        ] + texts + [
          .optional(
            "extent",
            Schema(
              .array(of: Schema(.number)), "Bounds of an area: west, north, east and south in degrees.",
              ["minItems": 4, "maxItems": 4]))
        ], others: nil))
    let feature = Schema(
      .object(
        [
          .required("type", .oneOf(["Feature"])), .required("id", uuid),
          .required("geometry", .pointGeometry),
          .required("properties", properties),
        ], others: nil))
    return Schema(
      .object(
        [.required("type", .oneOf(["FeatureCollection"])), .required("features", Schema(.array(of: feature)))],
        others: nil),
      "Places with the properties of Photon's API, each if it is known.", example: Examples.photon
    ).named("PhotonFeatureCollection", order: 70)
  }()
}

extension Examples {
  fileprivate static let photon: JSONValue = [
    "type": "FeatureCollection",
    "features": [
      [
        "type": "Feature", "id": .string(id), "geometry": ["type": "Point", "coordinates": [16.37, 48.2]],
        "properties": [
          "osm_type": "N", "osm_id": 17, "osm_key": "amenity", "osm_value": "cafe", "type": "house",
          "name": "Corner Café", "city": "Wien", "country": "Austria", "countrycode": "AT",
        ],
      ]
    ],
  ]
}

extension CallGroup {
  static let photon = CallGroup(
    name: "Photon", order: 20,
    description:
      "The calls of Photon's API, for apps and libraries that are made for it. Languages are those of `lang`, or else"
      + " of `Accept-Language`.")
}
