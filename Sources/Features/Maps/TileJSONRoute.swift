import APIDescription
import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /tiles.json`: the description of the tiles (TileJSON 3.0). Parameters of tiles are those of the tiles' address.
struct TileJSONRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/tiles.json", scope: .read, joinsRestriction: true, id: "getTileSet", group: .map, link: "tiles",
    summary: "Get the description of the tiles",
    description: "TileJSON 3.0. Parameters of tiles become those of the tiles' address.",
    parameters: TileResponder.parameters, caching: .timed,
    responses: [.init(200, "The description.", media: .json(schema))])

  private static let schema = Schema(
    .object(
      [
        .required("tilejson", .oneOf(["3.0.0"])), .required("name", Schema(.string)),
        .required("scheme", .oneOf(["xyz"])),
        .required("tiles", Schema(.array(of: Schema(.string)), "Template of the tiles' addresses.")),
        .required("minzoom", .count), .required("maxzoom", .count),
        .optional(
          "bounds",
          Schema(
            .array(of: Schema(.number)), "The bounding box of all places; absent without places.",
            ["minItems": 4, "maxItems": 4])),
        .optional("attribution", Schema(.string, "Attributions of the data sets, in HTML.")),
        .required(
          "vector_layers",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("id", Schema(.string)), .required("description", Schema(.string)),
                    .required("fields", Schema(.object([], others: Schema(.string)))),
                  ], others: nil))))),
      ], others: nil))

  let service: PointsService
  let policy: CachePolicy
  let filtering: Filtering
  let address: PublicAddress
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    let arguments = try await request.compiling(values) { () throws(Problem) in values.tileArguments(by: filtering) }
    let tags = arguments.tags
    try values.check()
    let snapshot = try await service.requiredSnapshot(as: .tile, for: request, text: arguments.text)
    let bounds = try await request.computing { snapshot.bounds }
    let attribution = try await attribution(for: request)
    let query = request.query.map { $0.isEmpty ? "" : "?" + $0 } ?? ""
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "tilejson", "3.0.0")
    json.write(member: "name", "places")
    json.write(member: "scheme", "xyz")
    json.write(name: "tiles")
    json.beginArray()
    json.write(string: address.absoluteTarget(path: "/tiles/{z}/{x}/{y}.mvt" + query, for: request))
    json.endArray()
    json.write(member: "minzoom", TileAddress.zooms.lowerBound)
    json.write(member: "maxzoom", TileAddress.zooms.upperBound)
    if let bounds {
      json.write(name: "bounds")
      json.beginArray()
      for edge in [bounds.west, bounds.south, bounds.east, bounds.north] { json.write(number: edge) }
      json.endArray()
    }
    if let attribution { json.write(member: "attribution", attribution) }
    json.write(name: "vector_layers")
    json.beginArray()
    write(.places, tags, to: &json)
    write(.clusters, [], to: &json)
    json.endArray()
    json.endObject()
    var response = HTTPResponse(json)
    response.addCaching(by: policy)
    return response
  }

  private func write(_ layer: TileLayer, _ tags: [ExactText], to json: inout JSONWriter<[UInt8]>) {
    json.beginObject()
    json.write(member: "id", layer.id)
    json.write(member: "description", layer.title)
    json.write(name: "fields")
    json.beginObject()
    for (name, type) in layer.fields + tags.map({ ($0.text, .text) }) {
      json.write(escapedName: name)
      json.write(string: type == .number ? "Number" : "String")
    }
    json.endObject()
    json.endObject()
  }

  /// Returns the attributions of the data sets as text in HTML; `nil` where there are none.
  private func attribution(for request: HTTPRequest) async throws(Problem) -> String? {
    let sources = try await service.visibleSources(for: request)
    var attributions: [ExactText] = []
    for text in sources.compactMap({ $0.attribution.map { ExactText($0) } }) where !attributions.contains(text) {
      attributions.append(text)
    }
    // Map libraries show attributions as HTML.
    return attributions.isEmpty ? nil : attributions.map { HTML.escape($0.text) }.joined(separator: ", ")
  }
}
