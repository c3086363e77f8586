import CoreMetrics
import HTTPServer
import Synchronization

/// How many connections and requests a server has.
final class ServerMetrics: MetricsCollector {
  private struct Watched {
    weak var server: HTTPServer?
  }

  private let watched = Mutex(Watched())
  private let connections: Meter
  private let requests: Meter

  /// Creates a collector that tells of no server yet.
  init(factory: any MetricsFactory) {
    connections = Meter(label: MetricCatalogue.connections, factory: factory)
    requests = Meter(label: MetricCatalogue.requestsInFlight, factory: factory)
  }

  /// Tells of this server from now on.
  func watch(_ server: HTTPServer) { watched.withLock { $0.server = server } }

  func collect() async {
    guard let server = watched.withLock({ $0.server }) else { return }
    connections.set(server.openConnections)
    requests.set(server.requestsInFlight)
  }
}
