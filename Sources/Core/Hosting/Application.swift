import AccessControl
import CoreMetrics
import HTTPServer
import IndexedStore
import LocationsAPI
import Logging
import ManagementAPI
import OpeningHours
import Points
import PostgresStore
import PrometheusMetrics
import ServerFeatures
import ServiceLifecycle
import UnixSignals

/// The composition root: builds the configured parts, in the order in which they depend on each other, and runs them.
package struct Application {
  /// The handler of all requests, with or without a socket.
  let responder: any HTTPResponder

  private let configuration: ServeConfiguration
  private let logger: Logger
  private let http: HTTPServerConfiguration
  private let store: RunningStore
  private let service: PointsService
  private let analytics: (any BackgroundAnalytics)?
  private let access: AccessControl
  private var featureServices: [BackgroundService] = []

  /// The work of features that ends before the server listens.
  private var preparations: [@Sendable () async -> Void] = []

  private var reloadable: [ReloadablePart] = []
  private let serverMetrics: ServerMetrics
  private let drainState = DrainState()

  /// Builds the parts. Nothing listens yet.
  ///
  /// - Throws: ``ConfigurationError`` for a setting, a file of keys or a certificate that can't be used,
  ///   ``ListeningFailed`` where the address can't be listened on, `FileError` for a data file that can't be read.
  init(_ configuration: ServeConfiguration, logger: Logger) async throws {
    self.configuration = configuration
    self.logger = logger
    // Checks that fail at once come before work that may take long.
    if !configuration.isUnitTesting {
      try ListeningFailed.check(host: configuration.http.host, port: configuration.http.port)
    }
    let identity = try configuration.tls.map { files in try TLSIdentity(files) }
    let queryables = try configuration.queryables
    let tokens = try await Self.tokens(configuration, queryables)
    let metrics = PrometheusMetrics(MetricCatalogue.all(with: configuration.features.map { type(of: $0) }))
    Meter(label: MetricCatalogue.build.name, dimensions: [("version", waymarkVersion)], factory: metrics).set(1)
    // One clock for the store, whose changes it dates, and for the age in responses.
    let clock = MonotoneClock()
    store = try await RunningStore.build(configuration, clock: clock, metrics: metrics, logger: logger)
    analytics = Self.buildAnalytics(configuration, searchLog: store.searchLog, logger: logger)
    access = try Self.buildAccess(configuration, tokens: tokens, queryables)
    if let path = configuration.access.keysFile {
      reloadable.append(.keys(path: path, queryables: queryables, access: access))
    }
    serverMetrics = ServerMetrics(factory: metrics)
    var http = configuration.http
    http.tls = identity
    http.timeouts.computation = configuration.filterTimeLimit
    http.sender = { [access, proxies = configuration.rateLimit.proxies] request in
      access.sender(of: request, proxies: proxies)
    }
    self.http = http
    let processCollectors: [any MetricsCollector] = [serverMetrics, ProcessMetrics(factory: metrics)]
    var collectors = processCollectors + store.collectors
    if let analytics {
      collectors.append(ValueCollector(MetricCatalogue.analytics, factory: metrics) { analytics.dropped })
    }
    service = PointsService(
      store: store.store, observers: store.observers, analytics: analytics ?? NoAnalytics(),
      recordsTexts: configuration.search.minimumTextCount != nil)
    var api = LocationsAPI.Configuration(service: service, version: waymarkVersion)
    api.changes = store.changes
    api.areas = ObservedAreas(store.areas, observers: store.observers)
    api.access = access
    api.requiresIfMatch = configuration.requiresIfMatch
    api.caching = CachePolicy(
      directives: configuration.cacheControl, readsNeedKey: configuration.access.readRequiresKey)
    api.filtering = Filtering(queryables: queryables, timeLimit: configuration.filterTimeLimit)
    api.filtering.categories = configuration.search.categories
    api.address = configuration.address
    // They are recorded while nobody looks, and must not read the database.
    let statusTotals = StatusTotals(metrics, collectors: processCollectors)
    let importMemory = ImportMemory(limit: AvailableMemory.ofProcess.importBytes)
    var core = Core(
      records: store.records, keepsRecords: store.keepsRecords, changes: store.changes, areas: store.areas,
      access: access, filtering: api.filtering, address: api.address, cors: configuration.cors,
      importMemory: importMemory,
      bufferedBytes: configuration.http.limits.bufferedBytes,
      searches: store.searchLog, backup: store.backup, metrics: metrics, logger: logger)
    var endpointsOfFeatures: [@Sendable (LocationsAPI) -> [Endpoint]] = []
    for feature in configuration.features {
      let parts = try feature.parts(of: core)
      core.messageSources += parts.messageSources
      if let style = parts.pageStyle { api.pageStyle = style }
      endpointsOfFeatures.append(parts.endpoints)
      collectors += parts.collectors
      featureServices += parts.services
      reloadable += parts.reloadable
      if let preparation = parts.preparation { preparations.append(preparation) }
      if let (interval, record) = parts.totals {
        featureServices.append(BackgroundService(every: interval) { record(await statusTotals.values()) })
      }
    }
    if let identity { reloadable.append(.certificate(identity)) }
    api.clock = clock
    api.settingsDigest = configuration.responseDigest
    let report = MetricsReport(metrics, collectors: collectors)
    responder = LocationsAPI(api).router(
      joining: { [endpointsOfFeatures, drainState] api in
        let management = ManagementAPI(
          api, importMemory: importMemory, metrics: report, isDraining: { drainState.isDraining })
        return management.endpoints + endpointsOfFeatures.flatMap { $0(api) }
      },
      middlewares: Self.buildMiddlewares(configuration, access: access, metrics: metrics, logger: logger))
  }

  /// Listens and serves until shutdown, then drains the current requests.
  ///
  /// - Parameter reloadSignals: the signals at which files are read again, caught before they were read.
  func run(reloadSignals: UnixSignalsSequence) async throws {
    let reloading = Reloading(reloadable, at: reloadSignals, logger: logger)
    for prepare in preparations { await prepare() }
    // A client that finds the server listening may send signals.
    let stopSignals = await StopSignals()
    let server = try await listen()
    if !ZoneRules.hasDatabase {
      logger.warning("no time zone database found; opening hours are read in UTC, install the package tzdata")
    }
    // A store that is not ready yet is logged, with what the operator has to do. The server runs on: the store recovers
    // by itself.
    let check = Task { [service, areas = store.areas] in
      _ = try? await service.checkReadiness()
      // Otherwise the first request that needs them would wait, where nothing probes readiness.
      _ = try? await areas.areas(isCurrent: false)
    }
    defer { check.cancel() }
    try await serviceGroup(server, reloading, stopSignals).run()
    logger.info("stopped")
  }

  private func listen() async throws(ListeningFailed) -> HTTPServer {
    let server: HTTPServer
    do {
      server = try await HTTPServer.bind(configuration: http, responder: responder, logger: logger)
    } catch {
      throw ListeningFailed(host: http.host, port: http.port, error)
    }
    serverMetrics.watch(server)
    logger.info(
      "listening",
      metadata: [
        "address": "\(http.host)", "port": .stringConvertible(server.port),
        "tls": .stringConvertible(http.tls != nil),
      ])
    if let notice = access.keylessNotice { logger.notice("\(notice)") }
    return server
  }

  /// Returns the group of all services. They stop in the opposite order: the server first, then the services that it
  /// needs.
  private func serviceGroup(
    _ server: HTTPServer, _ reloading: Reloading, _ stopSignals: StopSignals
  ) -> ServiceGroup {
    let serverService = ServerService(
      server: server, drainState: drainState, drainDelay: configuration.drainDelay,
      drainTimeout: configuration.drainTimeout, onDrain: { [changes = store.changes] in changes.close() },
      logger: logger)
    let services: [(any Service)?] = [
      store.indexUpkeep.map { BackgroundService($0) },
      store.searchLog.map {
        Pruning.searches(of: $0, retention: configuration.analyticsRetention, logger: logger).service
      },
      analytics.map { analytics in BackgroundService { await analytics.run() } },
    ]
    let all: [any Service] =
      [MemoryTrimming.service, store] + store.changeUpkeep + services.compactMap(\.self) + featureServices
      + [reloading, serverService]
    var configurations = all.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
    configurations.append(.init(service: stopSignals, successTerminationBehavior: .gracefullyShutdownGroup))
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    return ServiceGroup(configuration: ServiceGroupConfiguration(services: configurations, logger: quiet))
  }
}

// MARK: Parts

extension Application {
  private static func buildAnalytics(
    _ configuration: ServeConfiguration, searchLog: PostgresSearchLog?, logger: Logger
  ) -> (any BackgroundAnalytics)? {
    switch configuration.analytics {
    case .off: nil
    case .log: LogAnalytics(logger: logger, minimumTextCount: configuration.search.minimumTextCount)
    case .postgres:
      searchLog.map { StoredAnalytics(log: $0, drainTimeout: configuration.drainTimeout, logger: logger) }
    }
  }

  /// Returns the verification of the tokens that one of the features accepts; `nil` where none does.
  private static func tokens(
    _ configuration: ServeConfiguration, _ queryables: Queryables
  ) async throws -> (any TokenVerification)? {
    for feature in configuration.features {
      if let tokens = try await feature.tokens(scopes: configuration.access.scopes, queryables) { return tokens }
    }
    return nil
  }

  private static func buildAccess(
    _ configuration: ServeConfiguration, tokens: (any TokenVerification)?, _ queryables: Queryables
  ) throws(ConfigurationError) -> AccessControl {
    var keys: [APIKey]?
    let scopes = configuration.access.scopes
    if let path = configuration.access.keysFile {
      keys = try KeyFile(path: path, scopes: scopes, queryables: queryables).keys
    }
    return AccessControl(
      AccessPolicy(
        keys: keys, tokens: tokens, isLoopback: Loopback.contains(host: configuration.http.host),
        readRequiresKey: configuration.access.readRequiresKey, scopes: scopes))
  }

  /// Returns the middlewares in the order in which a request passes them; its response passes them in the opposite
  /// order.
  ///
  /// The connection assigns the request id, because requests that can't be parsed have one too. After these come
  /// authentication, which `LocationsAPI` adds itself, and the route's handler, whose errors the router maps to
  /// responses. A handler compresses its own response, because the entity tag depends on the coding.
  private static func buildMiddlewares(
    _ configuration: ServeConfiguration, access: AccessControl, metrics: PrometheusMetrics, logger: Logger
  ) -> [any Middleware] {
    let rateLimit = configuration.rateLimit.limit.map { limit in
      RateLimitMiddleware(limiter: RateLimiter(limit), access: access, proxies: configuration.rateLimit.proxies)
    }
    let middlewares: [(any Middleware)?] = [
      TracingMiddleware(),
      RequestMetrics(factory: metrics),
      AccessLog(logger: logger, isOn: configuration.logsRequests),
      configuration.tellsTiming ? ServerTimingMiddleware() : nil,
      configuration.cors,
      rateLimit,
    ]
    return middlewares.compactMap(\.self)
  }
}
