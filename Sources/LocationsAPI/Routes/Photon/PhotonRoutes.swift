import Basics
import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /api`: the search of Photon's API.
struct PhotonSearchRoute: CallHandler {
  static let call = Call(
    .GET, "/api", scope: .read, id: "photonSearch", group: .photon, summary: "Search for places by name",
    description: "The last word of `q` is the beginning of a word. A text without letters and digits finds nothing.",
    otherParameters: PhotonArguments.searchParameters,
    describing: [
      "q": .init("Words of a place's names, category and address.", Parameter.text.description.schema).required,
      "lat": .init("Latitude of the centre of the bias. Needs `lon`.", Parameter.latitude.description.schema),
      "lon": .init("Longitude of the centre of the bias. Needs `lat`.", Parameter.longitude.description.schema),
      "zoom": .init(
        "Scale of the bias, as of a map: 250 m at 18, doubled with each step below.",
        Schema(.number, nil, ["minimum": 0, "maximum": 24, "default": 12])),
      "location_bias_scale": .init(
        "How much other properties of places count beside their nearness.",
        Schema(.number, nil, ["minimum": 0, "maximum": 1, "default": 0.4])),
      "bbox": .init(
        "Only places in the box: west, south, east, north in degrees. South must not be greater than north.",
        Parameter.box.description.schema),
      "limit": .photonLimit(default: PhotonArguments.defaultSearchLimit), "lang": .photonLanguages,
      "osm_tag": .photonTags, "layer": .photonLayers, "dedupe": .withoutEffect, "debug": .withoutEffect,
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, the best match first.", headers: [.contentLanguage],
        media: .json(.component("PhotonFeatureCollection"), example: Examples.photon))
    ])

  let service: PointsService
  let revalidation: Revalidation

  /// The longest time of each search for a text.
  let timeLimit: Duration

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: PhotonArguments.searchParameters)
    let text = arguments.text()
    let bias = arguments.bias()
    let box = arguments.box()
    let limit = arguments.limit(default: PhotonArguments.defaultSearchLimit)
    let filter = arguments.filter()
    let languages = arguments.languages(request.headers)
    try arguments.check()
    let query = text.map { text in
      TextQuery(text: text, completesLastWord: true, bias: bias, filters: PointQuery(box: box), timeLimit: timeLimit)
    }
    return try await revalidation.respond(
      to: request, in: .geoJSON, languages: languages
    ) { () async throws(Problem) in
      var places: [PhotonPlace] = []
      if let query { places = try await find(query, filter, limit: limit, for: request) }
      return HTTPResponse(places, languages)
    }
  }

  private func find(
    _ query: TextQuery, _ filter: PhotonFilter, limit: Int, for request: HTTPRequest
  ) async throws(Problem) -> [PhotonPlace] {
    let names = try service.textSearch()
    guard !filter.isEmpty else {
      var query = query
      query.limit = limit
      return try await service.matches(of: query, [], for: request).points.map { PhotonPlace($0.point) }
    }
    return try await service.searching(of: request, needsIndex: true) { snapshot throws(PointStoreError) in
      var (query, found) = (query, PhotonMatches(filter, limit: limit))
      while let count = found.nextCount {
        query.limit = count
        let page = try service.matches(of: query, in: snapshot, isRecorded: found.isFirst)
        found.add(page.matches.lazy.map(\.point), hasMore: page.next != nil)
        query.after = page.next
      }
      return found.places
    } inStore: { () throws(PointStoreError) in
      var (query, found) = (query, PhotonMatches(filter, limit: limit))
      while let count = found.nextCount {
        query.limit = count
        let page = try await service.matches(of: query, in: names, isRecorded: found.isFirst)
        found.add(page.matches.lazy.map(\.point), hasMore: page.next != nil)
        query.after = page.next
      }
      return found.places
    } response: {
      $0
    }
  }
}

/// `GET /reverse`: the places nearest to a coordinate, by Photon's API.
struct PhotonReverseRoute: CallHandler {
  static let call = Call(
    .GET, "/reverse", scope: .read, id: "photonReverse", group: .photon, summary: "Get the nearest places",
    otherParameters: PhotonArguments.reverseParameters,
    describing: [
      "lat": .init("Latitude of the position.", Parameter.latitude.description.schema).required,
      "lon": .init("Longitude of the position.", Parameter.longitude.description.schema).required,
      "radius": .init(
        "Maximum distance from the position in kilometres.",
        Schema(.number, nil, ["minimum": 0, "maximum": 5000, "default": 1])),
      "limit": .photonLimit(default: PhotonArguments.defaultReverseLimit), "lang": .photonLanguages,
      "osm_tag": .photonTags, "layer": .photonLayers, "dedupe": .withoutEffect, "debug": .withoutEffect,
      "distance_sort": .withoutEffect,
    ],
    requestHeaders: [.acceptLanguage], caching: .versioned,
    responses: [
      .init(
        200, "The places, nearest first; none is no problem.", headers: [.contentLanguage],
        media: .json(.component("PhotonFeatureCollection"), example: Examples.photon))
    ])

  let service: PointsService
  let revalidation: Revalidation

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var arguments = try PhotonArguments(request, allowing: PhotonArguments.reverseParameters)
    let center = arguments.center(isRequired: true)
    let radius = arguments.radiusMetres()
    let limit = arguments.limit(default: PhotonArguments.defaultReverseLimit)
    let filter = arguments.filter()
    let languages = arguments.languages(request.headers)
    try arguments.check()
    guard let center else { throw .internal }
    let query = PointQuery(proximity: .init(center: center, radiusMetres: radius))
    return try await revalidation.respond(
      to: request, in: .geoJSON, languages: languages
    ) { () async throws(Problem) in
      HTTPResponse(try await find(query, filter, limit: limit, for: request), languages)
    }
  }

  private func find(
    _ query: PointQuery, _ filter: PhotonFilter, limit: Int, for request: HTTPRequest
  ) async throws(Problem) -> [PhotonPlace] {
    guard !filter.isEmpty else {
      var query = query
      query.limit = limit
      let page = try await request.reportingStoreErrors { [query] () throws(PointStoreError) in
        try await service.page(matching: query)
      }
      return page.points.map { PhotonPlace($0.point) }
    }
    return try await service.searching(of: request, needsIndex: false) { snapshot throws(PointStoreError) in
      var (query, found) = (query, PhotonMatches(filter, limit: limit))
      while let count = found.nextCount {
        query.limit = count
        let page = try service.page(matching: query, in: snapshot, isRecorded: found.isFirst)
        found.add(page.points.lazy.map(\.point), hasMore: page.next != nil)
        query.after = page.next
      }
      return found.places
    } inStore: { () throws(PointStoreError) in
      var (query, found) = (query, PhotonMatches(filter, limit: limit))
      while let count = found.nextCount {
        query.limit = count
        let page = try await service.page(matching: query, isRecorded: found.isFirst)
        found.add(page.points.lazy.map(\.point), hasMore: page.next != nil)
        query.after = page.next
      }
      return found.places
    } response: {
      $0
    }
  }
}

/// The first places of a search that match a filter, which leaves some of them out: more are looked for step by step.
private struct PhotonMatches {
  /// The number of places that are examined at most.
  private static let maximumExamined = 2000

  /// The number of places in one step.
  private static let stepSize = 200

  private let filter: PhotonFilter
  private let limit: Int
  private var found: [PhotonPlace] = []
  private var examined = 0
  private var hasMore = true

  init(_ filter: PhotonFilter, limit: Int) {
    self.filter = filter
    self.limit = limit
  }

  var places: [PhotonPlace] { Array(found.prefix(limit)) }

  var isFirst: Bool { examined == 0 }

  /// The number of places to look for next; `nil` at the end.
  var nextCount: Int? { found.count < limit && hasMore && examined < Self.maximumExamined ? Self.stepSize : nil }

  /// Adds the places of a step that match.
  mutating func add(_ points: some Sequence<PointOfInterest>, hasMore: Bool) {
    for point in points {
      examined += 1
      let place = PhotonPlace(point)
      if filter.matches(place) { found.append(place) }
    }
    self.hasMore = hasMore
  }
}

extension HTTPResponse {
  /// Creates the FeatureCollection of places, their names in the languages of a request.
  fileprivate init(_ places: [PhotonPlace], _ languages: LanguageNegotiation) {
    var points = places.map { FoundPoint(point: $0.point, distanceMetres: nil) }
    let used = languages.translate(&points)
    var json = JSONWriter(ByteBuffer())
    json.beginObject()
    json.write(member: "type", "FeatureCollection")
    json.write(name: "features")
    json.beginArray()
    let language = languages.languages?.ranges.first?.text
    for point in points { PhotonPlace(point.point).append(language: language, to: &json) }
    json.endArray()
    json.endObject()
    // Clients of Photon expect this media type, not that of GeoJSON.
    self.init(contentType: PointFormat.json.mediaType, bytes: json.sink)
    addContentLanguage(used)
  }
}

extension ParameterDescription {
  fileprivate static func photonLimit(default fallback: Int) -> ParameterDescription {
    .init(
      "Maximum number of places; more than \(PhotonArguments.maximumLimit) counts as \(PhotonArguments.maximumLimit).",
      Schema(.integer, nil, ["minimum": 1, "default": .count(fallback)]))
  }

  fileprivate static let photonLanguages = ParameterDescription(
    Parameter.languages.description.description + " `default` alone stands for the places' own names.",
    Parameter.languages.description.schema)

  fileprivate static let photonTags = ParameterDescription(
    "Only places whose main tag is one of these: `key:value`, `key` or `:value`. `!key:value`, `!key`, `key:!value` and"
      + " `:!value` exclude places. May be repeated.",
    Schema(
      .array(
        of: Schema(
          .string, nil,
          [
            "pattern":
              "^(([^!:][^:]*)?:(![\\s\\S]+|[^!][\\s\\S]*)|[^!:][^:]*|![^:]+|![^:]*:[^!][\\s\\S]*)$"
          ])),
      nil, ["minItems": 1], example: ["tourism:museum"]),
    isRepeatable: true)

  fileprivate static let photonLayers = ParameterDescription(
    "Only places of these levels of an address. May be repeated.",
    Schema(
      .array(of: .oneOf(PhotonLayer.allCases.map(\.rawValue))), nil, ["minItems": 1], example: ["house"]),
    isRepeatable: true)

  fileprivate static let withoutEffect = ParameterDescription(
    "Accepted without effect.", .oneOf(["0", "1", "true", "false"]))
}
