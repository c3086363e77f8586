import Basics
import CoreMetrics
import FairShares
import HTTPServer
import LocationsAPI
import ManagementAPI
import Points
import PostgresStore
import PrometheusMetrics
import ServerFeatures
import Synchronization

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
