import APIDescription
import Basics
package import HTTPServer
import JSONText
import NIOHTTP1
import PointFormats
package import Points

/// `GET /sources`: the data sets that places come from, and those that are built in, with licence and attribution.
struct SourcesRoute: CallHandler {
  static let call = Call(
    .GET, "/sources", scope: .read, joinsRestriction: true, id: "listSources", group: .search, link: "sources",
    summary: "List the data sets",
    description:
      "Where places and areas come from, with licence and attribution. Those with `usedFor` are built in: the service"
      + " computes opening hours with them. For keys and tokens with a filter or areas, the data sets of their places.",
    parameters: [.format],
    describing: ["f": .format([.json])], caching: .timed,
    responses: [.init(200, "The data sets.", media: .json(Schema(.array(of: .dataSource))))])

  let service: PointsService
  let policy: CachePolicy

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    let values = try ParameterValues(request, allowing: Self.call.parameters)
    try values.check()
    _ = try PointFormat.chosen(by: values[.format], accept: request.headers, from: [.json])
    let sources = try await service.visibleSources(for: request)
    if sources.count <= Self.fewSources { return response(sources) }
    return try await request.computing { response(sources) }
  }

  /// The number of data sets that are written in less than a millisecond.
  private static let fewSources = 1000

  private func response(_ sources: [DataSource]) -> HTTPResponse {
    var json = JSONWriter()
    json.writeArray(of: sources.map { ($0, nil) } + BuiltInData.allCases.map { ($0.source, $0) }) { source, json in
      let (source, use): (DataSource, BuiltInData?) = source
      json.write(member: "name", source.name)
      if let licence = source.licence { json.write(member: "licence", licence) }
      if let attribution = source.attribution { json.write(member: "attribution", attribution) }
      if let url = source.url { json.write(member: "url", url) }
      if let use { json.write(member: "usedFor", use.rawValue) }
    }
    var response = HTTPResponse(json)
    response.addCaching(by: policy)
    return response
  }
}

/// The data that the service computes opening hours with.
enum BuiltInData: String, CaseIterable {
  case timeZones, publicHolidays

  var source: DataSource {
    switch self {
    case .timeZones:
      DataSource(
        name: "timezone-boundary-builder", licence: "ODbL-1.0", attribution: "© OpenStreetMap contributors",
        url: "https://github.com/evansiroky/timezone-boundary-builder")
    case .publicHolidays:
      DataSource(
        name: "holidays", licence: "MIT", attribution: "Vacanza Team and individual contributors",
        url: "https://github.com/vacanza/holidays")
    }
  }
}

extension PointsService {
  /// Returns the attributions of the data sets; `nil` if the fields have none.
  ///
  /// - Throws: `Problem` of the store's error.
  func attributions(for fields: FieldSet, _ request: HTTPRequest) async throws(Problem) -> Attributions? {
    guard fields.contains(.attribution) else { return nil }
    let all = try await request.result(of: await sources())
    return Attributions(of: all)
  }

  /// Returns the data sets that the sender may know of: with a restriction, those that have places of it.
  ///
  /// - Throws: `Problem` of the store's error.
  package func visibleSources(for request: HTTPRequest) async throws(Problem) -> [DataSource] {
    let all = try await request.result(of: await sources())
    guard isRestricted else { return all }
    var visible: [DataSource] = []
    for source in all {
      let places = PointQuery(source: .init(name: source.name), limit: 1)
      let hasPlaces = try await page(matching: places, isRecorded: false, for: request) { $0.count > 0 }
      if hasPlaces { visible.append(source) }
    }
    return visible
  }
}

/// The attributions of the data sets, by their names.
package struct Attributions {
  private var texts: [ExactText: String] = [:]

  package init(of sources: [DataSource]) {
    for source in sources {
      texts[ExactText(source.name)] = source.attribution ?? source.licence ?? source.name
    }
  }

  /// The attributions, each once, in the order of their texts.
  package var all: [String] { Set(texts.values.map { ExactText($0) }).sorted().map(\.text) }

  /// Adds the attribution of each place's data set.
  func add(to points: inout [FoundPoint]) {
    for index in points.indices {
      guard let name = points[index].point.draft.origin?.source else { continue }
      points[index].attribution = texts[ExactText(name)] ?? name
    }
  }
}

extension Schema {
  fileprivate static let dataSource = Schema(
    .object(
      [
        .required("name", Schema(.string)), .optional("licence", Schema(.string)),
        .optional("attribution", Schema(.string)), .optional("url", Schema(.string)),
        .optional("usedFor", .oneOf(BuiltInData.allCases.map(\.rawValue))),
      ], others: nil),
    nil, example: ["name": "osm", "licence": "ODbL-1.0", "attribution": "© OpenStreetMap contributors"]
  ).named("DataSource", order: 280)
}
