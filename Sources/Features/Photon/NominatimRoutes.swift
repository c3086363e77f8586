import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointDetails
import PointFormats
import Points
import SearchWords

/// The searches and the encoding that the calls of Nominatim's API share.
struct NominatimService: Sendable {
  let service: PointsService
  let revalidation: Revalidation
  let areas: any AreaStore
  let filtering: Filtering
  let attributions: NominatimAttributions

  /// Returns the response with places.
  ///
  /// - Parameters:
  ///   - isList: a Boolean value that indicates whether the response is a list, and not the first place alone.
  ///   - find: returns the places.
  fileprivate func respond(
    to request: HTTPRequest, as form: NominatimForm, isList: Bool, query: String? = nil, in areas: RequestAreas?,
    _ find: () async throws(Problem) -> [PhotonPlace]
  ) async throws(Problem) -> HTTPResponse {
    try await revalidation.respond(
      to: request, in: .json, languages: form.languages, areas: areas
    ) { () async throws(Problem) in
      let found = try await find()
      let places = NominatimPlaces(
        form: form, isList: isList, query: query, attributions: await attributions.current(), areas: areas)
      return ExpiringResponse(try await places.response(to: found, request))
    }
  }

  /// Returns the searches of a request.
  fileprivate func search(
    _ areas: RequestAreas?, bias: LocationBias? = nil, limit: Int, for request: HTTPRequest
  ) -> PhotonSearch {
    PhotonSearch(
      service: service, areas: areas, timeLimit: filtering.timeLimit, bias: bias, limit: limit, request: request)
  }

  /// The distance within which a place counts as one at a position, metres.
  private static let maximumMetres = 1000.0

  /// Returns the place at a position, or else the smallest area around it.
  ///
  /// - Parameter kind: the kind of the area that is wanted; `nil` for a place. Where there is none of the kind, a larger
  ///   one is the result.
  fileprivate func place(
    at center: Coordinate, in kind: AreaKind?, _ filter: PhotonFilter, _ areas: RequestAreas?, for request: HTTPRequest
  ) async throws(Problem) -> [PhotonPlace] {
    let around = try await areas?.containing(center, for: request) ?? []
    if let kind {
      let larger = AreaKind.allCases.prefix { $0 != kind } + [kind]
      return try [PhotonPlace]().addingAreas(filter, limit: 1, in: areas) { _ in
        around.filter { larger.contains($0.draft.kind) }
      }
    }
    let query = PointQuery(proximity: .init(center: center, radiusMetres: Self.maximumMetres))
    let found = try await search(areas, limit: 1, for: request).places(matching: query, filter)
    return try found.addingAreas(filter, limit: 1, in: areas) { _ in around }
  }
}

/// `GET /nominatim/search`: the search of Nominatim's API (https://nominatim.org/release-docs/latest/api/Search/).
struct NominatimSearchRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/search", aliases: ["/nominatim/search/", "/nominatim/search.php"], scope: .read,
    joinsRestriction: true, id: "nominatimSearch", group: .nominatim,
    summary: "Search for places and areas by name or address",
    description:
      "The most important area of the name comes first, then places, then other areas of the name. A position such as"
      + " `48.2,16.37` finds what is there. Instead of `q`, the parts of an address may be given, of which each must be"
      + " equal, without regard to case and accents.",
    ownParameters: PhotonArguments.nominatimSearchParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, the best match first.", headers: [.contentLanguage],
        media: .json(.nominatimPlaces, example: [Examples.nominatim]))
    ])

  let nominatim: NominatimService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters, of: .nominatim)
    let wanted = arguments.nominatimSearch()
    let limit = arguments.limit(
      atMost: PhotonArguments.maximumNominatimLimit, default: PhotonArguments.defaultNominatimLimit)
    let view = arguments.viewbox()
    var filter = arguments.nominatimFilter()
    let form = arguments.nominatimForm(request.headers, hasAddress: false)
    try arguments.check()
    let query = PointQuery(box: view.isBound ? view.box : nil, timeLimit: nominatim.filtering.timeLimit)
    let areas = await nominatim.areas.completingAddresses(for: request)
    return try await nominatim.respond(
      to: request, as: form, isList: true, query: wanted.text, in: areas
    ) { () async throws(Problem) in
      let search = nominatim.search(areas, bias: view.bias, limit: limit, for: request)
      switch wanted {
      case .nothing: return []
      case .position(let center): return try await nominatim.place(at: center, in: nil, filter, areas, for: request)
      case .words(let text): return try await places(named: text, query, filter, by: search)
      case .address(let address, let streets, let country):
        if let country { try await restrict(&filter, toCountry: country, in: areas, form, request) }
        for parts in streets {
          var address = address
          address.parts.merge(parts) { $1 }
          let found = try await search.places(at: address, query, filter, by: nominatim.filtering)
          if !found.isEmpty { return Array(found.prefix(limit)) }
        }
        return []
      }
    }
  }

  /// Returns the places and areas of a name.
  private func places(
    named text: String, _ query: PointQuery, _ filter: PhotonFilter, by search: PhotonSearch
  ) async throws(Problem) -> [PhotonPlace] {
    let (request, areas, limit) = (search.request, search.areas, search.limit)
    var found: [PhotonPlace] = []
    let all = areas?.areas
    if let area = all?.area(named: text, near: search.bias?.center) {
      let center = PhotonPlace(area)?.point.draft.coordinate
      found = try await request.writingAddresses(of: [center].compactMap(\.self), in: areas) { () throws(Problem) in
        try [PhotonPlace]().addingAreas(filter, box: query.box, limit: limit, in: areas) { _ in [area] }
      }
    }
    let known = Set(found.map(\.point.id))
    let objects = Set(found.compactMap(\.object))
    found += try await search.places(named: text, query, filter).filter { place in
      !known.contains(place.point.id) && place.object.map { objects.contains($0) } != true
    }
    // With layers, the search has found the areas too.
    if found.count < limit, filter.layers.isEmpty, let all, !all.isEmpty {
      found = try await request.computing { [found] () throws(Problem) in
        try found.addingAreas(filter, box: query.box, limit: limit, in: areas) { kinds throws(PointStoreError) in
          try all.matching(text, kinds: kinds)
        }
      }
    }
    return Array(found.prefix(limit))
  }

  /// Restricts a filter to the country of a code or a name; to none for another text.
  private func restrict(
    _ filter: inout PhotonFilter, toCountry text: String, in areas: RequestAreas?, _ form: NominatimForm,
    _ request: HTTPRequest
  ) async throws(Problem) {
    let area = areas?.areas.area(named: text, of: .country)
    let language = form.languages.languages?.ranges.first?.text
    var code = area.flatMap { PostalAddress(.none, in: [$0]).countryCode }
    if code == nil {
      code = try await request.computing { CountryNames.shared.code(ofCountry: text, language: language) }
    }
    let wanted = ExactText(code ?? "")
    filter.countries = filter.countries.isEmpty || filter.countries.contains(wanted) ? [wanted] : [ExactText("")]
  }
}

/// `GET /nominatim/reverse`: the place at a position by Nominatim's API
/// (https://nominatim.org/release-docs/latest/api/Reverse/).
struct NominatimReverseRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/reverse", aliases: ["/nominatim/reverse/", "/nominatim/reverse.php"], scope: .read,
    joinsRestriction: true, id: "nominatimReverse", group: .nominatim,
    summary: "Get the place or the area at a position",
    description:
      "The nearest place within a kilometre, else the smallest area around the position. Without either, the response is"
      + " an object with `error`.",
    ownParameters: PhotonArguments.nominatimReverseParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The place.", headers: [.contentLanguage],
        media: .json(
          Schema(
            .anyOf([
              .nominatimPlace, .nominatimFeatures,
              Schema(.object([.required("error", Schema(.string))], others: nil)),
            ])),
          example: Examples.nominatim))
    ],
    problems: [.init(503, .filterTimeout)])

  let nominatim: NominatimService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters, of: .nominatim)
    let center = arguments.center(requiredFor: "the place there")
    let zoom = arguments.number(PhotonArguments.detail, clampedTo: 0...18) ?? 18
    let filter = arguments.nominatimFilter()
    let form = arguments.nominatimForm(request.headers, hasAddress: true)
    try arguments.check()
    guard let center else { throw .internal }
    let areas = await nominatim.areas.completingAddresses(for: request)
    let kind: AreaKind? =
      zoom <= 4 ? .country : zoom <= 8 ? .region : zoom <= 12 ? .city : zoom <= 15 ? .district : nil
    return try await nominatim.respond(to: request, as: form, isList: false, in: areas) { () async throws(Problem) in
      try await nominatim.place(at: center, in: kind, filter, areas, for: request)
    }
  }
}

/// `GET /nominatim/lookup`: places by their objects in OpenStreetMap, by Nominatim's API
/// (https://nominatim.org/release-docs/latest/api/Lookup/).
struct NominatimLookupRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/lookup", aliases: ["/nominatim/lookup/", "/nominatim/lookup.php"], scope: .read,
    joinsRestriction: true, id: "nominatimLookup", group: .nominatim,
    summary: "Get places and areas by their objects in OpenStreetMap",
    description:
      "Those of data sets whose name, licence or attribution has `osm` or `openstreetmap`. Texts that are no ids, and ids"
      + " of no place, are left out.",
    ownParameters: PhotonArguments.nominatimLookupParameters, ignoresOtherParameters: true,
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, in the order of the ids.", headers: [.contentLanguage],
        media: .json(.nominatimPlaces, example: [Examples.nominatim]))
    ])

  let nominatim: NominatimService

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters, of: .nominatim)
    let objects = arguments.objects()
    let form = arguments.nominatimForm(request.headers, hasAddress: true)
    try arguments.check()
    let areas = await nominatim.areas.completingAddresses(for: request)
    return try await nominatim.respond(to: request, as: form, isList: true, in: areas) { () async throws(Problem) in
      let sources = await nominatim.attributions.current().sourcesOfOpenStreetMap
      var found: [PhotonPlace] = []
      for object in objects {
        if let place = try await place(of: object, in: sources, areas, for: request) { found.append(place) }
      }
      return found
    }
  }

  /// Returns the place, or else the area, that was imported from an object, from the first of some data sets.
  private func place(
    of object: String, in sources: [String], _ areas: RequestAreas?, for request: HTTPRequest
  ) async throws(Problem) -> PhotonPlace? {
    for source in sources {
      for id in Self.ids(of: object) {
        let query = PointQuery(source: .init(name: source, sourceID: id), limit: 1)
        let point = try await nominatim.service.page(matching: query, isRecorded: false, in: areas, for: request) {
          $0.points.first?.point
        }
        if let point { return PhotonPlace(point) }
        if let area = areas?.areas[SourceReference(source: source, sourceID: id)], let place = PhotonPlace(area) {
          return place
        }
      }
    }
    return nil
  }

  /// Returns the ids that imports give to an object such as `N17`.
  private static func ids(of object: String) -> [String] {
    let type = object.hasPrefix("N") ? "node" : object.hasPrefix("W") ? "way" : "relation"
    return ["\(type)/\(object.dropFirst())", object, object.lowercased()]
  }
}

/// The state of a service as Photon and Nominatim state it. The store is asked once a second, however many clients ask.
struct PeerStatus: Sendable {
  private let service: PointsService
  private let isReady: RecentValue<Bool>

  /// The version of the program.
  let version: String

  init(_ service: PointsService, version: String) {
    self.service = service
    self.version = version
    isReady = RecentValue(maximumAge: .seconds(1))
  }

  /// Returns a Boolean value that indicates whether the store responds.
  fileprivate func check() async -> Bool {
    await isReady.value { [service] in (try? await service.checkReadiness()) != nil }
  }
}

extension Problem {
  fileprivate static let storeIsAway = Problem(
    .serviceUnavailable, code: ProblemCode.storeUnavailable.rawValue, detail: "the store does not respond")
}

/// `GET /status`: the state of the service by Photon's API.
struct PhotonStatusRoute: CallHandler {
  static let call = Call(
    .GET, "/status", aliases: ["/status/"], id: "photonStatus", group: .photon,
    summary: "Get the state of the service as Photon's API states it",
    description: "The time of the data is not known: `import_date` is empty.", ignoresOtherParameters: true,
    caching: .forbidden, responses: [.init(200, "The store responds.", media: .json(.photonStatus))],
    problems: [.init(503, .storeUnavailable)])

  let status: PeerStatus

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard await status.check() else { throw .storeIsAway }
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "status", "Ok")
    json.write(member: "import_date", "")
    json.write(member: "version", status.version)
    json.endObject()
    return HTTPResponse(json).uncacheable
  }
}

/// `GET /nominatim/status`: the state of the service by Nominatim's API
/// (https://nominatim.org/release-docs/latest/api/Status/).
struct NominatimStatusRoute: CallHandler {
  static let call = Call(
    .GET, "/nominatim/status", aliases: ["/nominatim/status/", "/nominatim/status.php"], id: "nominatimStatus",
    group: .nominatim, summary: "Get the state of the service",
    description: "As JSON the status is 200 also while the store does not respond, and `status` in it is 700.",
    ownParameters: [PhotonArguments.statusFormat], ignoresOtherParameters: true, caching: .forbidden,
    responses: [
      .init(
        200, "The state.",
        media: [.init("text/plain; charset=utf-8", Schema(.string), example: "OK"), .init(.json, .nominatimStatus)])
    ],
    problems: [.init(503, .storeUnavailable)])

  let status: PeerStatus

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: Self.call.parameters, of: .nominatim)
    let isJSON = arguments.values.choice(PhotonArguments.statusFormat, default: NominatimStatusFormat.text) == .json
    try arguments.check()
    let isReady = await status.check()
    guard isJSON else {
      guard isReady else { throw .storeIsAway }
      return HTTPResponse(contentType: "text/plain; charset=utf-8", bytes: ByteBuffer(string: "OK")).uncacheable
    }
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "status", isReady ? 0 : 700)
    json.write(member: "message", isReady ? "OK" : "No database")
    json.write(member: "software_version", status.version)
    json.endObject()
    return HTTPResponse(json).uncacheable
  }
}

extension Schema {
  fileprivate static let photonStatus = Schema(
    .object(
      [
        .required("status", Schema(.string)), .required("import_date", Schema(.string)),
        .required("version", Schema(.string)),
      ], others: nil),
    nil, example: ["status": "Ok", "import_date": "", "version": "1.0.0"]
  ).named("PhotonStatus", order: 85)

  fileprivate static let nominatimStatus = Schema(
    .object(
      [
        .required("status", count), .required("message", Schema(.string)),
        .required("software_version", Schema(.string)),
      ], others: nil),
    nil, example: ["status": 0, "message": "OK", "software_version": "1.0.0"]
  ).named("NominatimStatus", order: 86)
}

extension CallGroup {
  static let nominatim = CallGroup(
    name: "Nominatim", order: 30,
    description: "The calls of Nominatim's API, for apps and libraries that are made for it.")
}
