import HTTPServer
import NIOHTTP1
import PrometheusMetrics
import TestSupport
import Testing

@testable import Hosting
@testable import waymark

@Suite struct RequestMetricsTests {
  private let metrics = PrometheusMetrics(MetricCatalogue.all(with: Features.all))

  private func request(
    method: HTTPMethod? = .GET, route: String? = "/locations", status: HTTPResponseStatus? = .ok, bytes: Int = 0,
    duration: Duration? = .milliseconds(2), isWhole: Bool = true
  ) -> CompletedRequest {
    CompletedRequest(
      id: "r", method: method, route: route, status: status, bodyBytes: bytes, duration: duration, isWhole: isWhole)
  }

  @Test func requestsAreCountedByMethodRouteAndStatusAndTimed() {
    let observer = RequestMetrics(factory: metrics)

    observer.requestCompleted(request(bytes: 10))
    observer.requestCompleted(request(bytes: 5))
    observer.requestCompleted(request(status: .badRequest))

    let text = metrics.text()
    #expect(text.contains("http_requests_total{method=\"GET\",route=\"/locations\",status=\"200\"} 2\n"))
    #expect(text.contains("http_requests_total{method=\"GET\",route=\"/locations\",status=\"400\"} 1\n"))
    #expect(text.contains("http_response_body_bytes_total{route=\"/locations\"} 15\n"))
    #expect(
      text.contains("http_request_duration_seconds_bucket{method=\"GET\",route=\"/locations\",le=\"0.001\"} 0\n"))
    #expect(
      text.contains("http_request_duration_seconds_bucket{method=\"GET\",route=\"/locations\",le=\"0.0025\"} 3\n"))
    #expect(text.contains("http_request_duration_seconds_sum{method=\"GET\",route=\"/locations\"} 0.006\n"))
  }

  @Test func numberOfMetricSeriesIsBounded() {
    let observer = RequestMetrics(factory: metrics)

    for number in 0..<1000 {
      observer.requestCompleted(request(method: .RAW(value: "M\(number)"), route: nil, status: .notFound))
    }
    observer.requestCompleted(request(method: nil, route: nil, status: .badRequest, duration: nil))

    let counters = metrics.text().split(separator: "\n").filter { $0.hasPrefix("http_requests_total{") }
    #expect(
      counters == [
        "http_requests_total{method=\"none\",route=\"none\",status=\"400\"} 1",
        "http_requests_total{method=\"other\",route=\"none\",status=\"404\"} 1000",
      ])
  }

  @Test func incompleteResponsesAreCounted() {
    let observer = RequestMetrics(factory: metrics)

    observer.requestCompleted(request(status: nil, isWhole: false))

    let text = metrics.text()
    #expect(text.contains("http_requests_total{method=\"GET\",route=\"/locations\",status=\"none\"} 1\n"))
    #expect(text.contains("http_responses_incomplete_total{route=\"/locations\"} 1\n"))
  }

  @Test(arguments: [(HTTPResponseStatus.ok, true, "info"), (.ok, false, "debug"), (.notFound, true, "info")])
  func accessLogHasALineForEachRequest(status: HTTPResponseStatus, isOn: Bool, level: String) throws {
    let recorder = LogRecorder()

    AccessLog(logger: recorder.logger, isOn: isOn).requestCompleted(request(status: status, bytes: 7))

    let line = try #require(recorder.lines.first)
    #expect(line.hasPrefix("\(level) request completed "))
    for part in ["\"route\": /locations", "\"status\": \(status.code)", "\"bytes\": 7", "\"duration_ms\": 2.0"] {
      #expect(line.contains(part))
    }
  }

  @Test(arguments: [
    (HTTPResponseStatus.internalServerError, "warning"), (.gatewayTimeout, "warning"), (.serviceUnavailable, "debug"),
  ])
  func serverErrorsAreLoggedWithoutTheAccessLog(status: HTTPResponseStatus, level: String) {
    let recorder = LogRecorder()

    AccessLog(logger: recorder.logger, isOn: false).requestCompleted(request(status: status))

    #expect(recorder.lines.map { $0.hasPrefix("\(level) ") } == [true])
  }
}
