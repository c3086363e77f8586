import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
import Points

/// `GET /sources`: the data sets that places come from, with licence and attribution.
struct SourcesRoute: RouteHandler {
  static let parameters: Set<Parameter> = [.format]

  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: Self.parameters)
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    let sources = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await service.store.sources()
    }
    var json = JSONWriter()
    json.writeArray(of: sources) { source, json in
      json.write(member: "name", source.name)
      if let licence = source.licence { json.write(member: "licence", licence) }
      if let attribution = source.attribution { json.write(member: "attribution", attribution) }
      if let url = source.url { json.write(member: "url", url) }
    }
    var response = HTTPResponse(json)
    response.headers.add(name: "cache-control", value: policy.cacheControl)
    response.headers.add(name: "vary", value: policy.vary)
    return response
  }
}

extension PointsService {
  /// Adds the attribution of each place's data set.
  ///
  /// - Throws: `PointStoreError`.
  func addAttribution(to points: inout [FoundPoint]) async throws(PointStoreError) {
    var attributions: [ExactText: String] = [:]
    for source in try await store.sources() {
      attributions[ExactText(source.name)] = source.attribution ?? source.licence ?? source.name
    }
    for index in points.indices {
      guard let name = points[index].point.draft.origin?.source else { continue }
      points[index].attribution = attributions[ExactText(name)] ?? name
    }
  }
}
