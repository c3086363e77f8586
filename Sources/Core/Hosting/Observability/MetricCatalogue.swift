import AccessControl
import CoreMetrics
import IndexedStore
import LocationsAPI
import PostgresClient
import PrometheusMetrics
import ServerFeatures
import Synchronization

enum MetricCatalogue {
  static let requests = MetricDescription(
    "http_requests_total", "Completed requests, by method, route template and status.")
  static let requestDuration = MetricDescription(
    "http_request_duration_seconds", "Time from the head of a request to the end of its response.")
  static let bodyBytes = MetricDescription(
    "http_response_body_bytes_total", "Bytes of response bodies handed to connections.")
  static let incompleteResponses = MetricDescription(
    "http_responses_incomplete_total", "Responses cut short: the client disconnected, or the handler failed.")
  static let connections = MetricDescription("http_connections_open", "Open connections.")
  static let requestsInFlight = MetricDescription("http_requests_in_flight", "Current requests.")
  static let computations = MetricDescription(
    "computations", "Long computations of requests, by state: running, or waiting for a thread.")
  static let computationWait = MetricDescription(
    "computation_wait_seconds_total", "Time for which computations have waited for a thread.")
  static let rejectedComputations = MetricDescription(
    "computations_rejected_total", "Computations that found no thread in time, whose requests got 503 overloaded.")
  static let storeDuration = MetricDescription(
    "store_call_duration_seconds", "Calls of the store, by operation and outcome.")
  static let lastImport = MetricDescription(
    "source_last_import_timestamp_seconds", "Time of the last import of a data set, in seconds since 1970.")
  static let build = MetricDescription("waymark_build_info", "The running version; always 1.")

  static let memoryStore: [CollectedMetric<Int>] = [
    .gauge("memory_store_places", "Places in memory.") { Double($0) }
  ]

  static let pool: [CollectedMetric<(load: PoolLoad, limit: Int)>] = [
    .gauge(
      "database_pool_connections", "Connections of requests to the database, by state.", by: "state",
      [
        "connecting": { Double($0.load.connecting) }, "idle": { Double($0.load.idle) },
        "busy": { Double($0.load.busy) },
      ]),
    .gauge(
      "database_pool_connections_limit",
      "Maximum number of connections to the database, including exports and imports."
    ) { Double($0.limit) },
    .gauge("database_pool_waiting_calls", "Calls that wait for a connection to the database.") {
      Double($0.load.waiting)
    },
    .gauge(
      "database_bulk_connections", "Connections to the database that exports or imports use.", by: "kind",
      ["export": { Double($0.load.exports.connections) }, "import": { Double($0.load.imports.connections) }]),
    .gauge(
      "database_bulk_connections_limit", "Maximum number of connections to the database for exports or imports.",
      by: "kind", ["export": { Double($0.load.exports.limit) }, "import": { Double($0.load.imports.limit) }]),
    .gauge(
      "database_bulk_waiting_calls", "Exports or imports that wait for a connection to the database.", by: "kind",
      ["export": { Double($0.load.exports.waiting) }, "import": { Double($0.load.imports.waiting) }]),
  ]

  static let index: [CollectedMetric<(status: IndexFollower.Status, indexReads: Int, databaseReads: Int)>] = [
    .gauge(
      "point_index_phase", "1 for the phase of the index of the database's places, 0 for the others.", by: "phase",
      IndexFollower.Phase.allCases.reduce(into: [:]) { readers, phase in
        readers[phase.rawValue] = { $0.status.phase == phase ? 1 : 0 }
      }),
    .gauge("point_index_places", "Places in the index, or copied so far while it is being built.") {
      Double($0.status.points)
    },
    .gauge("point_index_age_seconds", "Time since the index was known to have all committed writes.") {
      $0.status.age.map { $0 / .seconds(1) } ?? 0
    },
    .gauge(
      "point_index_not_ready_seconds",
      "Time for which the index has been built or has caught up; 0 while it follows."
    ) { $0.status.notReady / .seconds(1) },
    .total("point_index_builds_total", "Times that the index was built.") { Double($0.status.builds) },
    .total("point_index_loads_total", "Times that the index continued from its files.") { Double($0.status.loads) },
    .total("point_index_changes_total", "Changed places that were applied to the index.") {
      Double($0.status.changes)
    },
    .total(
      "point_index_reads_total", "Reads of places, by source: the index or the database.", by: "source",
      ["index": { Double($0.indexReads) }, "database": { Double($0.databaseReads) }]),
  ]

  static let analytics: [CollectedMetric<Int>] = [
    .total("analytics_dropped_searches_total", "Searches that analytics dropped for lack of room.") { Double($0) }
  ]

  /// Returns the metrics of a server with features.
  static func all(with features: [any ServerFeature.Type]) -> [MetricDescription] {
    [
      [
        requests, requestDuration, bodyBytes, incompleteResponses, connections, requestsInFlight, computations,
        computationWait, rejectedComputations, storeDuration, lastImport, build,
      ],
      memoryStore.map(\.description), pool.map(\.description), index.map(\.description), analytics.map(\.description),
      features.flatMap { $0.metrics },
      ProcessMetrics.descriptions,
    ].flatMap(\.self)
  }
}

/// A cache of handles of metrics by their labels. A look-up takes a lock for its duration.
final class HandleCache<Key: Hashable & Sendable, Handle: Sendable>: Sendable {
  private let handles = Mutex<[Key: Handle]>([:])

  /// Returns the handle for a key, and creates it where there is none yet.
  func handle(for key: Key, make: () -> Handle) -> Handle {
    handles.withLock { handles in
      if let handle = handles[key] { return handle }
      let handle = make()
      handles[key] = handle
      return handle
    }
  }
}
