import CoreMetrics
import HTTPServer
import PrometheusMetrics
import Synchronization

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
    func total(_ label: String) -> TotalFollower {
      TotalFollower(FloatingPointCounter(label: label, dimensions: [], factory: factory))
    }
    running = computations("running")
    waiting = computations("waiting")
    waited = total(MetricCatalogue.computationWait.name)
    rejected = total(MetricCatalogue.rejectedComputations.name)
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
