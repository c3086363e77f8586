import CoreMetrics
import MemoryStore
import Points
import PostgresStore

/// How many places are in memory.
struct PlacesCollector: MetricsCollector {
  private let store: MemoryStore
  private let places: Meter

  init(_ store: MemoryStore, factory: any MetricsFactory) {
    self.store = store
    places = Meter(label: MetricCatalogue.places, factory: factory)
  }

  func collect() async { places.set(store.count) }
}

/// What the connections to the database do.
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
      connections = meter(MetricCatalogue.bulkConnections)
      limit = meter(MetricCatalogue.bulkLimit)
      waiting = meter(MetricCatalogue.bulkWaiting)
    }

    func set(_ use: BulkLoad.Use) {
      connections.set(use.connections)
      limit.set(use.limit)
      waiting.set(use.waiting)
    }
  }

  /// Creates a collector.
  ///
  /// - Parameter limit: the maximum number of connections, whatever they are for.
  init(_ store: PostgresStore, limit total: Int, factory: any MetricsFactory) {
    func connections(_ state: String) -> Meter {
      Meter(label: MetricCatalogue.poolConnections, dimensions: [("state", state)], factory: factory)
    }
    self.store = store
    self.total = total
    connecting = connections("connecting")
    idle = connections("idle")
    busy = connections("busy")
    limit = Meter(label: MetricCatalogue.poolLimit, factory: factory)
    waiting = Meter(label: MetricCatalogue.poolWaiting, factory: factory)
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
    let bulk = store.bulkLoad
    exports.set(bulk.exports)
    imports.set(bulk.imports)
  }
}

/// How many searches analytics had no room for.
struct AnalyticsCollector: MetricsCollector {
  private let analytics: any BackgroundAnalytics
  private let dropped: TotalFollower

  init(_ analytics: any BackgroundAnalytics, factory: any MetricsFactory) {
    self.analytics = analytics
    dropped = TotalFollower(FloatingPointCounter(label: MetricCatalogue.droppedSearches, factory: factory))
  }

  func collect() async { dropped.follow(Double(analytics.dropped)) }
}
