import HTTPServer
import Logging
import NIOHTTP1

/// Logs a line for each request, where that is wanted, and for those that went wrong in the service in any case.
///
/// What clients alone bring about, such as an unknown version of HTTP, is summed up: a line an interval with a count,
/// however many they are.
///
/// A line tells the route's template and never the target, which may say where someone is.
struct AccessLog: RequestObserver {
  private let logger: Logger
  private let level: Logger.Level
  private let clientFaults: PeriodicCount

  /// Creates an access log.
  ///
  /// - Parameters:
  ///   - isOn: whether requests are logged at level `info`; else it is `debug`.
  ///   - sleep: waits for the end of an interval.
  init(
    logger: Logger, isOn: Bool, sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
  ) {
    self.logger = logger
    clientFaults = PeriodicCount(interval: Self.interval, sleep: sleep) { count in
      logger.warning(
        "requests were rejected that no client of HTTP/1.1 or HTTP/2 should send",
        metadata: ["count": .stringConvertible(count)])
    }
    level = isOn ? .info : .debug
  }

  func requestEnded(_ request: EndedRequest) {
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
    logger.log(level: level, request.isWhole ? "answered" : "not answered to the end", metadata: metadata)
  }

  /// Of 503 there would be a line a request just when there is most to do; what is behind it the store logs once.
  private func level(for request: EndedRequest) -> Logger.Level {
    guard let status = request.status, status.code >= 500, status != .serviceUnavailable, !request.isClientFault else {
      return level
    }
    return .warning
  }

  private static let interval: Duration = .seconds(10)
}

extension EndedRequest {
  /// A Boolean value that indicates whether the status is a server's, 501 or 505, and the cause the client's alone.
  fileprivate var isClientFault: Bool { status == .notImplemented || status == .httpVersionNotSupported }
}
