import Foundation
import HTTPTestSupport
import PointFormats
import Points
import Testing

/// Tests of bulk import and export over HTTP, with the built program.
struct BulkTests {
  /// Places that are difficult to represent in the formats.
  private static let hardPlaces = #"""
    {"name":"\u0022quoted\u0022, with a comma","lat":1,"long":1,"tags":{"":"","a\nb":"\u0001\r\n\t\\'"}}
    {"name":"=1+1","category":"@","lat":-0.0,"long":180,"tags":{"k":"+","lat":"not a latitude"},"source":"-","sourceId":"'="}
    {"name":"\ud83e\udded \ud834\udd1e \udbff\udffd e\u0301 \u00e9","lat":89.99999999999999,"long":-179.99999999999997}
    {"name":"no tags","lat":5e-324,"long":0.1,"tags":{},"source":"s","sourceId":"<&>"}

    """#

  @Test(.enabled(if: SharedData.isThere, Comment(rawValue: SharedData.absence)), arguments: StoreKind.allCases)
  func exportedPlacesImportedElsewhereAreEqual(kind: StoreKind) async throws {
    let source = try await EmptyStore(.memory).serving()
    for path in SharedData.files {
      let type = try #require(PointFormat(fileName: path)).mediaType
      let response = try await source.driver.importing(try Data(contentsOf: URL(filePath: path)), as: type)
      try #require(response.status == 200)
    }
    let hard = try await source.driver.importing(Data(Self.hardPlaces.utf8), as: PointFormat.ndjson.mediaType).report
    let expected = try await source.places()
    try #require((hard.created, expected.count) == (4, 21_372))

    for format in PointFormat.allCases {
      let target = try await EmptyStore(kind).serving()
      let export = try await source.driver.get("/locations/export?f=\(format.rawValue)")
      let report = try await target.driver.importing(export.body, as: format.mediaType).report

      #expect((report.created, report.rejected) == (21_372, 0), "\(format)")
      #expect(try await target.places() == expected, "\(format)")
    }
  }

  @Test(arguments: StoreKind.allCases, HostileRows.all)
  func invalidRowsAreReportedByNumberAndOthersImported(kind: StoreKind, rows: HostileRows) async throws {
    let server = try await EmptyStore(kind).serving()

    let report = try await server.driver.importing(rows.body, as: rows.format.mediaType).report

    #expect(report.errors.map(\.row) == rows.bad)
    #expect(report.errors.allSatisfy { (1...500).contains($0.detail.utf8.count) })
    #expect((report.created, report.rejected) == (rows.good, rows.bad.count))
    #expect(try await server.driver.get("/locations").places.map(\.name).sorted() == ["first", "last"])
  }

  @Test(arguments: StoreKind.allCases, ["partial", "atomic"])
  func interruptedUploadImportsNothing(kind: StoreKind, mode: String) async throws {
    let store = try await EmptyStore(kind)
    let before = try await store.serving()
    let known = #"{"name":"known","lat":1,"long":1,"source":"s","sourceId":"0"}"#
    _ = try await before.driver.importing(Data(known.utf8), as: PointFormat.ndjson.mediaType)
    let rows = (0..<5_000).map { #"{"name":"new","lat":1,"long":1,"source":"s","sourceId":"\#($0)"}"# + "\n" }.joined()

    for isReset in [false, true] {
      let connection = try await RawHTTPConnection.open(port: before.port)
      try await connection.send(
        """
        POST /locations/import?mode=\(mode) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-ndjson\r
        Content-Length: \(rows.utf8.count + 1)\r\n\r\n\(rows)
        """)
      if isReset { connection.reset() } else { connection.shutdownSending() }
      if !isReset { _ = try? await connection.rest() }
    }
    // A clean shutdown waits for everything in progress.
    before.process.send(SIGTERM)
    let outcome = try await before.process.outcome()
    let after = try await store.serving()
    let places = try await after.driver.get("/locations?fields=*").places

    #expect(outcome.status == 0)
    #expect(places.map(\.name) == ["known"])
  }
}

/// A server with a client.
private struct ServedStore {
  let process: WaymarkProcess
  let port: Int
  let driver: ServerDriver
  let store: EmptyStore

  /// Returns all places with their ids, by id: an export without times and versions.
  func places() async throws -> [ImportRow] {
    let export = try await driver.get("/locations/export?f=ndjson")
    let reader = PointFileReader([export.body].async, parser: PointParser(format: .ndjson)) { row in
      Issue.record("row \(row.number) can't be read: \(row.detail)")
    }
    var rows: [ImportRow] = []
    for try await batch in reader { rows += batch }
    return rows
  }
}

extension EmptyStore {
  /// Starts a server on the store, and waits until it is ready.
  fileprivate func serving() async throws -> ServedStore {
    let process = try await serve()
    let port = try await process.port()
    return ServedStore(process: process, port: port, driver: ServerDriver(port: port), store: self)
  }
}

extension Array where Element: Sendable {
  fileprivate var async: AsyncStream<Element> {
    AsyncStream { continuation in
      for element in self { continuation.yield(element) }
      continuation.finish()
    }
  }
}
