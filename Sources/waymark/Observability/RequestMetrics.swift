import CoreMetrics
import HTTPServer
import NIOHTTP1
import PrometheusMetrics

/// The metrics of requests: their counts, durations and bytes.
///
/// Labels are bounded whatever clients send: routes are templates, methods other than the usual ones are `other`, and
/// missing values are `none`.
struct RequestMetrics: SynchronousMiddleware {
  private struct Key: Hashable {
    let route: String?
    let method: MethodLabel
    let status: UInt?
  }

  private struct Handles {
    let requests: Counter
    let duration: Timer
    let bytes: Counter
  }

  private let factory: any MetricsFactory
  private let handles = HandleCache<Key, Handles>()

  init(factory: any MetricsFactory) {
    self.factory = factory
  }

  func requestCompleted(_ request: CompletedRequest) {
    let key = Key(
      route: request.route, method: MethodLabel(request.method), status: request.status?.code)
    let handles = handles.handle(for: key) { make(key) }
    handles.requests.increment()
    handles.bytes.increment(by: request.bodyBytes)
    if let duration = request.duration { handles.duration.recordNanoseconds(duration.wholeNanoseconds) }
    if !request.isWhole {
      Counter(
        label: MetricCatalogue.incompleteResponses.name, dimensions: [("route", request.route ?? "none")],
        factory: factory
      ).increment()
    }
  }

  private func make(_ key: Key) -> Handles {
    let route = ("route", key.route ?? "none")
    let method = ("method", key.method.name)
    let status = ("status", key.status.map(String.init) ?? "none")
    return Handles(
      requests: Counter(label: MetricCatalogue.requests.name, dimensions: [method, route, status], factory: factory),
      duration: Timer(label: MetricCatalogue.requestDuration.name, dimensions: [method, route], factory: factory),
      bytes: Counter(label: MetricCatalogue.bodyBytes.name, dimensions: [route], factory: factory)
    )
  }
}

extension Duration {
  /// The duration in nanoseconds, rounded down.
  var wholeNanoseconds: Int64 {
    let (seconds, attoseconds) = components
    return seconds * 1_000_000_000 + attoseconds / 1_000_000_000
  }

  /// The duration in milliseconds, to the microsecond.
  var milliseconds: Double { Double(wholeNanoseconds / 1000) / 1000 }
}

/// The label of a method in metrics and logs: one of a few names, whatever clients send.
enum MethodLabel: UInt8 {
  case GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS
  /// A method without a route.
  case other
  /// No method: the request could not be parsed.
  case none

  init(_ method: HTTPMethod?) {
    self =
      switch method {
      case .GET: .GET
      case .HEAD: .HEAD
      case .POST: .POST
      case .PUT: .PUT
      case .PATCH: .PATCH
      case .DELETE: .DELETE
      case .OPTIONS: .OPTIONS
      case nil: .none
      default: .other
      }
  }

  var name: String { "\(self)" }
}
