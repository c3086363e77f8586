import CoreMetrics
import PrometheusMetrics
import ServerFeatures
import Testing

@testable import Hosting
@testable import waymark

@Suite struct ProcessMetricsTests {
  @Test func statIsParsedBehindAProcessNameWithParentheses() {
    let numbers = (4...52).map { String($0) }.joined(separator: " ")

    let stat = ProcessStat("7 (a) b (c)) S \(numbers)\n")

    #expect(stat?.startTicks == 22)
    #expect(stat?.virtualBytes == 23)
    #expect(stat?.residentPages == 24)
  }

  @Test(arguments: ["", "7", "7 (a) S 1 2", "7 (a) S " + String(repeating: "x ", count: 60)])
  func malformedStatIsRejected(text: String) {
    #expect(ProcessStat(text) == nil)
  }

  @Test func figuresOfThisProcessAreReported() async throws {
    let metrics = PrometheusMetrics(MetricCatalogue.all(with: Features.all))
    await ProcessMetrics(factory: metrics).collect()

    var values: [String: Double] = [:]
    for line in metrics.text().split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      values[String(parts[0])] = Double(parts[1])
    }

    #expect(try #require(values["process_resident_memory_bytes"]) > 1_000_000)
    #expect(try #require(values["process_virtual_memory_bytes"]) > 1_000_000)
    #expect(try #require(values["process_cpu_seconds_total"]) > 0)
    #expect(try #require(values["process_open_fds"]) >= 3)
    #expect(try #require(values["process_max_fds"]) >= 3)
    // The year 2020 is behind us.
    #expect(try #require(values["process_start_time_seconds"]) > 1_577_836_800)
  }

  @Test func counterThatFollowsATotalNeverDecreases() {
    let metrics = PrometheusMetrics()
    let follower = TotalFollower(MetricDescription("m_total", "A total."), factory: metrics)

    for total in [1.5, 4, 3, 4.25] { follower.follow(total) }

    #expect(metrics.text().hasSuffix("m_total 4.25\n"))
  }
}
