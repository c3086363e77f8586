import Geo
import HTTPServer
import JSONText
import NIOCore
import NIOHTTP1
import PointFormats
import Points

/// `GET /locations/clusters`: the clusters of tiles as GeoJSON.
struct ClustersRoute: RouteHandler {
  static let parameters = Set<Parameter>.mapFilters.union([.box, .zoom])

  /// The maximum number of features.
  static let maximumCount = 10_000

  /// The estimated number of bytes of a feature that is being written.
  private static let featureBytes = 512

  let service: PointsService
  let revalidation: Revalidation
  let filtering: Filtering
  let clusterMaximumZoom: Int

  func respond(to request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    var values = try ParameterValues(request, allowing: Self.parameters)
    var filters = values.filters(by: filtering)
    let text = values.text()
    let zoom = values.zoom()
    try values.check()
    let box = filters.box
    filters.box = nil
    let level = zoom <= clusterMaximumZoom ? zoom + TileQuery.cellBits : nil
    let query = CellQuery(
      box: box, level: level, filters: filters, text: text, timeLimit: filtering.timeLimit)
    return try await revalidation.respond(to: request, in: .geoJSON) { () async throws(Problem) in
      let reservation = try await request.reserveMemory(bytes: Self.maximumCount * Self.featureBytes)
      defer { extendLifetime(reservation) }
      let snapshot = try await service.mapSnapshot(for: request, text: text)
      return try await request.computing { () throws(Problem) in
        let cells = try request.reportingSearchErrors { () throws(PointStoreError) in
          try snapshot.cells(matching: query, limit: Self.maximumCount)
        }
        guard let cells else {
          throw .invalidParameter(
            "zoom",
            "must be lower, or bbox smaller: the response would have more than \(Self.maximumCount) features")
        }
        return Self.response(cells)
      }
    }
  }

  private static func response(_ cells: [MapCell]) -> HTTPResponse {
    var json = JSONWriter(ByteBuffer())
    json.beginObject()
    json.write(member: "type", "FeatureCollection")
    json.write(name: "features")
    json.beginArray()
    for cell in cells { write(cell, to: &json) }
    json.endArray()
    json.endObject()
    return HTTPResponse(contentType: PointFormat.geoJSON.mediaType, bytes: json.sink)
  }

  private static func write(_ cell: MapCell, to json: inout JSONWriter<ByteBuffer>) {
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
