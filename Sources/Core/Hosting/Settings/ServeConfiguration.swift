import AccessControl
package import HTTPServer
import LocationsAPI
import Logging
package import Points
package import ServerFeatures

/// The configuration of `waymark serve`, parsed and validated once. Nothing below the composition root knows where a
/// value came from, or that there is an environment.
package struct ServeConfiguration {
  package enum Store: Hashable {
    /// In memory, and durably in a file where one is named. An empty store is filled from data files, or from the
    /// bundled sample where there are none and the store is not kept. The index of a kept store is kept in a folder.
    case memory(dataFiles: [String], keptIn: String?, indexPath: String? = nil)
    case postgres(DatabaseConfiguration)
  }

  /// The values of `ANALYTICS`.
  package enum AnalyticsKind: String, CaseIterable {
    case off
    case log
    case postgres
  }

  /// The values of `POINT_STORE`.
  enum StoreKind: String, CaseIterable {
    case memory
    case postgres
  }

  package let http: HTTPServerConfiguration

  /// The files of the server's TLS identity; `nil` where there is no TLS.
  package let tls: TLSFiles?

  let cors: CORSPolicy
  package let store: Store

  package let analytics: AnalyticsKind

  let search: SearchConfiguration

  /// The time for which searches are kept in PostgreSQL.
  let analyticsRetention: Duration

  /// The time for which changes are kept.
  let changesRetention: Duration

  /// The maximum number of edits that the store keeps.
  let maximumEdits: Int

  package let features: [any ServerFeature]

  package let access: AccessConfiguration

  /// The address under which clients reach the service.
  let address: PublicAddress

  let rateLimit: RateLimitConfiguration

  /// A Boolean value that indicates whether a change without a condition is rejected.
  let requiresIfMatch: Bool

  let cacheControl: String

  /// The file of the types of tags in filters; `nil` where there is none.
  package let queryablesFile: String?

  /// The types of tags in filters.
  package var queryables: Queryables {
    get throws(ConfigurationError) {
      guard let queryablesFile else { return Queryables() }
      return try Queryables(path: queryablesFile)
    }
  }

  /// The longest time that a search with a filter may take.
  let filterTimeLimit: Duration

  /// A digest of the settings that affect responses.
  let responseDigest: UInt64

  /// A Boolean value that indicates whether each request is logged at level `info`.
  let logsRequests: Bool

  /// A Boolean value that indicates whether responses carry `Server-Timing`, which is for diagnosis: at the log level
  /// `debug` or below.
  let tellsTiming: Bool

  /// The time at shutdown in which the server still accepts connections but is not ready.
  let drainDelay: Duration

  /// The grace period of current requests at shutdown.
  let drainTimeout: Duration

  /// A Boolean value that indicates whether nothing is built that reaches outside the process: no listening socket, no
  /// database, no file that is written to, no analytics.
  package let isUnitTesting: Bool

  /// Creates the configuration of the settings.
  ///
  /// - Parameter features: the features of the server.
  /// - Throws: ``ConfigurationError`` for the first invalid value.
  package init(_ settings: Settings, features: [any ServerFeature.Type]) throws(ConfigurationError) {
    let all = Setting.ofServer(with: features)
    try Self.rejectAddresses(settings, in: all)
    isUnitTesting = try settings.boolean(Setting.testing.isUnitTesting)
    http = try HTTPServerConfiguration(settings)
    tls = try TLSFiles(settings)
    cors = try CORSPolicy(settings)
    access = try AccessConfiguration(settings, features: features)
    rateLimit = try RateLimitConfiguration(settings)
    let publicURL = settings[Setting.listening.publicURL]
    if let publicURL, !PublicAddress.isAcceptable(url: publicURL) {
      throw settings.error(
        Setting.listening.publicURL, "must be an address such as https://example.com/poi, without query and fragment")
    }
    address = PublicAddress(url: publicURL, proxies: rateLimit.proxies)
    requiresIfMatch = try settings.boolean(Setting.access.requiresIfMatch)
    cacheControl = settings.text(Setting.responses.cacheControl)
    guard CachePolicy.areDirectives(cacheControl) else {
      throw settings.error(
        Setting.responses.cacheControl,
        "must be directives such as no-cache or max-age=5, separated by commas; times are whole seconds")
    }
    queryablesFile = settings[Setting.filters.queryables]
    filterTimeLimit = try settings.duration(Setting.filters.timeout)
    responseDigest = settings.responseDigest(of: all)
    logsRequests = try settings.boolean(Setting.observability.accessLog)
    tellsTiming = try settings.choice(Setting.observability.level) <= .debug
    drainDelay = try settings.duration(Setting.shutdown.delay)
    drainTimeout = try settings.duration(Setting.shutdown.timeout)
    let analytics = try settings.choice(Setting.observability.analytics)
    analyticsRetention = .seconds(86_400 * (try settings.integer(Setting.observability.analyticsRetention)))
    maximumEdits = try settings.integer(Setting.places.maximumEdits)
    changesRetention = .seconds(86_400 * (try settings.integer(Setting.places.changesRetention)))
    self.features = try features.map { feature throws(ConfigurationError) in try feature.init(settings) }
    self.analytics = isUnitTesting ? .off : analytics
    search = try SearchConfiguration(settings, analytics: analytics)
    let kind = try settings.choice(
      Setting.places.store, default: settings[Setting.postgres.url] == nil ? .memory : .postgres)
    guard analytics != .postgres || kind == .postgres else {
      throw settings.error(Setting.observability.analytics, "must be off or log without POINT_STORE=postgres")
    }
    try Self.rejectIgnored(settings, kind, analytics, features)
    switch kind {
    case .memory:
      let path = settings[Setting.places.memoryStorePath]
      let indexPath = settings[Setting.places.indexPath] ?? path.map { $0 + ".index" }
      store = try .memory(
        dataFiles: settings.list(Setting.places.dataFiles), keptIn: isUnitTesting ? nil : path,
        indexPath: isUnitTesting ? nil : indexPath)
    case .postgres:
      let database = try DatabaseConfiguration(settings)
      store = isUnitTesting ? .memory(dataFiles: [], keptIn: nil) : .postgres(database)
    }
  }

  /// Rejects addresses in place of paths: later messages would show them with their passwords.
  private static func rejectAddresses(_ settings: Settings, in all: [Setting]) throws(ConfigurationError) {
    for setting in all where setting.namesFiles && settings[setting]?.contains("://") == true {
      throw settings.error(setting, "must be a path, not an address")
    }
  }

  /// Rejects settings that would be ignored: the operator expects an effect of them.
  private static func rejectIgnored(
    _ settings: Settings, _ kind: StoreKind, _ analytics: AnalyticsKind, _ features: [any ServerFeature.Type]
  ) throws(ConfigurationError) {
    func reject(_ setting: some DeclaredSetting, _ reason: String) throws(ConfigurationError) {
      if settings[setting] != nil { throw .conflict(setting, reason) }
    }
    switch kind {
    case .memory:
      let reason =
        settings[Setting.postgres.url] == nil
        ? "is for POINT_STORE=postgres, which needs DATABASE_URL" : "is for POINT_STORE=postgres, but it is memory"
      for setting in Setting.postgres.settings + [Setting.places.migrationsPath.setting] { try reject(setting, reason) }
    case .postgres:
      try reject(Setting.places.dataFiles, "is for the memory store; 'waymark import' puts files into the database")
      try reject(Setting.places.memoryStorePath, "is for the memory store, but POINT_STORE is postgres")
    }
    if kind == .memory, settings[Setting.places.memoryStorePath] == nil {
      let ofFeatures = features.filter { $0.needsKeptPlaces }.flatMap { $0.settings }
      for setting in [Setting.places.indexPath.setting, Setting.places.changesRetention.setting] + ofFeatures {
        try reject(setting, "needs DATABASE_URL or MEMORY_STORE_PATH")
      }
    }
    if analytics != .postgres { try reject(Setting.observability.analyticsRetention, "needs ANALYTICS=postgres") }
  }
}
