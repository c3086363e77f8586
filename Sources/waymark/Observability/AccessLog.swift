import HTTPServer
import Logging
import NIOHTTP1

/// Logs a line for each request, where that is wanted, and for those that went wrong in the service in any case.
///
/// A line tells the route's template and never the target, which may say where someone is.
struct AccessLog: RequestObserver {
  private let logger: Logger
  private let level: Logger.Level

  /// Makes an access log.
  ///
  /// - Parameter isOn: whether requests are logged at level `info`; else it is `debug`.
  init(logger: Logger, isOn: Bool) {
    self.logger = logger
    level = isOn ? .info : .debug
  }

  func requestEnded(_ request: EndedRequest) {
    let level = level(for: request)
    guard level >= logger.logLevel else { return }
    var metadata: Logger.Metadata = [
      "request-id": .string(request.id),
      "route": .string(request.route ?? "none"),
      "method": .string(MethodLabel(request.method).name),
      "status": .string(request.status.map { "\($0.code)" } ?? "none"),
      "bytes": .stringConvertible(request.bodyBytes),
    ]
    if let trace = request.trace {
      metadata["trace-id"] = .stringConvertible(trace.traceID)
      metadata["span-id"] = .string(trace.spanText)
    }
    if let duration = request.duration { metadata["duration_ms"] = .stringConvertible(duration.milliseconds) }
    logger.log(level: level, request.isWhole ? "answered" : "not answered to the end", metadata: metadata)
  }

  /// Of 503 there would be a line a request just when there is most to do; what is behind it the store logs once.
  private func level(for request: EndedRequest) -> Logger.Level {
    guard let status = request.status, status.code >= 500, status != .serviceUnavailable else { return level }
    return .warning
  }
}
