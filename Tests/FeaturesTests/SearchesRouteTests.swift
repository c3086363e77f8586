import Basics
import Foundation
import Geo
import HTTPServer
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import Synchronization
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI
@testable import SearchAnalytics

@Suite struct SearchesRouteTests {
  /// 2026-11-21T10:15:00Z.
  private static let now = Timestamp(microsecondsSinceEpoch: 1_795_256_100_000_000)

  private let history = RecordingHistory()

  private func get(
    _ target: String, history: (any SearchHistory)?, access: AccessPolicy = AccessPolicy(keys: nil, isLoopback: true),
    headers: HTTPHeaders = [:]
  ) async throws -> ServiceDriver.Response {
    let router = LocationsAPI(
      .init(
        service: PointsService(store: StubStore()), access: AccessControl(access), clock: FixedClock(Self.now),
        version: "1")
    ).router { SearchReportCalls($0, history: history).endpoints }
    let response = await router.respond(to: ServiceDriver.request(.GET, target, headers: headers))
    return ServiceDriver.Response(
      target: target, status: Int(response.status.code), headers: response.headers,
      body: Data(try await response.body.collect().readableBytesView))
  }

  @Test func theReportIsOneObject() async throws {
    let response = try await get("/analytics/searches", history: history)

    #expect(response.status == 200)
    #expect(response.headers.first(name: "cache-control") == "no-store")
    #expect(
      response.text == """
        {"since":"2026-11-20T10:15:00Z","until":"2026-11-21T10:15:00Z","searches":7,"foundNothing":2,\
        "durationMs":{"p50":0.25,"p99":12.0},\
        "busiestCells":[{"lat":-12.34,"long":180.0,"searches":5,"foundNothing":1}],"cellsFoundNothing":[],\
        "categories":[{"category":"a\\"b","searches":3,"foundNothing":0}],\
        "hours":[{"hour":"2026-11-21T10:00:00Z","searches":7,"foundNothing":2}]}
        """)
    #expect(try response.object.count == 9)
  }

  @Test(arguments: [
    ("", "2026-11-20T10:15:00Z", "2026-11-21T10:15:00Z", 20),
    ("?since=PT1H&limit=3", "2026-11-21T09:15:00Z", "2026-11-21T10:15:00Z", 3),
    ("?since=P2D&until=P1D", "2026-11-19T10:15:00Z", "2026-11-20T10:15:00Z", 20),
    ("?since=2026-01-01T00:00:00Z&until=2026-02-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z", 20),
    ("?until=2026-02-01T00:00:00Z", "2026-01-31T00:00:00Z", "2026-02-01T00:00:00Z", 20),
  ])
  func reportCoversThePeriodOfTheParameters(query: String, since: String, until: String, limit: Int) async throws {
    _ = try await get("/analytics/searches\(query)", history: history)

    #expect(history.calls == ["\(since) \(until) \(limit)"])
  }

  @Test(arguments: [
    ("since=yesterday", "since"), ("since=PT", "since"), ("since=P1Y", "since"), ("until=2026-11-21", "until"),
    ("limit=0", "limit"), ("since=PT1H&until=PT2H", "since"),
    ("since=PT1H&until=PT1H", "since"), ("since=PT1H&since=PT2H", "since"), ("lat=1", "lat"),
  ])
  func invalidParametersAreReported(query: String, parameter: String) async throws {
    let response = try await get("/analytics/searches?\(query)", history: history)

    #expect(response.status == 400)
    #expect(try response.parameters == [parameter])
    #expect(history.calls.isEmpty)
  }

  @Test func withoutRecordedSearchesTheReportIs404WithAReason() async throws {
    let response = try await get("/analytics/searches", history: nil)

    #expect(response.status == 404)
    #expect(response.text.contains("ANALYTICS=postgres"))
  }

  @Test func reportNeedsAKeyWithAdminScope() async throws {
    var generator = SystemRandomNumberGenerator()
    let (writer, writerKey) = APIKey.generate(name: "w", scope: .write, using: &generator)
    let (admin, adminKey) = APIKey.generate(name: "a", scope: .admin, using: &generator)
    let access = AccessPolicy(keys: [writerKey, adminKey], isLoopback: false)

    var statuses: [Int] = []
    let attempts: [HTTPHeaders] = [
      [:], ["authorization": "Bearer \(writer)"], ["authorization": "Bearer \(admin)"],
    ]
    for headers in attempts {
      let response = try await get("/analytics/searches", history: history, access: access, headers: headers)
      statuses.append(response.status)
    }
    let keyless = try await get(
      "/analytics/searches", history: history, access: AccessPolicy(keys: nil, isLoopback: false))

    #expect(statuses == [401, 403, 200])
    #expect(keyless.status == 403)
  }

  @Test(arguments: [
    ("PT24H", 86_400), ("P1DT1H1M1S", 90_061), ("P2W", 1_209_600), ("PT0S", 0), ("P90D", 7_776_000),
  ])
  func durationsAreParsed(text: String, seconds: Int64) {
    #expect(Duration(iso8601: text) == .seconds(seconds))
  }

  @Test(arguments: [
    "", "P", "PT", "P1", "1D", "P1H", "PT1D", "P1DT", "P-1D", "P1M", "PT1.5H", "p1d", "P1W2D", "P9999999D",
  ])
  func invalidDurationsAreRejected(text: String) {
    #expect(Duration(iso8601: text) == nil)
  }
}

/// A history that returns one report and records the requested periods.
private final class RecordingHistory: SearchHistory {
  private let log = Mutex<[String]>([])

  var calls: [String] { log.withLock { $0 } }

  func searches(from start: Timestamp, until end: Timestamp, limit: Int) async throws(PointStoreError) -> SearchReport {
    log.withLock { $0.append("\(start) \(end) \(limit)") }
    var report = SearchReport()
    report.total = .init(searches: 7, foundNothing: 2)
    report.medianDuration = .microseconds(250)
    report.slowDuration = .milliseconds(12)
    report.busiestCells = [
      .init(
        Search.Cell(latitudeHundredths: -1234, longitudeHundredths: 18_000),
        count: .init(searches: 5, foundNothing: 1))
    ]
    report.categories = [.init(ExactText("a\"b"), count: .init(searches: 3))]
    report.hours = [
      .init(
        Timestamp(microsecondsSinceEpoch: 1_795_255_200_000_000), count: .init(searches: 7, foundNothing: 2))
    ]
    return report
  }
}
