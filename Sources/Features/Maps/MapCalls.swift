import APIDescription
import Basics
import CQL2
import Geo
import HTTPServer
import JSONText
package import LocationsAPI
import NIOCore
import NIOHTTP1
import Points
import VectorTiles

/// The calls by which maps show places: tiles, clusters and counts.
package struct MapCalls: Sendable {
  package let endpoints: [Endpoint]

  package init(_ api: LocationsAPI) {
    let configuration = api.configuration
    let (service, filtering, areas) = (configuration.service, configuration.filtering, configuration.areas)
    let handlers: [any CallHandler] = [
      TileRoute(responder: api.tiles, areas: areas),
      TileJSONRoute(
        service: service, policy: configuration.caching, filtering: filtering, address: configuration.address,
        areas: areas),
      ClustersRoute(service: service, revalidation: api.revalidation, filtering: filtering, areas: areas),
      FacetsRoute(service: service, revalidation: api.revalidation, filtering: filtering, areas: areas),
    ]
    endpoints = handlers.map(\.endpoint)
  }
}

/// `GET /tiles/{z}/{x}/{y}.mvt`: a vector tile of the places that match, or of clusters of them.
struct TileRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/tiles/{z}/{x}/{y}.mvt", scope: .read, joinsRestriction: true, id: "getTile", group: .map,
    summary: "Get a vector tile",
    description:
      "A Mapbox Vector Tile 2.1 with the layers `places` and `clusters`. The entity tag stays valid until a place in"
      + " the tile changes.",
    parameters: TileResponder.parameters, describing: TileResponder.addressParameters(),
    caching: .tagged(isAlwaysTagged: false), responses: [TileResponder.description])

  let responder: TileResponder
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    let arguments = try await request.compiling(values) { () throws(Problem) in
      values.tileArguments(by: responder.filtering)
    }
    try values.check()
    let path = request.pathParameters
    return try await responder.respond(
      with: TileAddress(zoom: path["z"], x: path["x"], y: path["y"]), arguments, to: request)
  }
}

// MARK: Parameters

extension Parameter {
  static let zoom = Parameter("zoom", .integer, order: 200) {
    .init("Zoom level of a map.", Schema(.integer, nil, ["minimum": 0, "maximum": 22], example: 10))
  }

  static let facets = Parameter("by", .list, order: 210) {
    .init(
      "Properties to count by, separated by commas: `category`, `group` for the groups of the tree of categories,"
        + " `area:KIND` for the named areas of a kind, and `tag.KEY` for a tag.",
      Schema(
        .array(
          of: Schema(
            .string, nil,
            ["pattern": "^(category|group|area:(country|region|city|district|postcode|custom)|tag\\.[^,]{1,200})$"])),
        nil,
        ["minItems": 1, "maxItems": .count(FacetQuery.maximumFacets), "uniqueItems": true],
        example: ["category", "tag.cuisine"]))
  }
}

extension ParameterValues {
  /// Returns a zoom level.
  mutating func zoom() -> Int {
    guard let text = self[.zoom] else {
      note(.missing, Parameter.zoom.name, "must be given")
      return 0
    }
    guard text.utf8.count <= 2, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }),
      let zoom = Int(text), TileAddress.zooms.contains(zoom)
    else {
      note(.invalid, Parameter.zoom.name, "must be an integer from 0 to 22, got '\(text.prefix(50))'")
      return 0
    }
    return zoom
  }

  mutating func facets(by filtering: Filtering) -> [FacetQuery.Facet] {
    guard let text = self[.facets] else {
      note(.missing, Parameter.facets.name, "must be given")
      return []
    }
    var facets: [FacetQuery.Facet] = []
    for name in Self.list(text).map({ String($0) }) {
      if name.utf8.elementsEqual("category".utf8) {
        facets.append(.category)
      } else if name.utf8.elementsEqual("group".utf8) {
        facets.append(.group)
      } else if let kind = AreaKind.allCases.first(where: {
        name.hasSameBytes(as: FacetsRoute.areaPrefix + $0.rawValue)
      }) {
        facets.append(.area(kind))
      } else if let key = Queryables.tagKey(ofProperty: name),
        key.unicodeScalars.count <= Tags.maximumKeyLength
      {
        let isList = filtering.queryables.type(ofTag: key) == .stringArray
        facets.append(isList ? .elements(ofTag: ExactText(key)) : .tag(ExactText(key)))
      } else {
        note(
          .invalid, Parameter.facets.name,
          "must be category, group, area:KIND, and tag.KEY for keys of tags, separated by commas,"
            + " got '\(name.prefix(50))'"
        )
        return []
      }
    }
    guard facets.count <= FacetQuery.maximumFacets, Set(facets).count == facets.count else {
      note(.invalid, Parameter.facets.name, "must be up to \(FacetQuery.maximumFacets) different names")
      return []
    }
    return facets
  }
}
