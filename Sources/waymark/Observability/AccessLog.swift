import HTTPServer
import Logging
import NIOHTTP1

/// The access log: a line for each request, where that is on, and for those that failed in the service in any case.
///
/// Errors that clients alone cause, such as an unknown version of HTTP, are summed up: a line an interval with a count,
/// however many they are.
///
/// A line has the route's template and never the target, which may contain someone's location.
struct AccessLog: SynchronousMiddleware {
  private let logger: Logger
  private let level: Logger.Level
  private let clientFaults: PeriodicCount

  /// Creates an access log.
  ///
  /// - Parameters:
  ///   - isOn: a Boolean value that indicates whether requests are logged at level `info`; else it is `debug`.
  ///   - sleep: waits for the end of an interval.
  init(
    logger: Logger, isOn: Bool, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.logger = logger
    clientFaults = PeriodicCount(interval: Self.interval, sleep: sleep) { count in
      logger.warning(
        "requests with an unsupported method or HTTP version were rejected",
        metadata: ["count": .stringConvertible(count)])
    }
    level = isOn ? .info : .debug
  }

  func requestCompleted(_ request: CompletedRequest) {
    if request.isClientFault { clientFaults.add() }
    let level = level(for: request)
    guard level >= logger.logLevel else { return }
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
    guard let status = request.status, status.code >= 500, status != .serviceUnavailable, !request.isClientFault else {
      return level
    }
    return .warning
  }

  private static let interval: Duration = .seconds(10)
}

extension CompletedRequest {
  /// A Boolean value that indicates whether the status is 501 or 505, which only the client can cause.
  fileprivate var isClientFault: Bool { status == .notImplemented || status == .httpVersionNotSupported }
}
