import LocationsAPI
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import ManagementAPI

/// Probes and scrapes cost the same at any rate.
@Suite(.timeLimit(.minutes(5))) struct RecentStateTests {
  /// A time that the test sets.
  private final class Uptime: Sendable {
    private let time = Mutex(Duration.zero)
    var now: Duration {
      get { time.withLock { $0 } }
      set { time.withLock { $0 = newValue } }
    }
  }

  private struct CountingMetrics: MetricsSource {
    let renderings = Counter()
    var contentType: String { "text/plain" }
    func text() async -> String { "rendering \(renderings.add())" }
  }

  @Test func readinessIsCheckedAtMostOnceASecond() async throws {
    let (uptime, checks) = (Uptime(), Counter())
    var store = StubStore()
    store.onReadiness = { () throws(PointStoreError) in
      if checks.add() > 1 { throw .unavailable(reason: "gone") }
      return .ready
    }
    let driver = ServiceDriver(store: store, uptime: { uptime.now })

    var statuses: [Int] = []
    for milliseconds in [0, 1, 500, 999, 1000, 1500, 1999] {
      uptime.now = .milliseconds(milliseconds)
      statuses.append(try await driver.send(.GET, "/health/ready").status)
    }

    #expect(statuses == [200, 200, 200, 200, 503, 503, 503])
    #expect(checks.value == 2)
  }

  @Test(arguments: [
    (PointStoreError.unavailable(reason: "gone"), 0), (.schemaMismatch(reason: "none"), 0), (.timeout, 1),
  ])
  func failureOfReadinessIsAWarningOnceAtMost(error: PointStoreError, warnings: Int) async throws {
    let (uptime, checks, recorder) = (Uptime(), Counter(), LogRecorder())
    var store = StubStore()
    store.onReadiness = { () throws(PointStoreError) in
      checks.add()
      throw error
    }
    let driver = ServiceDriver(store: store, uptime: { uptime.now })

    for seconds in 0..<5 {
      uptime.now = .seconds(seconds)
      _ = try await driver.send(.GET, "/health/ready", logger: recorder.logger)
    }

    let lines = recorder.lines.filter { $0.contains("the server is not ready") }
    #expect(checks.value == 5 && lines.count == 5)
    #expect(lines.filter { $0.hasPrefix("warning ") }.count == warnings)
    #expect(lines.filter { $0.hasPrefix("debug ") }.count == 5 - warnings)
  }

  @Test func concurrentProbesShareOneReadinessCheck() async throws {
    let (checks, gate) = (Counter(), Gate())
    var store = StubStore()
    store.onReadiness = { () throws(PointStoreError) in
      checks.add()
      await gate.pass()
      return .ready
    }
    // Time that passes during a call of the store causes no second call.
    let driver = ServiceDriver(store: store, uptime: { .seconds(checks.value * 10) })

    async let statuses = withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<50 { group.addTask { try await driver.send(.GET, "/health/ready").status } }
      return try await group.reduce(into: [Int]()) { $0.append($1) }
    }
    while checks.value == 0 { await Task.yield() }
    for _ in 0..<1000 { await Task.yield() }
    gate.open()

    #expect(try await statuses == Array(repeating: 200, count: 50))
    #expect(checks.value == 1)
  }

  @Test func metricsAreRenderedTenTimesASecondAtMost() async throws {
    let (uptime, metrics) = (Uptime(), CountingMetrics())
    let driver = ServiceDriver(store: StubStore(), metrics: metrics, uptime: { uptime.now })

    var texts: [String] = []
    for milliseconds in [0, 50, 99, 100, 150, 1000] {
      uptime.now = .milliseconds(milliseconds)
      texts.append(try await driver.send(.GET, "/metrics").text)
    }

    #expect(texts.map { $0.suffix(1) } == ["1", "1", "1", "2", "2", "3"])
    #expect(metrics.renderings.value == 3)
  }
}
