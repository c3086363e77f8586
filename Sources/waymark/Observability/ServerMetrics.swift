import CoreMetrics
import HTTPServer
import PrometheusMetrics
import Synchronization

/// The numbers of a server's connections and current requests.
final class ServerMetrics: MetricsCollector {
  private struct Watched {
    weak var server: HTTPServer?
  }

  private let watched = Mutex(Watched())
  private let connections: Meter
  private let requests: Meter

  /// Creates a collector without a server.
  init(factory: any MetricsFactory) {
    connections = Meter(label: MetricCatalogue.connections.name, factory: factory)
    requests = Meter(label: MetricCatalogue.requestsInFlight.name, factory: factory)
  }

  func watch(_ server: HTTPServer) { watched.withLock { $0.server = server } }

  func collect() async {
    guard let server = watched.withLock({ $0.server }) else { return }
    connections.set(server.openConnections)
    requests.set(server.requestsInFlight)
  }
}
