import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /api`: the search of Photon's API.
struct PhotonSearchRoute: RouteHandler {
  let service: PointsService
  let revalidation: Revalidation

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
      TextQuery(text: text, completesLastWord: true, bias: bias, filters: PointQuery(box: box))
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
    var query = query
    return try await filter.places(limit: limit) { stepSize, isFirst throws(Problem) in
      query.limit = stepSize
      let (points, next) = try await service.matches(of: query, [], isRecorded: isFirst, for: request)
      query.after = next
      return (points, next != nil)
    }
  }
}

/// `GET /reverse`: the places nearest to a coordinate, by Photon's API.
struct PhotonReverseRoute: RouteHandler {
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
    var query = query
    return try await filter.places(limit: limit) { stepSize, isFirst throws(Problem) in
      query.limit = stepSize
      let step = query
      let page = try await request.reportingStoreErrors { () throws(PointStoreError) in
        try await service.page(matching: step, isRecorded: isFirst)
      }
      query.after = page.next
      return (page.points, page.next != nil)
    }
  }
}

extension PhotonFilter {
  /// The number of places that are examined at most where the filter leaves some out.
  private static let maximumExamined = 2000

  /// The number of places in one step of such a search.
  private static let stepSize = 200

  /// Returns the first places of a search that match, looking for more step by step.
  ///
  /// - Parameter step: returns the next places, and whether there are more.
  fileprivate func places(
    limit: Int,
    _ step: (_ count: Int, _ isFirst: Bool) async throws(Problem) -> (points: [FoundPoint], hasMore: Bool)
  ) async throws(Problem) -> [PhotonPlace] {
    var places: [PhotonPlace] = []
    var examined = 0
    while true {
      let (points, hasMore) = try await step(isEmpty ? limit : Self.stepSize, examined == 0)
      places += points.lazy.map { PhotonPlace($0.point) }.filter(matches)
      examined += points.count
      guard places.count < limit, hasMore, examined < Self.maximumExamined else { return Array(places.prefix(limit)) }
    }
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
