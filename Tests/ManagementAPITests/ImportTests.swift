import Basics
import Gzip
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@Suite struct ImportTests {
  private let store = MemoryStore()
  private var driver: ServiceDriver { ServiceDriver(writing: store) }
  private let rows = """
    {"name":"a","lat":1,"long":2,"source":"s","sourceId":"1"}
    {"name":"b","lat":191,"long":2}
    {"name":"c","lat":1,"long":2,"source":"s","sourceId":"2"}
    """

  private func send(
    _ body: String, as type: String = "application/x-ndjson", query: String = ""
  ) async throws -> ServiceDriver.Response {
    try await driver.send(.POST, "/locations/import\(query)", headers: ["content-type": type], json: body)
  }

  @Test func validRowsAreImportedAndInvalidOnesReported() async throws {
    let response = try await send(rows)

    #expect(response.status == 200)
    #expect(
      response.text == """
        {"created":2,"updated":0,"unchanged":0,"rejected":1,\
        "errors":[{"row":2,"line":2,"detail":"/lat must be a number from -90 to 90, got '191'"}]}
        """)
    #expect(try await Set(store.allPoints().map(\.draft.name)) == ["a", "c"])
  }

  @Test func licenceIsATextOfASource() async throws {
    let longest = String(repeating: "x", count: DataSource.maximumLength)
    let row = #"{"name":"a","lat":1,"long":2,"id":"1"}"#

    #expect(try await send(row, query: "?source=s&licence=\(longest)").status == 200)
    let tooLong = try await send(row, query: "?source=s&licence=\(longest)x")
    let ofNoSource = try await send(row, query: "?licence=L")

    for response in [tooLong, ofNoSource] {
      #expect(response.status == 400)
      #expect(try response.parameters == ["licence"])
    }
  }

  @Test func attributionOfAPlaceIsThatOfItsSourceOrElseItsLicenceOrName() async throws {
    let row = #"{"name":"a","lat":1,"long":2,"id":"1"}"#
    _ = try await send(row, query: "?source=a&licence=L&attribution=A")
    _ = try await send(row, query: "?source=b&licence=L")
    _ = try await store.importRows([.sample("c", 1, 2, source: "c", sourceID: "1")])

    let response = try await driver.send(.GET, "/locations?fields=source,attribution")

    for text in [
      #""source":"a","attribution":"A""#, #""source":"b","attribution":"L""#, #""source":"c","attribution":"c""#,
    ] {
      #expect(response.text.contains(text))
    }
  }

  @Test func rowsAreMatchedByTheirOrigin() async throws {
    _ = try await send(rows)

    let response = try await send(#"{"name":"a","lat":1,"long":2,"source":"s","sourceId":"1"}"#)
    let changed = try await send(#"{"name":"a2","lat":1,"long":2,"source":"s","sourceId":"1"}"#)

    #expect(try response.object["unchanged"] as? Int == 1)
    #expect(try changed.object["updated"] as? Int == 1)
  }

  @Test func aReplacementKeepsThePlaceOfARejectedRow() async throws {
    for id in 1...4 {
      try await store.importRows([.sample("old", 1, 2, source: "s", sourceID: "\(id)")])
    }
    let csv = """
      id,name,lat,long
      1,new,1,2
      2,bad latitude,191,2
      3,,1,2

      """
    let query = "?source=s&replaceSource=s"

    let tried = try await send(csv, as: "text/csv", query: "\(query)&dryRun=true")
    let atomic = try await send(csv, as: "text/csv", query: "\(query)&mode=atomic")
    let untouched = try await Set(store.allPoints().map(\.draft.name))
    let refused = try await send(csv + ",no id,1,2\n", as: "text/csv", query: "\(query)&maxDeletions=1")
    let replaced = try await send(csv, as: "text/csv", query: "\(query)&maxDeletions=1")

    #expect(atomic.status == 422 && atomic.text.contains(#""errors":[{"row":2,"#))
    #expect(untouched == ["old"])
    #expect(try refused.code == "too-many-deletions")
    #expect(refused.text.contains("1 rejected row without an id may be one more"))
    for response in [tried, replaced] {
      #expect(
        response.text.hasPrefix(
          #"{"created":0,"updated":1,"unchanged":0,"deleted":1,"kept":2,"rejected":2,"errors":[{"row":2,"#),
        "\(response.text)")
    }
    #expect(try await store.allPoints().compactMap(\.draft.origin?.sourceID).sorted() == ["1", "2", "3"])
  }

  @Test func nameFieldIsTheName() async throws {
    let row = #"{"name":"short","long_name":"The long name","lat":1,"long":2}"#

    let response = try await send(row, query: "?nameField=long_name")
    let invalid = try await send(row, query: "?nameField=lat")

    #expect(try response.object["created"] as? Int == 1)
    #expect(try await store.allPoints().map(\.draft.name) == ["The long name"])
    #expect(try await store.allPoints().map(\.draft.tags.dictionary) == [["name": "short"]])
    #expect(invalid.status == 400)
    #expect(try invalid.parameters == ["nameField"])
  }

  @Test func atomicImportImportsAllRowsOrNone() async throws {
    let rejected = try await send(rows, query: "?mode=atomic")
    let left = store.count
    let taken = try await send(#"{"name":"a","lat":1,"long":2}"#, query: "?mode=atomic")

    #expect(rejected.status == 422)
    #expect(try rejected.code == "invalid-place")
    #expect(rejected.text.contains(#""errors":[{"row":2,"#))
    #expect(left == 0)
    #expect(try taken.object["created"] as? Int == 1)
  }

  @Test(arguments: [
    ("https://example.org/a?b#c", 200), ("http://example.org", 200), ("javascript:alert(1)", 400),
    ("//example.org", 400), ("https://", 400), ("https:///a", 400), ("https://example.org/%20a", 400),
  ])
  func addressOfAnAttributionMustBeALink(address: String, status: Int) async throws {
    let escaped = address.replacing("#", with: "%23").replacing("?", with: "%3F")

    let response = try await send(rows, query: "?source=s&attributionUrl=\(escaped)")

    #expect(response.status == status)
    if status == 400 { #expect(try response.parameters == ["attributionUrl"]) }
  }

  @Test func anAtomicImportListsUpToAHundredRowsWithTheirLines() async throws {
    let some = try await send(rows + "\n\n{}\n", query: "?mode=atomic")
    let many = try await send(String(repeating: "{}\n", count: 5000), query: "?mode=atomic")

    #expect(some.text.contains(#""errors":[{"row":2,"line":2,"#) && some.text.contains(#"{"row":4,"line":5,"#))
    #expect(try (many.object["errors"] as? [Any])?.count == 100)
    #expect(store.count == 0)
  }

  @Test func aRowThatTheStoreRejectsIsNamedByItsLine() async throws {
    let row = #"{"name":"a","lat":1,"long":2,"source":"s","sourceId":"1"}"#

    let next = row.replacing("\"a\"", with: "\"b\"")

    let partial = try await send("\(row)\n\n\(next)\n")
    let atomic = try await send("\n\n\(row)\n\(next)\n", query: "?mode=atomic")

    #expect(partial.text.contains(#""errors":[{"row":1,"line":1,"detail":"means the same place as row 2"#))
    #expect(atomic.text.contains(#""errors":[{"row":1,"line":3,"#))
  }

  @Test func aSourceMakesRepeatedImportsUpdateTheirPlaces() async throws {
    let feature =
      #"{"type":"Feature","id":"node/1","geometry":{"type":"Point","coordinates":[2,1]},"properties":{"name":"x"}}"#

    let bare = try await send(feature, as: "application/geo+json")
    let first = try await send(feature, as: "application/geo+json", query: "?source=osm")
    let second = try await send(feature, as: "application/geo+json", query: "?source=osm")
    let csv = try await send("name,lat,long,ref\na,1,2,7\n", as: "text/csv", query: "?source=s&idField=ref")

    #expect(try (bare.object["warnings"] as? [String])?.first?.contains("a source for all rows") == true)
    #expect(try first.object["created"] as? Int == 1)
    #expect(try first.object["warnings"] == nil)
    #expect(try second.object["unchanged"] as? Int == 1)
    #expect(try csv.object["created"] as? Int == 1)
    #expect(
      try await Set(store.allPoints().compactMap(\.draft.origin))
        == [.init(source: "osm", sourceID: "node/1"), .init(source: "s", sourceID: "7")])
  }

  @Test func unknownFieldsAreTagsUnlessTheyAreToBeRejected() async throws {
    let row = #"{"name":"a","lat":1,"long":2,"height":3}"#

    let rejected = try await send(row, query: "?unknownFields=reject")
    let taken = try await send(row)

    #expect(try rejected.object["rejected"] as? Int == 1)
    #expect(try taken.object["created"] as? Int == 1)
    #expect(try await store.allPoints().map(\.draft.tags.json) == [#"{"height":"3"}"#])
  }

  @Test func dryRunReportsWithoutChanging() async throws {
    let response = try await send(rows, query: "?dryRun=true")

    #expect(try response.object["created"] as? Int == 2)
    #expect(store.count == 0)
  }

  @Test(arguments: [
    ("text/csv", "name,lat,long\na,1,2\n"), ("text/csv; charset=utf-8", "\u{FEFF}name,lat,long\r\na,1,2\r\n"),
    ("application/json", #"[{"name":"a","lat":1,"long":2}]"#),
    (
      "application/geo+json",
      #"{"type":"Feature","properties":{"name":"a"},"geometry":{"type":"Point","coordinates":[2,1]}}"#
    ),
    (
      "application/geo+json-seq",
      "\u{1E}" + #"{"type":"Feature","properties":{"name":"a"},"geometry":{"type":"Point","coordinates":[2,1]}}"# + "\n"
    ),
  ])
  func importFormatIsThatOfTheContentType(type: String, body: String) async throws {
    let response = try await send(body, as: type)

    #expect(try response.object["created"] as? Int == 1)
  }

  @Test(arguments: ["text/csv; charset=iso-8859-2", "text/csv;header=present; CHARSET=\"ISO-8859-2\""])
  func theDeclaredEncodingOfAnImportIsObeyed(type: String) async throws {
    let body = Array("name,lat,long\n".utf8) + [0xA3, 0xF3, 0x64, 0xBC] + Array(",51.77,19.47\n".utf8)

    let response = try await driver.send(
      .POST, "/locations/import", headers: ["content-type": type], body: ByteBuffer(bytes: body))

    #expect(try response.object["created"] as? Int == 1, "\(response.text)")
    #expect(try await driver.send(.GET, "/locations").names == ["Łódź"])
  }

  @Test(arguments: [
    ("/locations/import", "text/csv; charset=iso-8859-77"), ("/locations/import", "application/json; charset=klingon"),
    ("/locations", "application/json; charset=iso-8859-2"), ("/locations", "application/json;charset=utf-16"),
    ("/areas/import", "application/geo+json; charset=latin1"), ("/locations/search", "application/json; charset=x"),
  ])
  func anEncodingThatIsNotReadIs415(target: String, type: String) async throws {
    let response = try await driver.send(
      .POST, target, headers: ["content-type": type], body: ByteBuffer(string: #"{"name":"a","lat":1,"long":2}"#))

    #expect(response.status == 415, "\(response.text)")
    #expect(response.text.contains("charset"), "\(response.text)")
  }

  @Test(arguments: ["application/json; charset=UTF-8", "application/json; charset=us-ascii", "application/json;v=1"])
  func aBodyThatIsDeclaredToBeInUTF8IsRead(type: String) async throws {
    let response = try await driver.send(
      .POST, "/locations", headers: ["content-type": type],
      body: ByteBuffer(string: #"{"name":"a","lat":1,"long":2}"#))

    #expect(response.status == 201, "\(response.text)")
  }

  @Test func gzippedImportIsDecompressed() async throws {
    let encoder = try GzipEncoder()
    var gzip: [UInt8] = []
    Array(rows.utf8).withUnsafeBytes { encoder.encode($0, into: &gzip) }
    encoder.finish(into: &gzip)
    let headers: HTTPHeaders = ["content-type": "application/x-ndjson", "content-encoding": "gzip"]

    let whole = try await driver.send(
      .POST, "/locations/import", headers: headers, body: ByteBuffer(bytes: gzip))
    let cut = try await driver.send(
      .POST, "/locations/import", headers: headers, body: ByteBuffer(bytes: gzip.dropLast(9)))

    #expect(try whole.object["created"] as? Int == 2)
    #expect(cut.status == 400)
    #expect(try cut.code == "malformed-body")
  }

  @Test(arguments: [
    ("text/csv", "name,lat\na,1\n"), ("application/geo+json", #"{"type":"FeatureCollection","features":["#),
  ])
  func unreadableImportImportsNothing(type: String, body: String) async throws {
    let response = try await send(body, as: type)

    #expect(response.status == 400)
    #expect(try response.code == "malformed-body")
    #expect(store.count == 0)
  }

  @Test func otherMediaTypesAndCodingsAreRejected() async throws {
    let type = try await send(rows, as: "text/plain")
    let coding = try await driver.send(
      .POST, "/locations/import", headers: ["content-type": "text/csv", "content-encoding": "br"], json: "")

    #expect(type.status == 415)
    #expect(type.headers.contains(name: "accept-post"))
    #expect(coding.status == 415)
    #expect(coding.headers["accept-encoding"] == ["gzip"])
  }

  @Test(arguments: [
    "?mode=some", "?dryRun=maybe", "?limit=3", "?unknownFields=keep", "?idField=ref", "?source=",
    "?source=s&idField=lat",
  ])
  func parametersAreChecked(query: String) async throws {
    let response = try await send(rows, query: query)

    #expect(response.status == 400)
  }
}

@Suite struct ExportTests {
  private let store = MemoryStore(clock: FixedClock(Timestamp(microsecondsSinceEpoch: 0)))
  private var driver: ServiceDriver { ServiceDriver(writing: store) }

  private func fill() async throws {
    let rows = """
      {"id":"0199a1b2-0000-7000-8000-000000000001","name":"é, \\"𝄞\\"","category":"cafe","lat":1,"long":2,"tags":{"a":"","b":"x\\r\\ny, \\"z\\""}}
      {"id":"0199a1b2-0000-7000-8000-000000000002","name":"=b","lat":0.1,"long":-2,"source":"s","sourceId":"1"}
      """
    _ = try await driver.send(
      .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"], json: rows)
  }

  @Test(arguments: ["ndjson", "geojson", "geojsonseq", "csv", "json"])
  func exportImportedIntoAnotherStoreIsEqual(format: String) async throws {
    try await fill()
    let elsewhere = MemoryStore(clock: FixedClock(Timestamp(microsecondsSinceEpoch: 0)))

    let export = try await driver.send(.GET, "/locations/export?f=\(format)")
    let type = try #require(export.headers.first(name: "content-type"))
    _ = try await ServiceDriver(writing: elsewhere)
      .send(.POST, "/locations/import", headers: ["content-type": type], body: ByteBuffer(bytes: export.body))

    #expect(export.status == 200)
    #expect(store.count == 2)
    #expect(try await elsewhere.allPoints() == store.allPoints())
  }

  @Test func exportIsGzippedForClientsThatAcceptIt() async throws {
    try await fill()

    let plain = try await driver.send(.GET, "/locations/export", headers: ["accept-encoding": "gzip;q=0, br"])
    let zipped = try await driver.send(.GET, "/locations/export", headers: ["accept-encoding": "br, gzip"])
    let (_, text) = try Array(zipped.body).withUnsafeBytes { try GzipDecoder().decode($0, atMost: 1 << 16) }

    #expect(plain.headers["content-encoding"].isEmpty)
    #expect(plain.headers["content-type"] == ["application/x-ndjson"])
    #expect(zipped.headers["content-encoding"] == ["gzip"])
    #expect(Array(plain.body) == text)
  }

  @Test func filtersApplyToExports() async throws {
    try await fill()

    let response = try await driver.send(.GET, "/locations/export?category=cafe")

    #expect(response.text.split(separator: "\n").count == 1)
  }

  @Test(arguments: [("?f=xml", "", 400), ("?limit=3", "", 400), ("", "image/png", 406), ("", "text/csv", 200)])
  func invalidExportParametersAreRejected(query: String, accept: String, status: Int) async throws {
    let headers = HTTPHeaders(accept.isEmpty ? [] : [("accept", accept)])

    let response = try await driver.send(.GET, "/locations/export\(query)", headers: headers)

    #expect(response.status == status)
  }
}
