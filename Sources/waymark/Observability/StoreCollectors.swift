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
  private let connecting, idle, busy, limit, waiting: Meter

  init(_ store: PostgresStore, factory: any MetricsFactory) {
    func connections(_ state: String) -> Meter {
      Meter(label: MetricCatalogue.poolConnections, dimensions: [("state", state)], factory: factory)
    }
    self.store = store
    connecting = connections("connecting")
    idle = connections("idle")
    busy = connections("busy")
    limit = Meter(label: MetricCatalogue.poolLimit, factory: factory)
    waiting = Meter(label: MetricCatalogue.poolWaiting, factory: factory)
  }

  func collect() async {
    let load = await store.poolLoad()
    connecting.set(load.connecting)
    idle.set(load.idle)
    busy.set(load.busy)
    limit.set(load.limit)
    waiting.set(load.waiting)
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
