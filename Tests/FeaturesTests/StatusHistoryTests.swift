import APIDescription
import Basics
import JSONText
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import LocationsAPI
@testable import ManagementAPI
@testable import Pages

/// The metrics of the last hour that the status page shows after a reload.
@Suite(.timeLimit(.minutes(5))) struct StatusHistoryTests {
  private let uptime = Switchable(Duration.zero)
  private let history: StatusHistory

  /// The samples as JSON.
  private var samples: String { String(decoding: history.json["samples"]?.text ?? [], as: UTF8.self) }

  init() {
    history = StatusHistory(uptime: { [uptime] in uptime.value })
  }

  @Test func samplesHaveTheValuesOfEachSeriesOrNull() {
    uptime.value = .seconds(5)
    history.record(["http_requests_total{status=\"2xx\"}": 10, "process_cpu_seconds_total": 1.25])
    uptime.value = .seconds(15)
    history.record(["process_cpu_seconds_total": 1.5, "http_requests_in_flight": 2])
    uptime.value = .seconds(20)

    #expect(
      history.json["series"] == [
        "http_requests_in_flight", "http_requests_total{status=\"2xx\"}", "process_cpu_seconds_total",
      ])
    #expect(samples == #"[{"age":15,"values":[null,10,1.25]},{"age":5,"values":[2,null,1.5]}]"#)
  }

  @Test func samplesOlderThanAnHourAreRemoved() {
    for sample in 0..<(StatusHistory.capacity + 3) {
      uptime.value = .seconds(10 * sample)
      history.record(["process_cpu_seconds_total": Double(sample)])
    }

    #expect(samples.hasPrefix(#"[{"age":3590,"values":[3]},"#))
    #expect(samples.split(separator: "age").count == StatusHistory.capacity + 1)
  }

  @Test func valuesThatAreNoNumbersAreNull() {
    history.record(["process_cpu_seconds_total": .nan, "process_resident_memory_bytes": .infinity])

    #expect(samples == #"[{"age":0,"values":[null,null]}]"#)
  }

  @Test func theCallNeedsTheScopeOfTheMetrics() async throws {
    let api = LocationsAPI.Configuration(service: PointsService(store: MemoryStore()), version: "1.2.3")
    let driver = ServiceDriver(LocationsAPI(api), features: FeatureCalls(history: history))

    #expect(StatusHistoryRoute.call.scope == MetricsRoute.call.scope)
    #expect(try await driver.send(.GET, "/status/history.json").status == 200)
    #expect(try await driver.send(.GET, "/status/history.json?since=1").status == 400)
  }
}
