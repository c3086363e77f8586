import HTTPServer
import NIOHTTP1

/// Tells clients in `Server-Timing` how long their answers took to make (https://www.w3.org/TR/server-timing/): `store` is
/// the time spent waiting for the store, `total` that to the answer's head, both in milliseconds.
struct ServerTimingResponder: HTTPResponder {
  let responder: any HTTPResponder

  nonisolated(nonsending) func respond(to request: HTTPRequest) async -> HTTPResponse {
    let start = ContinuousClock.now
    let storeTime = StoreTime()
    var response = await StoreTime.$current.withValue(storeTime) { await responder.respond(to: request) }
    let total = ContinuousClock.now - start
    response.headers.add(
      name: "server-timing", value: "store;dur=\(storeTime.total.milliseconds), total;dur=\(total.milliseconds)")
    return response
  }
}
