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

/// `GET /locations/clusters`: the clusters of tiles as GeoJSON.
struct ClustersRoute: AreaCallHandler {
  static let call = Call(
    .GET, "/locations/clusters", scope: .read, joinsRestriction: true, id: "getClusters", group: .map, link: "clusters",
    summary: "Get clusters of places",
    description:
      "The clusters of the tiles of a zoom level as GeoJSON. Cells that touch the box are whole; above the zoom"
      + " levels with clusters there are the places in the box themselves. More than"
      + " \(maximumCount) features are a 400 that names `zoom`.",
    parameters: .mapFilters.union([.box, .zoom]),
    describing: ["zoom": Parameter.zoom.description.required], caching: .versioned,
    responses: [.init(200, "The clusters.", media: [.init(.geoJSON, schema)])])

  /// The maximum number of features.
  static let maximumCount = 10_000

  /// The estimated number of bytes of a feature that is being written.
  private static let featureBytes = 512

  private static let schema = Schema(
    .object(
      [
        .required("type", .oneOf(["FeatureCollection"])),
        .required(
          "features",
          Schema(
            .array(
              of: Schema(
                .object(
                  [
                    .required("type", .oneOf(["Feature"])),
                    .required("id", Schema(.string, "`level/x/y` of a cell, or the id of its only place.")),
                    .required("geometry", Schema(.any, "The centre of mass: a Point.")),
                    .required(
                      "properties",
                      Schema(
                        .object(
                          [
                            .required("count", Schema(.integer, nil, ["minimum": 1])),
                            .required("name", Schema(.string, "Name of a sample place.")),
                            .optional("category", Schema(.string, "Most frequent category.")),
                          ], others: nil))),
                  ], others: nil))))),
      ], others: nil))

  let service: PointsService
  let revalidation: Revalidation
  let filtering: Filtering
  let areas: any AreaStore

  func respond(to request: HTTPRequest, with values: ParameterValues) async throws(Problem) -> HTTPResponse {
    var values = values
    var filters = try await request.compiling(values) { () throws(Problem) in values.filters(by: filtering) }
    let text = values.text()
    let zoom = values.zoom()
    try values.check()
    let box = filters.box
    filters.box = nil
    let level = zoom <= TileQuery.clusterMaximumZoom ? zoom + TileQuery.cellBits : nil
    let query = CellQuery(
      box: box, level: level, filters: filters, text: text, timeLimit: filtering.timeLimit)
    return try await revalidation.respond(
      to: request, in: .geoJSON, areas: values.areas, expires: filters.opening?.isNow == true
    ) { () async throws(Problem) in
      let snapshot = try await service.requiredSnapshot(as: .clusters, for: request, text: text)
      let reservation = try await request.reserveMemory(bytes: Self.maximumCount * Self.featureBytes)
      defer { extendLifetime(reservation) }
      return try await request.computing { () throws(Problem) in
        let cells = try request.searchResult(
          of: service.searched(.clusters, try snapshot.cells(matching: query, limit: Self.maximumCount)))
        guard let cells else {
          throw .invalidParameter(
            "zoom",
            "must be lower, or bbox smaller: the response would have more than \(Self.maximumCount) features")
        }
        return ExpiringResponse(try Self.response(cells), expiry: snapshot.expiry(of: query.filters))
      }
    }
  }

  /// The number of features that are written between two looks at the time, less than a millisecond.
  private static let featuresPerCheck = 256

  /// Returns the response with cells.
  ///
  /// - Throws: `Problem` 503 `filter-timeout` at the deadline of the present computation.
  private static func response(_ cells: [MapCell]) throws(Problem) -> HTTPResponse {
    var json = JSONWriter()
    json.beginObject()
    json.write(member: "type", "FeatureCollection")
    json.write(name: "features")
    json.beginArray()
    for (index, cell) in cells.enumerated() {
      if index % featuresPerCheck == 0, ComputationDeadline.hasPassed { throw Problem(PointStoreError.filterTimeout) }
      write(cell, to: &json)
    }
    json.endArray()
    json.endObject()
    return HTTPResponse(contentType: PointFormat.geoJSON.mediaType, bytes: json.sink)
  }

  private static func write(_ cell: MapCell, to json: inout JSONWriter<[UInt8]>) {
    json.beginObject()
    json.write(member: "type", "Feature")
    json.write(member: "id", cell.count == 1 ? cell.id.description : "\(cell.level)/\(cell.x)/\(cell.y)")
    json.write(name: "geometry")
    json.beginObject()
    json.write(member: "type", "Point")
    json.write(name: "coordinates")
    json.beginArray()
    json.write(number: cell.center.longitude)
    json.write(number: cell.center.latitude)
    json.endArray()
    json.endObject()
    json.write(name: "properties")
    json.beginObject()
    json.write(member: "count", cell.count)
    json.write(member: "name", cell.name)
    if let category = cell.category { json.write(member: "category", category) }
    json.endObject()
    json.endObject()
  }
}
