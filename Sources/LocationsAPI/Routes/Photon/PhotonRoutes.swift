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
      return ExpiringResponse(HTTPResponse(places, languages))
    }
  }

  private func find(
    _ query: TextQuery, _ filter: PhotonFilter, limit: Int, for request: HTTPRequest
  ) async throws(Problem) -> [PhotonPlace] {
    try await PhotonMatches.find(limit: limit, matching: filter) { count, after, isFirst, select throws(Problem) in
      var query = query
      (query.limit, query.after) = (count, after)
      return try await service.matches(of: query, isRecorded: isFirst, for: request) { page in
        (select(page.matches.lazy.map(\.point)), page.next)
      }
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
      ExpiringResponse(HTTPResponse(try await find(query, filter, limit: limit, for: request), languages))
    }
  }

  private func find(
    _ query: PointQuery, _ filter: PhotonFilter, limit: Int, for request: HTTPRequest
  ) async throws(Problem) -> [PhotonPlace] {
    try await PhotonMatches.find(limit: limit, matching: filter) { count, after, isFirst, select throws(Problem) in
      var query = query
      (query.limit, query.after) = (count, after)
      return try await service.page(matching: query, isRecorded: isFirst, for: request) { page in
        (select(page.points.lazy.map(\.point)), page.next)
      }
    }
  }
}

/// The first places of a search that match a filter, which leaves some of them out: more are looked for page by page.
private enum PhotonMatches {
  /// The number of places that are examined at most.
  private static let maximumExamined = 2000

  /// The number of places of a page.
  private static let pageSize = 200

  /// Returns the first places of a search that match.
  ///
  /// - Parameter page: finds a page: a number of places after a position. It returns what a closure selects of them,
  ///   and the position after them; `nil` at the end.
  static func find<Position>(
    limit: Int, matching filter: PhotonFilter,
    _ page: (
      _ count: Int, _ after: Position?, _ isFirst: Bool, _ select: (any Sequence<PointOfInterest>) -> [PhotonPlace]
    ) async throws(Problem) -> (places: [PhotonPlace], next: Position?)
  ) async throws(Problem) -> [PhotonPlace] {
    var found: [PhotonPlace] = []
    var (examined, next): (Int, Position?) = (0, nil)
    repeat {
      let count = filter.isEmpty ? limit : pageSize
      let (places, position) = try await page(count, next, examined == 0) { points in
        points.map { PhotonPlace($0) }.filter(filter.matches)
      }
      found += places
      examined += count
      next = position
    } while next != nil && found.count < limit && examined < maximumExamined
    return Array(found.prefix(limit))
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
    for point in points {
      PhotonPlace(point.point, in: RequestAreas.areas(of: point.point)).append(language: language, to: &json)
    }
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

/// Photon's API to the places of an interface.
package struct PhotonAPI: Sendable {
  package let endpoints: [Endpoint]

  package init(_ locations: LocationsAPI) {
    let (service, revalidation) = (locations.configuration.service, locations.revalidation)
    let handlers: [any CallHandler] = [
      PhotonSearchRoute(
        service: service, revalidation: revalidation, timeLimit: locations.configuration.filtering.timeLimit),
      PhotonReverseRoute(service: service, revalidation: revalidation),
    ]
    endpoints = handlers.map(\.endpoint)
  }
}
