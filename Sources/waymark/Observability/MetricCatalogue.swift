import PrometheusMetrics

/// The metrics that there are.
enum MetricCatalogue {
  static let requests = "http_requests_total"
  static let requestDuration = "http_request_duration_seconds"
  static let bodyBytes = "http_response_body_bytes_total"
  static let incompleteAnswers = "http_responses_incomplete_total"
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

  /// What is said of each.
  static let descriptions = [
    MetricDescription(requests, "Requests answered, by method, route template and status."),
    MetricDescription(requestDuration, "From a request's head to the end of its answer."),
    MetricDescription(bodyBytes, "Bytes of answers' bodies handed to connections."),
    MetricDescription(incompleteAnswers, "Answers that did not get to their end: the client went, or they broke off."),
    MetricDescription(connections, "Connections open."),
    MetricDescription(requestsInFlight, "Requests being answered."),
    MetricDescription(storeDuration, "Calls of the store, by operation and outcome."),
    MetricDescription(poolConnections, "Connections of requests to the database, by what they do."),
    MetricDescription(poolLimit, "Connections to the database at most, those of exports and imports included."),
    MetricDescription(poolWaiting, "Calls that wait for a connection to the database."),
    MetricDescription(bulkConnections, "Connections to the database that exports or imports have."),
    MetricDescription(bulkLimit, "Connections to the database that exports or imports may have."),
    MetricDescription(bulkWaiting, "Exports or imports that wait for a connection to the database."),
    MetricDescription(places, "Places in memory."),
    MetricDescription(droppedSearches, "Searches that analytics had no room for."),
    MetricDescription(tokenKeys, "Keys of JWT_JWKS_URL that tokens are verified with."),
    MetricDescription(tokenKeyFetches, "Fetches of JWT_JWKS_URL, by outcome."),
    MetricDescription(build, "The version that runs; always 1."),
    MetricDescription(ProcessMetrics.residentMemory, "Resident memory size in bytes."),
    MetricDescription(ProcessMetrics.virtualMemory, "Virtual memory size in bytes."),
    MetricDescription(ProcessMetrics.processorTime, "Total user and system CPU time spent in seconds."),
    MetricDescription(ProcessMetrics.openDescriptors, "Number of open file descriptors."),
    MetricDescription(ProcessMetrics.maximumDescriptors, "Maximum number of open file descriptors."),
    MetricDescription(ProcessMetrics.startTime, "Start time of the process since unix epoch in seconds."),
  ]
}
