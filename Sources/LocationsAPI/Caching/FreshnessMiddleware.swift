import AccessControl
import HTTPServer
import NIOHTTP1
import Points

/// A middleware that relates reads to writes by positions of the store.
///
/// - The response to a write has the position after it in `Waymark-Position`.
/// - A read with that value in `Waymark-Min-Position` contains the write, whichever instance it is sent to.
/// - A response from the last confirmed state of the index has an `Age` (RFC 9111, section 5.1).
struct FreshnessMiddleware: Middleware {
  private static let minimumPosition = "waymark-min-position"

  let index: any StoreIndex

  func intercepts(_ request: HTTPRequest) -> Bool {
    switch request.route?.scope {
    case .read: request.headers.contains(name: Self.minimumPosition) || index.staleReads != nil
    case .write: true
    default: false
    }
  }

  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    do throws(Problem) {
      if let position = request.headers.first(name: Self.minimumPosition) {
        try await wait(for: position, request)
      } else if request.method == .PATCH, let position = await index.currentPosition() {
        // The fields that a patch does not name are read first.
        try await wait(for: position, request)
      }
    } catch {
      var response = HTTPResponse(error, typePrefix: Problem.serviceTypePrefix)
      response.route = request.route?.template
      return response
    }
    // The index may become stale, and current again, while the request is in progress.
    let former = index.staleReads
    var response = await respond(to: request, next)
    if request.route?.scope == .write {
      if response.status.code / 100 == 2, let position = await index.currentPosition() {
        response.headers.add(name: "waymark-position", value: position)
      }
    } else if let reads = index.staleReads, reads.count != former?.count, let time = reads.confirmedAt {
      response.headers.replaceOrAdd(name: "age", value: String((ContinuousClock.now - time).components.seconds))
    }
    return response
  }

  private nonisolated(nonsending) func respond(to request: HTTPRequest, _ next: MiddlewareChain) async -> HTTPResponse {
    guard let position = request.headers.first(name: Self.minimumPosition) else {
      return await next.respond(to: request)
    }
    return await RequiredPosition.$text.withValue(position) { await next.respond(to: request) }
  }

  private nonisolated(nonsending) func wait(for position: String, _ request: HTTPRequest) async throws(Problem) {
    let isPosition = try await request.reportingStoreErrors { () throws(PointStoreError) in
      try await index.waitUntilReads(contain: position)
    }
    guard isPosition else {
      throw Problem(
        .badRequest, code: ParameterProblem.invalid.rawValue,
        detail: "the header Waymark-Min-Position must be a value of Waymark-Position, got '\(position.prefix(50))'")
    }
  }
}
