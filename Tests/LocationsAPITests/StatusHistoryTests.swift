import JSONText
import MemoryStore
import NIOHTTP1
import Points
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI

/// The metrics of the last hour that the status page shows after a reload.
@Suite(.timeLimit(.minutes(5))) struct StatusHistoryTests {
  /// A time and metrics that the test sets.
  private final class Server: MetricsSource {
    private let state = Mutex((seconds: 0, text: ""))
    let contentType = "text/plain"

    var uptime: Duration { .seconds(state.withLock { $0.seconds }) }

    func text() async -> String { state.withLock { $0.text } }

    func set(seconds: Int, _ text: String) { state.withLock { $0 = (seconds, text) } }
  }

  private let server = Server()
  private let history: StatusHistory

  /// The samples as JSON.
  private var samples: String { String(decoding: history.json["samples"]?.text ?? [], as: UTF8.self) }

  init() {
    history = StatusHistory(server, uptime: { [server] in server.uptime })
  }

  @Test func samplesHaveSumsOverTheRoutesOfOthers() async {
    server.set(
      seconds: 5,
      """
      # TYPE http_requests_total counter
      http_requests_total{method="GET",route="/locations",status="200"} 7
      http_requests_total{method="GET",route="/categories",status="204"} 3
      http_requests_total{method="GET",route="/locations",status="400"} 2
      http_requests_total{method="GET",route="/metrics",status="200"} 100
      http_requests_total{method="GET",route="/status/history.json",status="200"} 100
      store_call_duration_seconds_bucket{call="nearest",le="0.5"} 4
      store_call_duration_seconds_bucket{call="list",le="0.5"} 1
      process_cpu_seconds_total 1.25
      point_index_places 12
      """)
    await history.record()
    server.set(seconds: 15, "process_cpu_seconds_total 1.5\nhttp_requests_in_flight 2\n")
    await history.record()
    server.set(seconds: 20, "")

    #expect(
      history.json["series"] == [
        "http_requests_in_flight", "http_requests_total{status=\"2xx\"}", "http_requests_total{status=\"4xx\"}",
        "process_cpu_seconds_total", "store_call_duration_seconds_bucket{le=\"0.5\"}",
      ])
    #expect(
      samples == #"[{"age":15,"values":[null,10,2,1.25,5]},{"age":5,"values":[2,null,null,1.5,null]}]"#)
  }

  @Test func samplesOlderThanAnHourAreRemoved() async {
    for sample in 0..<(StatusHistory.capacity + 3) {
      server.set(seconds: 10 * sample, "process_cpu_seconds_total \(sample)\n")
      await history.record()
    }

    #expect(samples.hasPrefix(#"[{"age":3590,"values":[3]},"#))
    #expect(samples.split(separator: "age").count == StatusHistory.capacity + 1)
  }

  @Test func valuesThatAreNoNumbersAreLeftOut() async {
    server.set(
      seconds: 0, "process_cpu_seconds_total NaN\nprocess_resident_memory_bytes +Inf\nhttp_requests_total 1e400\nx\n\n")
    await history.record()

    #expect(samples == #"[{"age":0,"values":[null,null,null]}]"#)
  }

  @Test func theCallNeedsTheScopeOfTheMetrics() async throws {
    var api = LocationsAPI.Configuration(service: PointsService(store: MemoryStore()), version: "1.2.3")
    api.statusHistory = history
    let driver = ServiceDriver(LocationsAPI(api))

    #expect(StatusHistoryRoute.call.scope == MetricsRoute.call.scope)
    #expect(try await driver.send(.GET, "/status/history.json").status == 200)
    #expect(try await driver.send(.GET, "/status/history.json?since=1").status == 400)
  }
}
