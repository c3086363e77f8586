import HTTPServer
import NIOHTTP1

/// A middleware that adds `Server-Timing` (https://www.w3.org/TR/server-timing/) to responses: `store` is the time
/// spent waiting for the store, `total` the time to the response's head, both in milliseconds.
struct ServerTimingMiddleware: Middleware {
  nonisolated(nonsending) func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    let start = ContinuousClock.now
    let storeTime = StoreTime()
    var response = await StoreTime.$current.withValue(storeTime) { await next.respond(to: request) }
    let total = ContinuousClock.now - start
    response.headers.add(
      name: "server-timing", value: "store;dur=\(storeTime.total.milliseconds), total;dur=\(total.milliseconds)")
    return response
  }
}
