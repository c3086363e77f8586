import AccessControl
import Basics
import CoreMetrics
import HTTPServer
import IndexedStore
import LocationsAPI
import MemoryStore
import Points
import PostgresClient
import PostgresStore
import PrometheusMetrics
import Synchronization

/// Collects the number of places in memory.
struct PointsCollector: MetricsCollector {
  private let store: MemoryStore
  private let places: Meter

  init(_ store: MemoryStore, factory: any MetricsFactory) {
    self.store = store
    places = Meter(label: MetricCatalogue.places.name, factory: factory)
  }

  func collect() async { places.set(store.count) }
}

/// Collects the state of the connections to the database.
struct PoolCollector: MetricsCollector {
  private let store: PostgresStore
  private let total: Int
  private let connecting, idle, busy, limit, waiting: Meter
  private let exports, imports: BulkMeters

  /// The meters of one kind of bulk work.
  private struct BulkMeters {
    private let connections, limit, waiting: Meter

    init(_ kind: String, _ factory: any MetricsFactory) {
      func meter(_ label: String) -> Meter { Meter(label: label, dimensions: [("kind", kind)], factory: factory) }
      connections = meter(MetricCatalogue.bulkConnections.name)
      limit = meter(MetricCatalogue.bulkLimit.name)
      waiting = meter(MetricCatalogue.bulkWaiting.name)
    }

    func set(_ use: PoolLoad.Sessions) {
      connections.set(use.connections)
      limit.set(use.limit)
      waiting.set(use.waiting)
    }
  }

  /// Creates a collector.
  ///
  /// - Parameter limit: the maximum number of connections, besides those of the index.
  init(_ store: PostgresStore, limit total: Int, factory: any MetricsFactory) {
    func connections(_ state: String) -> Meter {
      Meter(label: MetricCatalogue.poolConnections.name, dimensions: [("state", state)], factory: factory)
    }
    self.store = store
    self.total = total
    connecting = connections("connecting")
    idle = connections("idle")
    busy = connections("busy")
    limit = Meter(label: MetricCatalogue.poolLimit.name, factory: factory)
    waiting = Meter(label: MetricCatalogue.poolWaiting.name, factory: factory)
    exports = BulkMeters("export", factory)
    imports = BulkMeters("import", factory)
  }

  func collect() async {
    let load = await store.poolLoad()
    connecting.set(load.connecting)
    idle.set(load.idle)
    busy.set(load.busy)
    limit.set(total)
    waiting.set(load.waiting)
    exports.set(load.exports)
    imports.set(load.imports)
  }
}

/// Collects the state of the index that follows the database.
struct IndexCollector: MetricsCollector {
  private let store: IndexedStore
  private let index: IndexFollower
  private let phases: [(phase: IndexFollower.Phase, meter: Meter)]
  private let places, age, notReady: Meter
  private let builds, loads, changes, indexReads, databaseReads: TotalFollower

  init(_ store: IndexedStore, _ index: IndexFollower, factory: any MetricsFactory) {
    self.store = store
    self.index = index
    phases = IndexFollower.Phase.allCases.map { phase in
      (phase, Meter(label: MetricCatalogue.indexPhase.name, dimensions: [("phase", phase.rawValue)], factory: factory))
    }
    places = Meter(label: MetricCatalogue.indexPlaces.name, factory: factory)
    age = Meter(label: MetricCatalogue.indexAge.name, factory: factory)
    notReady = Meter(label: MetricCatalogue.indexNotReady.name, factory: factory)
    builds = TotalFollower(MetricCatalogue.indexBuilds, factory: factory)
    loads = TotalFollower(MetricCatalogue.indexLoads, factory: factory)
    changes = TotalFollower(MetricCatalogue.indexChanges, factory: factory)
    indexReads = TotalFollower(MetricCatalogue.indexReads, [("source", "index")], factory: factory)
    databaseReads = TotalFollower(MetricCatalogue.indexReads, [("source", "database")], factory: factory)
  }

  func collect() async {
    let status = index.status
    for (phase, meter) in phases { meter.set(phase == status.phase ? 1 : 0) }
    places.set(status.points)
    age.set(status.age.map { $0 / .seconds(1) } ?? 0)
    notReady.set(status.notReady / .seconds(1))
    builds.follow(Double(status.builds))
    loads.follow(Double(status.loads))
    changes.follow(Double(status.changes))
    indexReads.follow(Double(store.indexReads))
    databaseReads.follow(Double(store.databaseReads))
  }
}

/// Collects the times of the last imports of data sets.
///
/// The database is asked beside the rendering, which does not wait for it, at most once in some seconds.
final class ImportsCollector: MetricsCollector {
  private static let interval = Duration.seconds(10)

  private struct State {
    var lastQuery: ContinuousClock.Instant?
    var isQuerying = false
    var meters: [String: Meter] = [:]
  }

  private let store: PostgresStore
  private let factory: any MetricsFactory
  private let state = Mutex(State())

  init(_ store: PostgresStore, factory: any MetricsFactory) {
    self.store = store
    self.factory = factory
  }

  func collect() async {
    let isDue = state.withLock { state in
      let now = ContinuousClock.now
      if state.isQuerying { return false }
      if let last = state.lastQuery, now - last < Self.interval { return false }
      state.lastQuery = now
      state.isQuerying = true
      return true
    }
    if isDue { Task { await update() } }
  }

  private func update() async {
    let imports = try? await store.lastImports()
    state.withLock { state in
      state.isQuerying = false
      guard let imports else { return }
      // A series stays until the process ends; without a value it fires no alert.
      for (_, meter) in state.meters { meter.set(Double.nan) }
      for (source, seconds) in imports {
        let meter =
          state.meters[source]
          ?? Meter(label: MetricCatalogue.lastImport.name, dimensions: [("source", source)], factory: factory)
        state.meters[source] = meter
        meter.set(seconds)
      }
    }
  }
}

/// Collects the number of searches that analytics dropped.
struct AnalyticsCollector: MetricsCollector {
  private let analytics: any BackgroundAnalytics
  private let dropped: TotalFollower

  init(_ analytics: any BackgroundAnalytics, factory: any MetricsFactory) {
    self.analytics = analytics
    dropped = TotalFollower(MetricCatalogue.droppedSearches, factory: factory)
  }

  func collect() async { dropped.follow(Double(analytics.dropped)) }
}

/// Collects the number of token keys and of their fetches from an address.
struct TokenKeyCollector: MetricsCollector {
  private let source: RemoteTokenKeys<ContinuousClock>
  private let keys: Meter
  private let successes, failures: TotalFollower

  init(_ source: RemoteTokenKeys<ContinuousClock>, factory: any MetricsFactory) {
    self.source = source
    keys = Meter(label: MetricCatalogue.tokenKeys.name, factory: factory)
    successes = TotalFollower(MetricCatalogue.tokenKeyFetches, [("outcome", "ok")], factory: factory)
    failures = TotalFollower(MetricCatalogue.tokenKeyFetches, [("outcome", "failed")], factory: factory)
  }

  func collect() async {
    let counts = await source.counts
    keys.set(counts.keys)
    successes.follow(Double(counts.successes))
    failures.follow(Double(counts.failures))
  }
}

/// The numbers of a server's connections, current requests and computations.
final class ServerMetrics: MetricsCollector {
  private struct Watched {
    weak var server: HTTPServer?
  }

  private let watched = Mutex(Watched())
  private let connections: Meter
  private let requests: Meter
  private let running, waiting: Meter
  private let waited, rejected: TotalFollower

  /// Creates a collector without a server.
  init(factory: any MetricsFactory) {
    connections = Meter(label: MetricCatalogue.connections.name, factory: factory)
    requests = Meter(label: MetricCatalogue.requestsInFlight.name, factory: factory)
    func computations(_ state: String) -> Meter {
      Meter(label: MetricCatalogue.computations.name, dimensions: [("state", state)], factory: factory)
    }
    running = computations("running")
    waiting = computations("waiting")
    waited = TotalFollower(MetricCatalogue.computationWait, factory: factory)
    rejected = TotalFollower(MetricCatalogue.rejectedComputations, factory: factory)
  }

  func watch(_ server: HTTPServer) { watched.withLock { $0.server = server } }

  func collect() async {
    guard let server = watched.withLock({ $0.server }) else { return }
    connections.set(server.openConnections)
    requests.set(server.requestsInFlight)
    let load = server.computations
    running.set(load.running)
    waiting.set(load.waiting)
    waited.follow(load.waited / .seconds(1))
    rejected.follow(Double(load.rejections))
  }
}

/// The metrics of streams of changes.
final class ChangeStreamCollector: MetricsCollector {
  private let streams: ChangeStreams
  private let open: Meter
  private let events: TotalFollower
  private let bytes: TotalFollower
  private let lag: TotalFollower
  private let interruptions: TotalFollower
  private let resets: TotalFollower

  init(_ streams: ChangeStreams, factory: any MetricsFactory) {
    self.streams = streams
    open = Meter(label: MetricCatalogue.changeStreams.name, factory: factory)
    events = TotalFollower(MetricCatalogue.changeEvents, factory: factory)
    bytes = TotalFollower(MetricCatalogue.changeBytes, factory: factory)
    lag = TotalFollower(MetricCatalogue.changeLag, factory: factory)
    interruptions = TotalFollower(MetricCatalogue.changeInterruptions, factory: factory)
    resets = TotalFollower(MetricCatalogue.changeResets, factory: factory)
  }

  func collect() async {
    let counts = streams.counts
    open.set(counts.open)
    events.follow(Double(counts.events))
    bytes.follow(Double(counts.bytes))
    lag.follow(counts.lagSeconds)
    interruptions.follow(Double(counts.interruptions))
    resets.follow(Double(counts.resets))
  }
}

/// The response of `GET /metrics`: metrics that are counted in a backend, and those that collectors look up.
struct MetricsReport: MetricsSource {
  private let metrics: PrometheusMetrics
  private let collectors: [any MetricsCollector]

  init(_ metrics: PrometheusMetrics, collectors: [any MetricsCollector]) {
    self.metrics = metrics
    self.collectors = collectors
  }

  var contentType: String { PrometheusMetrics.contentType }

  func text() async -> String {
    for collector in collectors { await collector.collect() }
    return metrics.text()
  }
}

/// The values that the charts of the status page are of.
///
/// They are sums over all routes but those of the page itself and of probes, so that there are some fifty numbers
/// whatever the number of routes.
struct StatusTotals {
  private static let recorded = [
    MetricCatalogue.requests, MetricCatalogue.requestDuration, MetricCatalogue.storeDuration,
    MetricCatalogue.requestsInFlight, MetricCatalogue.connections, ProcessMetrics.processorTime,
    ProcessMetrics.residentMemory,
  ]

  /// The routes that the page and probes call.
  private static let ownRoutes: Set = ["/metrics", "/status/history.json", "/health/ready", "/health/live"]

  private let metrics: PrometheusMetrics
  private let collectors: [any MetricsCollector]

  init(_ metrics: PrometheusMetrics, collectors: [any MetricsCollector]) {
    self.metrics = metrics
    self.collectors = collectors
  }

  /// Returns the current values by the name and the labels of a series in Prometheus' text format: the first digit of
  /// the status, or the bound of the bucket.
  func values() async -> [ExactText: Double] {
    for collector in collectors { await collector.collect() }
    var totals: [ExactText: Double] = [:]
    for metric in Self.recorded {
      var buckets: [Double: UInt64] = [:]
      for series in metrics.series(of: metric) where !Self.isOwn(series.labels) {
        switch series.value {
        case .number(let number):
          let status = series.labels.first { $0.name == "status" }.map { "{status=\"\($0.value.prefix(1))xx\"}" }
          totals[ExactText(metric.name + (status ?? "")), default: 0] += number
        case .histogram(let bounds, let counts, _):
          var count: UInt64 = 0
          for (bound, own) in zip(bounds + [.infinity], counts) {
            count += own
            buckets[bound, default: 0] += count
          }
        }
      }
      for (bound, count) in buckets {
        totals[ExactText("\(metric.name)_bucket{le=\"\(PrometheusText.number(bound))\"}")] = Double(count)
      }
    }
    return totals
  }

  private static func isOwn(_ labels: [MetricLabel]) -> Bool {
    labels.contains { $0.name == "route" && ownRoutes.contains($0.value) }
  }
}

/// A source of metrics that are looked up rather than counted, at each report.
protocol MetricsCollector: Sendable {
  /// Updates the metrics. It never fails: an unknown value stays unchanged.
  func collect() async
}

/// Counts events and reports their number once an interval, where there were any.
final class PeriodicCount: Sendable {
  private let interval: Duration
  private let sleep: @Sendable (Duration) async -> Void
  private let report: @Sendable (Int) -> Void
  private let count = Mutex(0)

  /// Creates a count that begins at 0.
  ///
  /// - Parameters:
  ///   - interval: the time from the first event to the report.
  ///   - sleep: waits for the interval.
  ///   - report: takes the number of events.
  init(
    interval: Duration, sleep: @escaping @Sendable (Duration) async -> Void, report: @escaping @Sendable (Int) -> Void
  ) {
    self.interval = interval
    self.sleep = sleep
    self.report = report
  }

  /// Counts an event.
  func add() {
    let isFirst = count.withLock { count in
      count += 1
      return count == 1
    }
    guard isFirst else { return }
    Task {
      await sleep(interval)
      report(
        count.withLock { count in
          defer { count = 0 }
          return count
        })
    }
  }
}
