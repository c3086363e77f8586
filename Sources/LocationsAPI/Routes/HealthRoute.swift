import HTTPServer
import Logging
import NIOHTTP1
import Points

/// `GET /health/live` and `GET /health/ready`: whether the process answers at all, and whether the store does too.
struct HealthRoute {
  /// The longest time ago that the store was asked, whatever the rate of probes.
  static let maximumAge: Duration = .seconds(1)

  let service: PointsService
  private let readiness: RecentValue<Problem?>
  private let isDraining: @Sendable () -> Bool

  init(
    service: PointsService, uptime: @escaping @Sendable () -> Duration = monotonicTime,
    isDraining: @escaping @Sendable () -> Bool = { false }
  ) {
    self.service = service
    self.isDraining = isDraining
    readiness = RecentValue(maximumAge: Self.maximumAge, uptime: uptime)
  }

  func live() -> HTTPResponse { Self.healthy }

  func ready(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    guard !isDraining() else {
      throw Problem(
        .serviceUnavailable, code: "overloaded", title: "Draining", detail: "the server has been told to stop")
    }
    if let problem = await readiness.value({ await check(request.logger) }) { throw problem }
    return Self.healthy
  }

  /// Asks the store. Returns what is wrong.
  private func check(_ logger: Logger) async -> Problem? {
    do {
      try await service.checkReadiness()
      return nil
    } catch {
      logger.warning("not ready", metadata: ["error": "\(error)"])
      var problem = Problem(error)
      // Whoever probes readiness is an operator; this reason names the command that mends it.
      if case .schemaMismatch(let reason) = error { problem.detail = reason }
      if problem.status != .serviceUnavailable { problem = Problem(.unavailable(reason: "")) }
      return problem
    }
  }

  private static var healthy: HTTPResponse {
    var response = HTTPResponse(contentType: "application/json", bytes: Array("{\"status\":\"ok\"}".utf8))
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}
