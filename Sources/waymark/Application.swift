import HTTPServer
import LocationsAPI
import Logging
import Points
import PrometheusMetrics
import ServiceLifecycle
import UnixSignals

/// The composition root: puts the parts together as the configuration says.
struct Application {
  /// What answers requests, with or without a socket.
  let responder: any HTTPResponder

  private let configuration: ServeConfiguration
  private let http: HTTPServerConfiguration
  private let logger: Logger
  private let store: RunningStore
  private let analytics: (any BackgroundAnalytics)?
  private let access: AccessControl
  private let reloadable: [Reloading.Part]
  private let tokenKeys: RemoteTokenKeys<ContinuousClock>?
  private let serverMetrics: ServerMetrics
  private let searchPruning: SearchPruning?
  private let drainState = DrainState()

  /// Builds the parts. Nothing listens yet.
  ///
  /// - Throws: ``ConfigurationError`` for a setting, a file of keys or a certificate that can't be used,
  ///   ``ListeningFailed`` where the address is not to be had, `FileError` for a data file that can't be read.
  init(_ configuration: ServeConfiguration, logger: Logger) async throws {
    self.configuration = configuration
    self.logger = logger
    // What can be refused at once comes before what may take its time.
    if !configuration.isUnitTesting {
      try ListeningFailed.check(host: configuration.http.host, port: configuration.http.port)
    }
    let identity = try configuration.tls.map { files in try TLSIdentity(files) }
    var http = configuration.http
    http.tls = identity
    let metrics = PrometheusMetrics(MetricCatalogue.descriptions)
    http.observer = RequestObservers(observers: [
      RequestMetrics(factory: metrics), AccessLog(logger: logger, isOn: configuration.logsRequests),
    ])
    self.http = http
    var tokens: TokenVerifier?
    if let configuration = configuration.access.tokens { tokens = try await TokenVerifier(configuration) }
    // One for the store, which says when its places changed, and for those who judge by it how old an answer is.
    let clock = MonotoneClock()
    store = try await RunningStore(
      configuration.store, skipsDamaged: configuration.skipsDamaged, clock: clock, metrics: metrics, logger: logger)
    let searchLog = configuration.analytics == .postgres ? store.searchLog : nil
    analytics =
      switch configuration.analytics {
      case .off: nil
      case .log: LogAnalytics(logger: logger)
      case .postgres:
        searchLog.map { StoredAnalytics(log: $0, farewellTime: configuration.drainTimeout, logger: logger) }
      }
    searchPruning = searchLog.map {
      SearchPruning(log: $0, retention: configuration.analyticsRetention, logger: logger)
    }
    let service = PointsService(store: store.store, analytics: analytics ?? NoAnalytics())
    access = AccessControl(
      AccessPolicy(
        keys: try configuration.access.keysFile.map { try KeyFile(path: $0).keys }, tokens: tokens,
        isLoopback: Loopback.contains(host: configuration.http.host),
        readRequiresKey: configuration.access.readRequiresKey))
    let keys = configuration.access.keysFile.map { [access] in Reloading.Part.keys(path: $0, access: access) }
    let tokenKeyReloading: Reloading.Part?
    switch configuration.access.tokens?.keySet {
    case nil: (tokenKeys, tokenKeyReloading) = (nil, nil)
    case .file(let path): (tokenKeys, tokenKeyReloading) = (nil, .tokenKeys(path: path, access: access))
    case .address(let url, let authorities):
      let request = try TokenKeyRequest(url, authorities: authorities)
      let keys = RemoteTokenKeys(request, logger: logger) { [access] in access.replaceTokenKeys($0) }
      access.useTokenKeys(of: keys)
      (tokenKeys, tokenKeyReloading) = (keys, .tokenKeys(keys))
    }
    reloadable = [keys, tokenKeyReloading, identity.map(Reloading.Part.certificate)].compactMap(\.self)
    let gate = configuration.rateLimit.limit.map { [access] limit in
      RateGate(limiter: RateLimiter(limit), access: access, proxies: configuration.rateLimit.proxies)
    }
    serverMetrics = ServerMetrics(factory: metrics)
    var collectors: [any MetricsCollector] = [serverMetrics, ProcessMetrics(factory: metrics)] + store.collectors
    if let tokenKeys { collectors.append(TokenKeyCollector(tokenKeys, factory: metrics)) }
    if let analytics { collectors.append(AnalyticsCollector(analytics, factory: metrics)) }
    let router = LocationsAPI(
      service: service, editor: store.editor, access: access, requiresIfMatch: configuration.requiresIfMatch,
      caching: CachePolicy(
        directives: configuration.cacheControl, readsNeedKey: configuration.access.readRequiresKey),
      metrics: MetricsReport(metrics, version: waymarkVersion, collectors: collectors),
      searches: searchLog, backUp: store.backUp, clock: clock,
      isDraining: { [drainState] in drainState.isDraining }, address: configuration.address, version: waymarkVersion
    ).router(cors: configuration.cors, gate: gate)
    responder = TracingResponder(configuration.tellsTiming ? ServerTimingResponder(responder: router) : router)
  }

  /// Listens and answers until the process is told to stop, then until the requests in flight are answered.
  func run() async throws {
    // Whoever sees that it listens may send signals.
    let stopSignals = await StopSignals()
    let reloading = await Reloading(reloadable, logger: logger)
    // The first tokens are to find keys. Without any the server starts all the same.
    await tokenKeys?.fetch()
    let server: HTTPServer
    do {
      server = try await HTTPServer.bind(configuration: http, responder: responder, logger: logger)
    } catch {
      throw ListeningFailed(host: configuration.http.host, port: configuration.http.port, error)
    }
    serverMetrics.watch(server)
    logger.info(
      "listening",
      metadata: [
        "address": "\(configuration.http.host)", "port": .stringConvertible(server.port),
        "tls": .stringConvertible(http.tls != nil),
      ])
    if let notice = access.keylessNotice { logger.notice("\(notice)") }
    // A store that does not answer yet says so in the log, with what an operator has to do. The server runs on: it
    // recovers by itself.
    let check = Task { [store] in try? await store.store.checkReadiness() }
    defer { check.cancel() }
    // They stop in the opposite order: the server first, what it needs after it.
    var services: [any Service] = [UnusedMemory(), store]
    if let pruning = store.pruning { services.append(pruning) }
    if let searchPruning { services.append(searchPruning) }
    if let analytics { services.append(AnalyticsService(analytics: analytics)) }
    if let tokenKeys { services.append(TokenKeyRefreshing(keys: tokenKeys)) }
    services.append(reloading)
    services.append(
      ServerService(
        server: server, readiness: drainState, drainDelay: configuration.drainDelay,
        drainTimeout: configuration.drainTimeout, logger: logger))
    var quiet = logger
    quiet.logLevel = max(logger.logLevel, .warning)
    var configurations = services.map { ServiceGroupConfiguration.ServiceConfiguration(service: $0) }
    configurations.append(.init(service: stopSignals, successTerminationBehavior: .gracefullyShutdownGroup))
    try await ServiceGroup(configuration: ServiceGroupConfiguration(services: configurations, logger: quiet)).run()
    logger.info("stopped")
  }
}
