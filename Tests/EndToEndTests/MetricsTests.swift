import Foundation
import PostgresTestSupport
import Testing

/// Tests of the metrics and logs of the built program.
@Suite struct MetricsTests {
  /// Returns the values of the metrics by series.
  private func metrics(_ driver: ServerDriver, headers: [String: String] = [:]) async throws -> [String: Double] {
    let response = try await driver.get("/metrics", headers: headers)
    #expect(response.status == 200)
    #expect(response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
    var values: [String: Double] = [:]
    for line in String(decoding: response.body, as: UTF8.self).split(separator: "\n") where !line.hasPrefix("#") {
      let end = try #require(line.lastIndex(of: " "))
      #expect(values.updateValue(try #require(Double(line[end...].dropFirst())), forKey: String(line[..<end])) == nil)
    }
    return values
  }

  @Test func requestsStoreAndProcessHaveMetrics() async throws {
    let server = try await WaymarkProcess(["serve", "--http-port", "0"])
    let driver = ServerDriver(port: try await server.port())
    for _ in 0..<3 { _ = try await driver.get("/locations?lat=37.3293&long=-121.8893&limit=1") }
    _ = try await driver.get("/locations?lat=north&long=0")
    _ = try await driver.get("/nothing/at/all")
    _ = try await driver.send("PROPFIND", "/locations")

    let metrics = try await metrics(driver)

    #expect(metrics["http_requests_total{method=\"GET\",route=\"/locations\",status=\"200\"}"] == 3)
    #expect(metrics["http_requests_total{method=\"GET\",route=\"/locations\",status=\"400\"}"] == 1)
    #expect(metrics["http_requests_total{method=\"GET\",route=\"none\",status=\"404\"}"] == 1)
    #expect(metrics["http_requests_total{method=\"other\",route=\"/locations\",status=\"405\"}"] == 1)
    #expect(metrics["http_request_duration_seconds_count{method=\"GET\",route=\"/locations\"}"] == 4)
    #expect(metrics["store_call_duration_seconds_count{operation=\"page\",outcome=\"ok\"}"] == 3)
    #expect(try #require(metrics["memory_store_places"]) >= 200)
    #expect(try #require(metrics["http_connections_open"]) >= 1)
    #expect(metrics["http_requests_in_flight"] == 1)
    #expect(metrics["analytics_dropped_searches_total"] == 0)
    #expect(try #require(metrics["process_resident_memory_bytes"]) > 1_000_000)
    #expect(metrics.keys.contains { $0.hasPrefix("waymark_build_info{version=") })
  }

  @Test(.timeLimit(.minutes(5))) func connectionPoolHasMetrics() async throws {
    let database = try await TemporaryDatabase.make()
    let environment = ["DATABASE_URL": database.url, "DATABASE_POOL_SIZE": "3"]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())
    _ = try await driver.get("/locations?limit=1")

    // The service itself uses connections now and then, for the data version and the number of places.
    var metrics = try await metrics(driver)
    while metrics["database_pool_waiting_calls"] != 0 || metrics["database_pool_connections{state=\"busy\"}"] != 0 {
      try await Task.sleep(for: .milliseconds(20))
      metrics = try await self.metrics(driver)
    }

    #expect(metrics["database_pool_connections_limit"] == 3)
    #expect(1...3 ~= (try #require(metrics["database_pool_connections{state=\"idle\"}"])))
  }

  @Test(.timeLimit(.minutes(5))) func lastImportOfADataSetHasAMetricUntilItsPlacesAreDeleted() async throws {
    let database = try await TemporaryDatabase.make()
    let environment = ["DATABASE_URL": database.url]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let server = try await WaymarkProcess(["serve", "--http-port", "0"], environment: environment)
    let driver = ServerDriver(port: try await server.port())
    let series = #"source_last_import_timestamp_seconds{source="stops"}"#
    let start = Date.now.timeIntervalSince1970
    let imported = try await driver.importing(
      Data("id,name,lat,long\n1,A,1,2\n".utf8), as: "text/csv", query: "?source=stops&idField=id")
    let end = Date.now.timeIntervalSince1970
    // The database is asked at most every ten seconds.
    var seconds: Double?
    while seconds == nil { seconds = try await metrics(driver)[series] }
    let deleted = try await driver.send("DELETE", "/locations?source=stops&confirm=true")
    var last = seconds
    while let value = last, !value.isNaN { last = try await metrics(driver)[series] }

    #expect(try imported.report.created == 1)
    #expect((start - 1...end + 1).contains(try #require(seconds)))
    #expect(deleted.status == 200)
    #expect(last?.isNaN == true)
  }

  @Test func metricsNeedAKeyWhereReadingDoes() async throws {
    let folder = try TemporaryFolder()
    let created = try await WaymarkProcess.run(["keys", "create", "scraper", "--scope", "read"])
    let keys = try folder.write(created.output, to: "keys.txt")
    let key = try #require(created.log.firstMatch(of: /once: (\S+)/)).output.1
    let server = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: ["API_KEYS_FILE": keys, "READ_REQUIRES_KEY": "true"])
    let driver = ServerDriver(port: try await server.port())

    let closed = try await driver.get("/metrics")
    let metrics = try await metrics(driver, headers: ["Authorization": "Bearer \(key)"])

    #expect(closed.status == 401)
    #expect(!metrics.isEmpty)
  }

  @Test func logHasEachRequestWithoutItsKeyAndCoordinate() async throws {
    let folder = try TemporaryFolder()
    let log = ["ACCESS_LOG": "true", "LOG_LEVEL": "trace"]
    let secret = "postgresql://waymark:Tr0ub4dor@127.0.0.1:1/places?connect_timeout=1"
    let memory = try await WaymarkProcess(
      ["serve", "--http-port", "0", "--data-file", try folder.write("name,lat,long\nA,1,1\n", to: "a.csv")],
      environment: log)
    let away = try await WaymarkProcess(
      ["serve", "--http-port", "0", "--database-url", secret], environment: log)

    var output = ""
    for server in [memory, away] {
      let driver = ServerDriver(port: try await server.port())
      for target in [
        "/locations?lat=48.123456&long=16.654321", "/locations?lat=91.123456&long=16.654321",
        "/locations/check?lat=48.123456&long=16.654321&radius=5", "/nothing?lat=48.123456&long=16.654321",
      ] {
        let response = try await driver.get(
          target,
          headers: [
            "Authorization": "Bearer S3cretOfMine",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
          ])
        #expect(response.headers["server-timing"]?.contains("total;dur=") == true)
      }
      _ = try await server.logLine(with: "\"route\":\"none\"")
      server.send(SIGTERM)
      output += try await server.outcome().log
    }

    let found = output.split(separator: "\n").filter { line in
      line.contains("\"route\":\"/locations\"") && line.contains("\"status\":200")
    }
    #expect(found.count == 1)
    #expect(found.allSatisfy { $0.contains("\"trace-id\":\"4bf92f3577b34da6a3ce929d0e0e4736\"") })
    #expect(output.contains("\"status\":503"))
    for hidden in ["123456", "654321", "48.123", "16.654", "S3cretOfMine", "Tr0ub4dor"] {
      #expect(!output.contains(hidden), "\(hidden)")
    }
  }
}
