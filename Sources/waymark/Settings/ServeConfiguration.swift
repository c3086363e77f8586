import HTTPServer
import LocationsAPI

/// The configuration of `waymark serve`, parsed and validated once. Nothing below the composition root knows where a
/// value came from, or that there is an environment.
struct ServeConfiguration {
  enum Store: Hashable {
    /// In memory, and durably in a file where one is named. An empty store is filled from data files, or from the
    /// bundled sample where there are none.
    case memory(dataFiles: [String], keptIn: String?)
    case postgres(DatabaseConfiguration)
  }

  /// The values of `ANALYTICS`.
  enum AnalyticsKind: String, CaseIterable {
    case off
    case log
    case postgres
  }

  /// The values of `POINT_STORE`.
  enum StoreKind: String, CaseIterable {
    case memory
    case postgres
  }

  let http: HTTPServerConfiguration

  /// The files of the server's TLS identity; `nil` where there is no TLS.
  let tls: TLSFiles?

  let cors: CORSPolicy
  let store: Store

  /// A Boolean value that indicates whether the store starts without damaged rows of its file.
  let skipsDamaged: Bool

  let analytics: AnalyticsKind

  let search: SearchConfiguration

  /// The base map of the map page; `nil` where there is none.
  let baseMap: BaseMap?

  /// The time for which searches are kept in PostgreSQL.
  let analyticsRetention: Duration

  let access: AccessConfiguration

  /// The address under which clients reach the service.
  let address: PublicAddress

  let rateLimit: RateLimitConfiguration

  /// A Boolean value that indicates whether a change without a condition is rejected.
  let requiresIfMatch: Bool

  let cacheControl: String

  /// The file of the types of tags in filters; `nil` where there is none.
  let queryablesFile: String?

  /// The longest time that a search with a filter may take.
  let filterTimeLimit: Duration

  /// The collections of OGC API Features.
  let collections: PointCollections

  /// The highest zoom level of which all tiles are clustered.
  let clusterMaximumZoom: Int
  let tileCacheBytes: Int

  /// A digest of the settings that affect responses.
  let responseDigest: UInt64

  /// A Boolean value that indicates whether each request is logged at level `info`.
  let logsRequests: Bool

  /// A Boolean value that indicates whether responses carry `Server-Timing`.
  let tellsTiming: Bool

  /// The time at shutdown in which the server still accepts connections but is not ready.
  let drainDelay: Duration

  /// The grace period of current requests at shutdown.
  let drainTimeout: Duration

  /// A Boolean value that indicates whether nothing is built that reaches outside the process: no listening socket, no
  /// database, no file that is written to, no analytics.
  let isUnitTesting: Bool

  /// Creates the configuration of the settings.
  ///
  /// - Throws: ``ConfigurationError`` for the first invalid value.
  init(_ settings: Settings) throws(ConfigurationError) {
    isUnitTesting = try settings.boolean(\.testing.isUnitTesting)
    http = try HTTPServerConfiguration(settings)
    tls = try TLSFiles(settings)
    cors = try CORSPolicy(settings)
    access = try AccessConfiguration(settings)
    rateLimit = try RateLimitConfiguration(settings)
    let publicURL = settings[\.listening.publicURL]
    if let publicURL, !PublicAddress.isAcceptable(url: publicURL) {
      throw settings.error(
        \.listening.publicURL, "must be an address such as https://example.com/poi, without query and fragment")
    }
    address = PublicAddress(url: publicURL, proxies: rateLimit.proxies)
    requiresIfMatch = try settings.boolean(\.access.requireIfMatch)
    cacheControl = settings.text(\.responses.cacheControl)
    guard CachePolicy.areDirectives(cacheControl) else {
      throw settings.error(
        \.responses.cacheControl,
        "must be directives such as no-cache or max-age=5, with commas between; times are whole seconds")
    }
    queryablesFile = settings[\.filters.queryables]
    filterTimeLimit = try settings.milliseconds(\.filters.filterTimeoutMS)
    guard let collections = PointCollections(settings[\.filters.ogcCollections] ?? "") else {
      throw settings.error(
        \.filters.ogcCollections,
        "must be collections such as food=cafe,restaurant;culture=museum, each with a name of letters, digits, - and _"
          + " other than places")
    }
    self.collections = collections
    clusterMaximumZoom = try settings.integer(\.maps.tileClusterMaxZoom)
    tileCacheBytes = try settings.integer(\.maps.tileCacheBytes)
    responseDigest = settings.responseDigest()
    logsRequests = try settings.boolean(\.observability.accessLog)
    tellsTiming = try settings.boolean(\.responses.serverTiming)
    drainDelay = try settings.milliseconds(\.shutdown.drainDelayMS)
    drainTimeout = try settings.milliseconds(\.shutdown.drainTimeoutMS)
    skipsDamaged = try settings.boolean(\.places.skipDamaged)
    let analytics = try settings.choice(\.observability.analytics)
    analyticsRetention = .seconds(86_400 * (try settings.integer(\.observability.analyticsRetentionDays)))
    self.analytics = isUnitTesting ? .off : analytics
    search = try SearchConfiguration(settings, analytics: analytics)
    baseMap = try Self.baseMap(settings)
    let kind = try settings.choice(
      \.places.pointStore, default: settings[\.postgres.databaseURL] == nil ? StoreKind.memory : .postgres)
    guard analytics != .postgres || kind == .postgres else {
      throw settings.error(\.observability.analytics, "must be off or log without POINT_STORE=postgres")
    }
    try Self.rejectIgnored(settings, kind, analytics)
    switch kind {
    case .memory:
      let path = settings[\.places.memoryStorePath]
      store = .memory(dataFiles: settings.list(\.places.dataFile), keptIn: isUnitTesting ? nil : path)
    case .postgres:
      let database = try DatabaseConfiguration(settings)
      store = isUnitTesting ? .memory(dataFiles: [], keptIn: nil) : .postgres(database)
    }
  }

  private static func baseMap(_ settings: Settings) throws(ConfigurationError) -> BaseMap? {
    guard let tiles = settings[\.maps.mapTilesURL] else {
      if settings[\.maps.mapTilesAttribution] != nil {
        throw .conflict(\.maps.mapTilesAttribution, "needs MAP_TILES_URL")
      }
      return nil
    }
    guard let attribution = settings[\.maps.mapTilesAttribution] else {
      throw .conflict(\.maps.mapTilesURL, "needs MAP_TILES_ATTRIBUTION")
    }
    guard let baseMap = BaseMap(tiles: tiles, attribution: attribution) else {
      throw settings.error(
        \.maps.mapTilesURL,
        "must be an address such as https://tile.example.com/{z}/{x}/{y}.png or a path, each name once, and like "
          + "MAP_TILES_ATTRIBUTION have at most 1000 bytes")
    }
    return baseMap
  }

  /// Rejects settings that would be ignored: the operator expects an effect of them.
  private static func rejectIgnored(
    _ settings: Settings, _ kind: StoreKind, _ analytics: AnalyticsKind
  ) throws(ConfigurationError) {
    func reject(_ setting: Setting, _ reason: String) throws(ConfigurationError) {
      if settings[setting] != nil { throw .conflict(setting, reason) }
    }
    switch kind {
    case .memory:
      let reason =
        settings[\.postgres.databaseURL] == nil
        ? "is for POINT_STORE=postgres, which needs DATABASE_URL" : "is for POINT_STORE=postgres, but it is memory"
      for setting in SettingTable.shared.postgres.settings { try reject(setting, reason) }
    case .postgres:
      try reject(.of(\.places.dataFile), "is for the memory store; 'waymark import' puts files into the database")
      try reject(.of(\.places.memoryStorePath), "is for the memory store, but POINT_STORE is postgres")
    }
    if kind == .postgres || settings[\.places.memoryStorePath] == nil {
      try reject(.of(\.places.skipDamaged), "is for the memory store with MEMORY_STORE_PATH")
    }
    if analytics != .postgres { try reject(.of(\.observability.analyticsRetentionDays), "needs ANALYTICS=postgres") }
  }
}
