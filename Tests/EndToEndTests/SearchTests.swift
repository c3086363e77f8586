import Foundation
import PostgresTestSupport
import Testing
import WaymarkClient

/// Tests of the search by name against the built program.
@Suite struct SearchTests {
  /// A file of places, of which some have names in several languages and an address.
  private func file(in folder: TemporaryFolder) throws -> String {
    try folder.write(
      #"""
      {"name":"Rathaus","category":"townhall","lat":53.0758,"long":8.8072,"tags":{"name:en":"Town Hall",\#
      "addr:street":"Am Markt","addr:housenumber":"21","addr:city":"Bremen","addr:country":"DE"}}
      {"name":"Rathaus Apotheke","category":"pharmacy","lat":53.077,"long":8.808}
      {"name":"Café Rathaus","category":"cafe","lat":48.1374,"long":11.5755}
      {"name":"서울역","category":"station","lat":37.5547,"long":126.9707,"tags":{"name:en":"Seoul Station"}}
      """#, to: "places.ndjson")
  }

  private func server(_ folder: TemporaryFolder, _ environment: [String: String] = [:]) async throws -> WaymarkProcess {
    try await WaymarkProcess(
      ["serve", "--http-port", "0", "--data-file", try file(in: folder)], environment: environment)
  }

  @Test func clientSearchesSuggestsAndFindsTheNearestPlace() async throws {
    let folder = try TemporaryFolder()
    let process = try await server(folder)
    let url = try #require(URL(string: "http://127.0.0.1:\(try await process.port())"))
    let waymark = Waymark(baseURL: url, configuration: .withoutTotalTimeout)
    let bremen = try Coordinate(latitude: 53.0758, longitude: 8.8073)

    let matches = try await waymark.search("rathaus", near: bremen, languages: ["de"]).firstPage()
    let english = try await waymark.search("town hall", languages: ["en"]).firstPage()
    let suggestions = try await waymark.suggestions(for: "pharm")
    let nearest = try await waymark.nearestPlace(to: bremen, languages: ["fr"])
    let none = try await waymark.nearestPlace(to: try Coordinate(latitude: 0, longitude: 0), radius: 10)

    #expect(matches.map(\.place.name).first == "Rathaus")
    #expect(matches.count == 3)
    #expect(matches.first?.name?.key == "name")
    #expect(matches.allSatisfy { $0.score != nil && $0.place.version == nil && $0.place.distanceMetres != nil })
    #expect(english.map(\.place.name) == ["Town Hall"])
    #expect(english.first?.place.localName == "Rathaus")
    #expect(english.first?.name?.key == "name:en")
    #expect(suggestions.first == .category(CategoryCount(category: "pharmacy", label: "Pharmacy", count: 1)))
    #expect(nearest?.label == "Rathaus, Am Markt 21, Bremen")
    #expect(none == nil)
  }

  @Test func commandPrintsATable() async throws {
    let folder = try TemporaryFolder()
    let process = try await server(folder)
    let url = "http://127.0.0.1:\(try await process.port())"

    let near = try await WaymarkProcess.run(
      ["search", "rathaus", "--near", "53.0758,8.8072", "--limit", "2", "--url", url])
    let english = try await WaymarkProcess.run(["search", "seoul", "station", "--lang", "en", "--url", url])
    let none = try await WaymarkProcess.run(["search", "xyzzy", "--url", url])
    let invalid = try await WaymarkProcess.run(["search", "a", "--near", "91,1", "--url", url])
    let rejected = try await WaymarkProcess.run(["search", "!", "--url", url])

    let lines = near.output.split(separator: "\n")
    #expect(near.status == 0)
    #expect(lines.count == 3)
    #expect(lines.first?.hasPrefix("DISTANCE  NAME") == true)
    #expect(lines.dropFirst().first?.contains(/^ +0 m  Rathaus +townhall +[0-9a-f-]{36}$/) == true)
    #expect(english.output.contains(/^NAME .*\nSeoul Station  station/))
    #expect(none.status == 1)
    #expect(none.log.contains("no place was found"))
    #expect(invalid.status == 64)
    #expect(rejected.status == 1)
    #expect(rejected.log.contains("q must have a letter or a digit"))
  }

  @Test func serverHasTheCallsOfPhoton() async throws {
    let folder = try TemporaryFolder()
    let process = try await server(folder)
    let driver = ServerDriver(port: try await process.port())

    #expect(try await driver.get("/api?q=rathaus").status == 200)
    #expect(try await driver.get("/reverse?lat=53.0758&lon=8.8072").status == 200)
  }

  @Test func metricsHaveTheRoutesAndTheOperation() async throws {
    let folder = try TemporaryFolder()
    let process = try await server(folder)
    let driver = ServerDriver(port: try await process.port())
    for target in ["/locations?q=rathaus", "/locations/suggest?q=rat", "/locations/reverse?lat=1&long=1"] {
      #expect(try await driver.get(target).status == 200)
    }

    let text = String(decoding: try await driver.get("/metrics").body, as: UTF8.self)

    #expect(text.contains(#"route="/locations/suggest""#))
    #expect(text.contains(#"route="/locations/reverse""#))
    #expect(text.contains(#"operation="matches",outcome="ok""#))
    #expect(!text.contains("rathaus"))
  }

  @Test func databaseWithAnIndexIsSearchedAndWithoutOneTheSettingIsNamed() async throws {
    let database = try await TemporaryDatabase.make()
    let folder = try TemporaryFolder()
    let environment = ["DATABASE_URL": database.url]
    _ = try await WaymarkProcess.run(["migrate"], environment: environment)
    let imported = try await WaymarkProcess.run(["import", try file(in: folder)], environment: environment)
    let texts = [
      "POINT_INDEX": "on", "ANALYTICS": "postgres", "ANALYTICS_SEARCH_TEXTS": "true",
    ]
    let indexed = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: environment.merging(texts) { $1 })
    _ = try await indexed.logLine(with: "the index is built")
    let plain = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: environment.merging(["POINT_INDEX": "off"]) { $1 })
    let plainDriver = ServerDriver(port: try await plain.port())
    let driver = ServerDriver(port: try await indexed.port())

    let found = try await driver.get("/locations?q=town+hall&lang=en")
    let rejected = try await plainDriver.get("/locations?q=town+hall")
    let nearest = try await plainDriver.get("/locations/reverse?lat=53.0758&long=8.8072&fields=label&lang=fr")
    for text in ["Xyzzy!", "xyzzy", "xyzzy", "XYZZY", "xyzzy", "rare", "rare", "rare", "rare"] {
      _ = try await driver.get("/locations?q=\(text)")
    }
    indexed.send(SIGTERM)
    _ = try await indexed.outcome()
    let reporting = try await WaymarkProcess(
      ["serve", "--http-port", "0"], environment: environment.merging(texts) { $1 })
    let report = try await ServerDriver(port: try await reporting.port()).get("/analytics/searches")

    #expect(imported.status == 0)
    #expect(String(decoding: found.body, as: UTF8.self).contains(#""name":"Town Hall""#))
    #expect(rejected.status == 501)
    #expect(String(decoding: rejected.body, as: UTF8.self).contains("POINT_INDEX"))
    #expect(String(decoding: nearest.body, as: UTF8.self) == #"{"label":"Rathaus, Am Markt 21, Bremen"}"#)
    #expect(
      String(decoding: report.body, as: UTF8.self)
        .contains(#""textsFoundNothing":[{"text":"xyzzy","searches":5,"foundNothing":5}]"#))
  }
}
