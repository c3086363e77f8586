import HTTPServer
import LocationsAPI
import ManagementAPI
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import PrometheusMetrics
import Synchronization
import TestSupport
import Testing

@testable import Hosting

@Suite struct StoreMetricsTests {
  private let store = SwitchedStore()
  private let metrics = PrometheusMetrics()

  private func count(_ operation: String, _ outcome: String) -> String? {
    let name = "store_call_duration_seconds_count{operation=\"\(operation)\",outcome=\"\(outcome)\"} "
    return metrics.text().split(separator: "\n").first { $0.hasPrefix(name) }.map { String($0.dropFirst(name.count)) }
  }

  @Test func callsAreCountedByOperationAndOutcome() async throws {
    let service = PointsService(store: store, observers: [StoreMetrics(metrics)])

    for call in ["page", "page", "delete", "export", "import"] { await store.call(call, through: service) }
    store.fail(with: .overloaded)
    for call in ["page", "delete", "export"] { await store.call(call, through: service) }
    store.reject(with: .notFound)
    await store.call("delete", through: service)

    #expect(count("page", "ok") == "2")
    #expect(count("page", "overloaded") == "1")
    #expect(count("delete", "ok") == "1")
    #expect(count("delete", "overloaded") == "1")
    #expect(count("delete", "refused") == "1")
    #expect(count("export", "overloaded") == "1")
    #expect(count("import", "ok") == "1")
  }

  @Test func searchThatIsRepeatedIsNotCounted() async {
    let service = PointsService(store: store, observers: [StoreMetrics(metrics)])
    store.fail(with: .stepLimit)

    await store.call("page", through: service)

    #expect(count("page", "step_limit") == nil)
  }

  @Test func outcomesSayWhoEndedACall() async throws {
    let service = PointsService(store: store, observers: [StoreMetrics(metrics)])
    store.fail(with: .filterTimeout)
    await store.call("page", through: service)
    await Task {
      withUnsafeCurrentTask { $0?.cancel() }
      await store.call("page", through: service)
    }.value
    let transfers = PointsService(store: MemoryStore(), observers: [StoreMetrics(metrics)])
    let upload = AsyncThrowingStream<[ImportRow], any Error> { $0.finish(throwing: CancellationError()) }
    _ = try? await transfers.importRows(upload, options: ImportOptions())

    #expect(count("page", "filter_timeout") == "1")
    #expect(count("page", "cancelled") == "1")
    #expect(count("import", "broken_off") == "1")
  }

  /// The request for a page asks for the version first.
  @Test(arguments: [
    (HTTPMethod.GET, "/locations", 2), (.PUT, "/locations/\(PointID.sample(1))", 1),
    (.DELETE, "/locations/\(PointID.sample(1))", 1),
  ])
  func serverTimingHasTheTimeOfAllCallsOfTheStore(_ method: HTTPMethod, _ target: String, calls: Int) async throws {
    let delay = 20.0
    let atLeast = 15.0
    let service = PointsService(store: SwitchedStore(delay: .milliseconds(delay)))
    let router = LocationsAPI(.init(service: service, version: "1"))
      .router(joining: { ManagementAPI($0).endpoints }, middlewares: [ServerTimingMiddleware()])
    var headers: HTTPHeaders = ["host": "localhost", "content-type": "application/json"]
    if method == .GET { headers.add(name: "if-none-match", value: "\"other\"") }
    let request = HTTPRequest(
      method: method, target: target, headers: headers,
      body: .bytes(ByteBuffer(string: #"{"name":"a","lat":1,"long":2}"#)),
      remoteAddress: try SocketAddress(ipAddress: "127.0.0.1", port: 1))

    let response = await router.respond(to: request)

    let value = try #require(response.headers.first(name: "server-timing"))
    let match = try #require(value.wholeMatch(of: /store;dur=([0-9.]+), total;dur=([0-9.]+)/))
    let (store, total) = (try #require(Double(match.1)), try #require(Double(match.2)))
    #expect(response.status.code / 100 == 2)
    #expect(store >= atLeast * Double(calls))
    #expect(store <= total)
  }

  @Test func responseHasServerTimingOnlyWithItsMiddleware() async throws {
    let service = PointsService(store: store, observers: [StoreMetrics(metrics)])
    let router = LocationsAPI(.init(service: service, version: "1")).router()

    let response = await router.respond(to: HTTPRequest(target: "/locations"))

    #expect(!response.headers.contains(name: "server-timing"))
  }
}
