import CoreMetrics
import PrometheusMetrics
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
  static let poolConnections = MetricDescription(
    "database_pool_connections", "Connections of requests to the database, by state.")
  static let poolLimit = MetricDescription(
    "database_pool_connections_limit", "Maximum number of connections to the database, including exports and imports.")
  static let poolWaiting = MetricDescription(
    "database_pool_waiting_calls", "Calls that wait for a connection to the database.")
  static let bulkConnections = MetricDescription(
    "database_bulk_connections", "Connections to the database that exports or imports use.")
  static let bulkLimit = MetricDescription(
    "database_bulk_connections_limit", "Maximum number of connections to the database for exports or imports.")
  static let bulkWaiting = MetricDescription(
    "database_bulk_waiting_calls", "Exports or imports that wait for a connection to the database.")
  static let places = MetricDescription("memory_store_places", "Places in memory.")
  static let indexPhase = MetricDescription(
    "point_index_phase", "1 for the phase of the index of the database's places, 0 for the others.")
  static let indexPlaces = MetricDescription(
    "point_index_places", "Places in the index, or copied so far while it is being built.")
  static let indexAge = MetricDescription(
    "point_index_age_seconds", "Time since the index was known to have all committed writes.")
  static let indexNotReady = MetricDescription(
    "point_index_not_ready_seconds", "Time for which the index has been built or has caught up; 0 while it follows.")
  static let indexBuilds = MetricDescription("point_index_builds_total", "Times that the index was built.")
  static let indexLoads = MetricDescription(
    "point_index_loads_total", "Times that the index continued from its files.")
  static let indexChanges = MetricDescription(
    "point_index_changes_total", "Changed places that were applied to the index.")
  static let indexReads = MetricDescription(
    "point_index_reads_total", "Reads of places, by source: the index or the database.")
  static let lastImport = MetricDescription(
    "source_last_import_timestamp_seconds", "Time of the last import of a data set, in seconds since 1970.")
  static let droppedSearches = MetricDescription(
    "analytics_dropped_searches_total", "Searches that analytics dropped for lack of room.")
  static let tokenKeys = MetricDescription("token_keys", "Keys of the address JWT_JWKS that tokens are verified with.")
  static let tokenKeyFetches = MetricDescription(
    "token_key_fetches_total", "Fetches of the address JWT_JWKS, by outcome.")
  static let changeStreams = MetricDescription("change_streams_open", "Open streams of changes.")
  static let changeEvents = MetricDescription(
    "change_stream_events_total", "Changes that were sent on streams.")
  static let changeBytes = MetricDescription("change_stream_bytes_total", "Bytes that were sent on streams of changes.")
  static let changeLag = MetricDescription(
    "change_stream_lag_seconds_total",
    "Sum over the changes on streams of the time since this instance saw the change.")
  static let changeInterruptions = MetricDescription(
    "change_stream_interruptions_total",
    "Times that a stream was slower than the changes, or they were not published, and it read the change log.")
  static let changeResets = MetricDescription(
    "change_stream_resets_total", "Positions of streams that were not known any more.")
  static let build = MetricDescription("waymark_build_info", "The running version; always 1.")

  /// All metrics, in the order of the report.
  static let all =
    [
      requests, requestDuration, bodyBytes, incompleteResponses, connections, requestsInFlight, computations,
      computationWait, rejectedComputations, storeDuration,
      poolConnections, poolLimit, poolWaiting, bulkConnections, bulkLimit, bulkWaiting, places, indexPhase, indexPlaces,
      indexAge, indexNotReady, indexBuilds, indexLoads, indexChanges, indexReads, lastImport,
      droppedSearches,
      tokenKeys, tokenKeyFetches, changeStreams, changeEvents, changeBytes, changeLag, changeInterruptions,
      changeResets,
    ] + Features.all.flatMap { $0.metrics } + [build] + ProcessMetrics.descriptions
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

/// A counter that follows a total that is kept elsewhere.
final class TotalFollower: Sendable {
  private let counter: FloatingPointCounter
  private let last = Mutex(0.0)

  /// Creates a follower of a total that begins at 0.
  init(_ metric: MetricDescription, _ dimensions: [(String, String)] = [], factory: any MetricsFactory) {
    counter = FloatingPointCounter(label: metric.name, dimensions: dimensions, factory: factory)
  }

  /// Raises the counter to the total; a total that is not above the last one changes nothing.
  func follow(_ total: Double) {
    last.withLock { last in
      guard total > last else { return }
      counter.increment(by: total - last)
      last = total
    }
  }
}
