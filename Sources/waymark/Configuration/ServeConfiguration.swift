import HTTPServer
import LocationsAPI

/// Everything that `waymark serve` can be told, read and checked once. Nothing below the composition root knows where
/// a value came from, or that there is an environment.
struct ServeConfiguration {
  /// Where the places are kept.
  enum Store: Hashable {
    /// In memory, and in a file that keeps them where one is named; what is empty is filled from data files, or from the
    /// bundled sample where there are none.
    case memory(dataFiles: [String], keptIn: String?)
    /// In PostgreSQL.
    case postgres(DatabaseConfiguration)
  }

  /// Which analytics are kept.
  enum AnalyticsKind: String, CaseIterable {
    case off
    case log
    case postgres
  }

  private enum StoreKind: String, CaseIterable {
    case memory
    case postgres
  }

  /// Where it listens, and what clients may do.
  let http: HTTPServerConfiguration

  /// What it proves itself with; `nil` where it speaks in the clear.
  let tls: TLSFiles?

  /// Which pages may read the answers.
  let cors: CORSPolicy

  /// Where the places are kept.
  let store: Store

  /// A Boolean value that indicates whether damaged rows of the file that keeps the places are left out at start.
  let skipsDamaged: Bool

  /// Which analytics are kept.
  let analytics: AnalyticsKind

  /// How long searches are kept, where they are.
  let analyticsRetention: Duration

  /// Who may do what.
  let access: AccessConfiguration

  /// The address under which clients see the service.
  let address: PublicAddress

  /// How often a client may ask.
  let rateLimit: RateLimitConfiguration

  /// Whether a change is refused that does not say what it was made to.
  let requiresIfMatch: Bool

  /// What caches are told of answers: the directives of `Cache-Control`.
  let cacheControl: String

  /// Whether each request is logged at level `info`.
  let logsRequests: Bool

  /// Whether answers tell how long they took to make.
  let tellsTiming: Bool

  /// How long the server goes on accepting connections, and says that it is not ready, when it is told to stop.
  let drainDelay: Duration

  /// How long requests in flight get to finish when the server is told to stop.
  let drainTimeout: Duration

  /// Whether nothing is set up that reaches outside the process: no listening socket, no database, no file that is
  /// written to, no analytics.
  let isUnitTesting: Bool

  /// Reads the settings.
  ///
  /// - Throws: ``ConfigurationError`` for the first value that can't be used.
  init(_ settings: Settings) throws(ConfigurationError) {
    isUnitTesting = try settings.flag("IS_UNIT_TESTING")
    http = try HTTPServerConfiguration(settings)
    tls = try TLSFiles(settings)
    cors = try CORSPolicy(settings)
    access = try AccessConfiguration(settings)
    rateLimit = try RateLimitConfiguration(settings)
    let publicURL = settings["PUBLIC_URL"]
    if let publicURL, !PublicAddress.isAcceptable(url: publicURL) {
      throw .init(
        variable: "PUBLIC_URL", value: publicURL,
        expectation: "must be an address such as https://example.com/poi, without query and fragment")
    }
    address = PublicAddress(url: publicURL, proxies: rateLimit.proxies)
    requiresIfMatch = try settings.flag("REQUIRE_IF_MATCH")
    cacheControl = settings["CACHE_CONTROL"] ?? CachePolicy.defaultDirectives
    guard CachePolicy.areDirectives(cacheControl) else {
      throw .init(
        variable: "CACHE_CONTROL", value: cacheControl,
        expectation: "must be directives such as no-cache or max-age=5, with commas between; times are whole seconds")
    }
    logsRequests = try settings.flag("ACCESS_LOG")
    tellsTiming = try settings.flag("SERVER_TIMING")
    drainDelay = .milliseconds(try settings.integer("DRAIN_DELAY_MS", in: 0...3_600_000, default: 0))
    drainTimeout = try settings.milliseconds("DRAIN_TIMEOUT_MS", default: 8000)
    skipsDamaged = try settings.flag("SKIP_DAMAGED")
    let analytics = try settings.choice("ANALYTICS", default: AnalyticsKind.log)
    let retentionDays = try settings.integer("ANALYTICS_RETENTION_DAYS", in: 1...36_500, default: 90)
    analyticsRetention = .seconds(86_400 * retentionDays)
    self.analytics = isUnitTesting ? .off : analytics
    let kind = try settings.choice(
      "POINT_STORE", default: settings["DATABASE_URL"] == nil ? StoreKind.memory : .postgres)
    guard analytics != .postgres || kind == .postgres else {
      throw ConfigurationError(
        variable: "ANALYTICS", value: analytics.rawValue, expectation: "needs POINT_STORE=postgres")
    }
    try Self.checkUse(of: settings, kind, analytics)
    switch kind {
    case .memory:
      let path = settings["MEMORY_STORE_PATH"]
      store = .memory(dataFiles: settings.list("DATA_FILE"), keptIn: isUnitTesting ? nil : path)
    case .postgres:
      let database = try DatabaseConfiguration(settings)
      store = isUnitTesting ? .memory(dataFiles: [], keptIn: nil) : .postgres(database)
    }
  }

  /// Rejects settings that would be ignored: someone expects something of them.
  private static func checkUse(
    of settings: Settings, _ kind: StoreKind, _ analytics: AnalyticsKind
  ) throws(ConfigurationError) {
    func reject(_ variable: String, isSecret: Bool = false, _ expectation: String) throws(ConfigurationError) {
      guard let value = settings[variable] else { return }
      throw .init(variable: variable, value: isSecret ? nil : value, expectation: expectation)
    }
    switch kind {
    case .memory:
      let expectation =
        settings["DATABASE_URL"] == nil
        ? "is for POINT_STORE=postgres, which needs DATABASE_URL" : "is for POINT_STORE=postgres, but it is memory"
      try reject("DATABASE_URL", isSecret: true, expectation)
      try reject("DATABASE_REPLICA_URL", isSecret: true, expectation)
      for variable in [
        "DATABASE_POOL_SIZE", "DATABASE_EXPORT_CONNECTIONS", "DATABASE_IMPORT_CONNECTIONS",
        "DATABASE_PREPARED_STATEMENTS", "DATABASE_STATEMENT_TIMEOUT_MS", "REQUEST_DEADLINE_MS",
      ] {
        try reject(variable, expectation)
      }
    case .postgres:
      try reject("DATA_FILE", "is for the memory store; 'waymark import' puts files into the database")
      try reject("MEMORY_STORE_PATH", "is for the memory store, but POINT_STORE is postgres")
    }
    if kind == .postgres || settings["MEMORY_STORE_PATH"] == nil {
      try reject("SKIP_DAMAGED", "is for the memory store with MEMORY_STORE_PATH")
    }
    if analytics != .postgres { try reject("ANALYTICS_RETENTION_DAYS", "needs ANALYTICS=postgres") }
  }
}
