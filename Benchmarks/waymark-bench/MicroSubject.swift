import Basics
import Geo
import HTTPServer
import JSONText
import LocationsAPI
import ManagementAPI
import MemoryStore
import NIOCore
import NIOHTTP1
import PointFormats
import Points
import SyntheticData

/// The subject of the measurements: a memory store, the API over it, and ``MicroBenchmark/inputCount`` inputs of each
/// kind.
struct MicroSubject: Sendable {
  private let store: MemoryStore
  private let api: Router
  /// Coordinates within some kilometres of places.
  private let centers: [Coordinate]
  /// Coordinates of places.
  private let spots: [Coordinate]
  private let ids: [PointID]

  /// Creates a store of synthetic places, the same ones in every run.
  init(placeCount: Int) async throws {
    let seed: UInt64 = 1
    var places = try SyntheticPoints(seed: seed)
    let rows = try places.rows(count: placeCount)
    store = MemoryStore()
    let (batches, continuation) = AsyncStream.makeStream(of: [ImportRow].self)
    continuation.yield(rows)
    continuation.finish()
    _ = try await store.load(batches)
    api = LocationsAPI(.init(service: PointsService(store: store), version: "0")).router { ManagementAPI($0).endpoints }
    centers = try QueryPoints.near(placesOf: seed, count: MicroBenchmark.inputCount)
    spots = rows.prefix(MicroBenchmark.inputCount).map(\.draft.coordinate)
    ids = try await store.page(matching: PointQuery(limit: MicroBenchmark.inputCount)).points.map(\.point.id)
  }

  /// All measurements.
  var benchmarks: [MicroBenchmark] {
    get async throws { distances + searches + (try await writing) + reading + (try await requests) }
  }

  // MARK: Parts

  private var distances: [MicroBenchmark] {
    func measured(_ name: String, to other: @escaping @Sendable (_ index: Int) -> Coordinate) -> MicroBenchmark {
      MicroBenchmark(name, timesPerCall: spots.count) { [spots] _ in
        var metres = 0.0
        for index in spots.indices { metres += Geodesic.distanceMetres(from: spots[index], to: other(index)) }
        return Int(metres)
      }
    }
    return [
      measured("distance within kilometres") { [centers] in centers[$0] },
      measured("distance between any two places") { [spots] in spots[($0 + spots.count / 2) % spots.count] },
    ]
  }

  private var searches: [MicroBenchmark] {
    func search(_ name: String, _ query: @escaping @Sendable (_ input: Int) throws -> PointQuery) -> MicroBenchmark {
      MicroBenchmark(name) { [store] in try await store.page(matching: query($0)).count }
    }
    return [
      search("search, nearest 20") { [centers] in PointQuery(proximity: .init(center: centers[$0])) },
      search("search, within 500 m") { [spots] in PointQuery(proximity: .init(center: spots[$0], radiusMetres: 500)) },
      search("search, box of 4 km") { [spots] in PointQuery(box: try Self.box(around: spots[$0])) },
      search("search, nearest 20 of a category") { [centers] in
        PointQuery(proximity: .init(center: centers[$0]), categories: ["category 40"])
      },
      MicroBenchmark("search, by id") { [store, ids] in try await store.point(id: ids[$0]) == nil ? 0 : 1 },
    ]
  }

  /// Returns a box of 0.04 degrees, clipped to the valid range.
  private static func box(around center: Coordinate) throws -> BoundingBox {
    try BoundingBox(
      west: max(-180, center.longitude - 0.02), south: max(-90, center.latitude - 0.02),
      east: min(180, center.longitude + 0.02), north: min(90, center.latitude + 0.02))
  }

  private var writing: [MicroBenchmark] {
    get async throws {
      var pages: [PointPage] = []
      for center in centers {
        pages.append(try await store.page(matching: PointQuery(proximity: .init(center: center))))
      }
      return [
        MicroBenchmark("JSON of a page of 20") { [pages] in
          var buffer = ByteBuffer()
          PointJSON.appendArray(of: pages[$0].borrowed, fields: .standard, to: &buffer)
          return buffer.readableBytes
        }
      ]
    }
  }

  private var reading: [MicroBenchmark] {
    let query = "lat=37.3293&long=-121.8893&category=museum,caf%C3%A9&limit=50&fields=name,lat,long"
    return [
      MicroBenchmark("query of five parameters") { _ in
        var count = 0
        try QueryParameter.forEach(in: query[...]) { _ in count += 1 }
        return count
      },
      routing("route without parameters", "/locations"),
      routing("route with a parameter", "/locations/0195c8a0-0000-7000-8000-000000000000"),
    ]
  }

  /// Returns the routing of a target among as many routes as the API has, with empty handlers.
  private func routing(_ name: String, _ target: String) -> MicroBenchmark {
    let templates = [
      "/", "/locations", "/locations/{id}", "/locations/check", "/locations/featured", "/locations/import",
      "/locations/export", "/categories", "/health/live", "/health/ready", "/analytics/searches", "/metrics",
    ]
    let router = Router(templates.map { Route(.GET, $0, handler: EmptyHandler()) })
    return handling(name, [HTTPRequest(target: target)], with: .ok, by: router)
  }

  // MARK: Whole requests

  private var requests: [MicroBenchmark] {
    get async throws {
      let nearest = centers.map { "/locations?lat=\($0.latitude)&long=\($0.longitude)" }
      let fields: HTTPHeaders = ["host": "localhost", "accept": "*/*"]
      // The response has a tag only after the second of the last write.
      try await Task.sleep(for: .seconds(1))
      var conditional = fields
      let tag = await api.respond(to: HTTPRequest(target: nearest[0], headers: fields)).headers.first(name: "etag")
      conditional.add(name: "if-none-match", value: tag ?? "*")
      func request(
        _ name: String, _ targets: [String], with status: HTTPResponseStatus = .ok, _ fields: HTTPHeaders
      ) -> MicroBenchmark {
        handling("request, \(name)", targets.map { HTTPRequest(target: $0, headers: fields) }, with: status, by: api)
      }
      return [
        request("nearest 20", nearest, fields),
        request("nearest 20, not modified", nearest, with: .notModified, conditional),
        request("by id", ids.map { "/locations/\($0)" }, fields),
        request("no such path", ["/nowhere"], with: .notFound, fields),
      ]
    }
  }

  /// Returns the handling of requests, without a socket.
  private func handling(
    _ name: String, _ requests: [HTTPRequest], with status: HTTPResponseStatus, by router: Router
  ) -> MicroBenchmark {
    MicroBenchmark(name) { input in
      let response = await router.respond(to: requests[input % requests.count])
      // An unexpected response counts as nothing.
      return response.status == status ? 1 : 0
    }
  }
}

private struct EmptyHandler: RouteHandler {
  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse { HTTPResponse() }
}
