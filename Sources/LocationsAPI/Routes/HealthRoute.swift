import HTTPServer
import Logging
import NIOHTTP1
import Points

/// `GET /health/live` and `GET /health/ready`: whether the process answers at all, and whether the store does too.
struct HealthRoute {
  let service: PointsService

  func live() -> HTTPResponse { Self.healthy }

  func ready(_ request: HTTPRequest) async throws(Problem) -> HTTPResponse {
    do {
      try await service.checkReadiness()
      return Self.healthy
    } catch {
      request.logger.warning("not ready", metadata: ["error": "\(error)"])
      var problem = Problem(error)
      // Whoever probes readiness is an operator; this reason names the command that mends it.
      if case .schemaMismatch(let reason) = error { problem.detail = reason }
      if problem.status != .serviceUnavailable { problem = Problem(.unavailable(reason: "")) }
      throw problem
    }
  }

  private static var healthy: HTTPResponse {
    var response = HTTPResponse(contentType: "application/json", bytes: Array("{\"status\":\"ok\"}".utf8))
    response.headers.add(name: "cache-control", value: "no-store")
    return response
  }
}
