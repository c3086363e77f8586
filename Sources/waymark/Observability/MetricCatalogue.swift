import PrometheusMetrics

/// The names and descriptions of all metrics.
enum MetricCatalogue {
  static let requests = "http_requests_total"
  static let requestDuration = "http_request_duration_seconds"
  static let bodyBytes = "http_response_body_bytes_total"
  static let incompleteResponses = "http_responses_incomplete_total"
  static let connections = "http_connections_open"
  static let requestsInFlight = "http_requests_in_flight"
  static let storeDuration = "store_call_duration_seconds"
  static let poolConnections = "database_pool_connections"
  static let poolLimit = "database_pool_connections_limit"
  static let poolWaiting = "database_pool_waiting_calls"
  static let bulkConnections = "database_bulk_connections"
  static let bulkLimit = "database_bulk_connections_limit"
  static let bulkWaiting = "database_bulk_waiting_calls"
  static let places = "memory_store_places"
  static let droppedSearches = "analytics_dropped_searches_total"
  static let tokenKeys = "token_keys"
  static let tokenKeyFetches = "token_key_fetches_total"
  static let build = "waymark_build_info"

  static let descriptions = [
    MetricDescription(requests, "Completed requests, by method, route template and status."),
    MetricDescription(requestDuration, "Time from the head of a request to the end of its response."),
    MetricDescription(bodyBytes, "Bytes of response bodies handed to connections."),
    MetricDescription(incompleteResponses, "Responses cut short: the client disconnected, or the handler failed."),
    MetricDescription(connections, "Open connections."),
    MetricDescription(requestsInFlight, "Current requests."),
    MetricDescription(storeDuration, "Calls of the store, by operation and outcome."),
    MetricDescription(poolConnections, "Connections of requests to the database, by state."),
    MetricDescription(poolLimit, "Maximum number of connections to the database, including exports and imports."),
    MetricDescription(poolWaiting, "Calls that wait for a connection to the database."),
    MetricDescription(bulkConnections, "Connections to the database that exports or imports use."),
    MetricDescription(bulkLimit, "Maximum number of connections to the database for exports or imports."),
    MetricDescription(bulkWaiting, "Exports or imports that wait for a connection to the database."),
    MetricDescription(places, "Places in memory."),
    MetricDescription(droppedSearches, "Searches that analytics dropped for lack of room."),
    MetricDescription(tokenKeys, "Keys of JWT_JWKS_URL that tokens are verified with."),
    MetricDescription(tokenKeyFetches, "Fetches of JWT_JWKS_URL, by outcome."),
    MetricDescription(build, "The running version; always 1."),
    MetricDescription(ProcessMetrics.residentMemory, "Resident memory size in bytes."),
    MetricDescription(ProcessMetrics.virtualMemory, "Virtual memory size in bytes."),
    MetricDescription(ProcessMetrics.processorTime, "Total user and system CPU time spent in seconds."),
    MetricDescription(ProcessMetrics.openDescriptors, "Number of open file descriptors."),
    MetricDescription(ProcessMetrics.maximumDescriptors, "Maximum number of open file descriptors."),
    MetricDescription(ProcessMetrics.startTime, "Start time of the process since unix epoch in seconds."),
  ]
}
