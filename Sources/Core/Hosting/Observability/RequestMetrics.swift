import Basics
import CoreMetrics
import HTTPServer
import Logging
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
    // The duration of a stream is its client's choice.
    if let duration = request.duration, !request.isLive {
      handles.duration.recordNanoseconds(duration.wholeNanoseconds)
    }
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

/// The access log: a line for each request, where that is on, and for those that failed in the service in any case.
///
/// Errors that clients alone cause, such as an unknown version of HTTP, are summed up: a line an interval with a count,
/// however many they are. So are calls that need a part of the service that is off, in a line of their own.
///
/// A line has the route's template and never the target, which may contain someone's location.
struct AccessLog: SynchronousMiddleware {
  private let logger: Logger
  private let level: Logger.Level

  /// The level of the logger, which each query would copy.
  private let leastLevel: Logger.Level
  private let clientFaults: PeriodicCount
  private let missingParts: PeriodicCount

  /// Creates an access log.
  ///
  /// - Parameters:
  ///   - isOn: a Boolean value that indicates whether requests are logged at level `info`; else it is `debug`.
  ///   - sleep: waits for the end of an interval.
  init(
    logger: Logger, isOn: Bool, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.logger = logger
    leastLevel = logger.logLevel
    clientFaults = PeriodicCount(interval: Self.interval, sleep: sleep) { count in
      logger.warning(
        "requests with an unsupported method or HTTP version were rejected",
        metadata: ["count": .stringConvertible(count)])
    }
    missingParts = PeriodicCount(interval: Self.interval, sleep: sleep) { count in
      logger.warning(
        "requests were rejected that need the index, a file or another part that is off",
        metadata: ["count": .stringConvertible(count)])
    }
    level = isOn ? .info : .debug
  }

  func requestCompleted(_ request: CompletedRequest) {
    if request.needsMissingPart {
      missingParts.add()
    } else if request.isUnsupported {
      clientFaults.add()
    }
    let level = level(for: request)
    guard level >= leastLevel else { return }
    var metadata: Logger.Metadata = [
      "request-id": .string(request.id),
      "route": .string(request.route ?? "none"),
      "method": .string(MethodLabel(request.method).name),
      "bytes": .stringConvertible(request.bodyBytes),
    ]
    if let status = request.status { metadata["status"] = .stringConvertible(status.code) }
    if let trace = request.trace {
      metadata["trace-id"] = .stringConvertible(trace.traceID)
      metadata["span-id"] = .string(trace.spanText)
    }
    if let duration = request.duration { metadata["duration_ms"] = .stringConvertible(duration.milliseconds) }
    logger.log(level: level, request.isWhole ? "request completed" : "response incomplete", metadata: metadata)
  }

  /// Returns the level of a request's line. For 503 there would be a line a request just when load is highest; the
  /// store logs the cause once.
  private func level(for request: CompletedRequest) -> Logger.Level {
    guard let status = request.status, status.code >= 500, status != .serviceUnavailable, !request.isUnsupported else {
      return level
    }
    return .warning
  }

  private static let interval: Duration = .seconds(10)
}

extension CompletedRequest {
  /// A Boolean value that indicates whether the status is 501 or 505, which only the client or a setting can cause.
  fileprivate var isUnsupported: Bool { status == .notImplemented || status == .httpVersionNotSupported }

  /// A Boolean value that indicates whether the status is 501 of a call, as without the index. A request with an unknown
  /// method has no call.
  fileprivate var needsMissingPart: Bool { status == .notImplemented && route != nil }
}

/// A middleware that adds `Server-Timing` (https://www.w3.org/TR/server-timing/) to responses: `store` is the time
/// spent waiting for the store, `total` the time to the response's head, both in milliseconds.
struct ServerTimingMiddleware: Middleware {
  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    let start = ContinuousClock.now
    let storeTime = ElapsedTime()
    var request = request
    request.storeTime = storeTime
    var response = await next.respond(to: request)
    let total = ContinuousClock.now - start
    response.headers.add(
      name: "server-timing", value: "store;dur=\(storeTime.total.milliseconds), total;dur=\(total.milliseconds)")
    return response
  }
}
