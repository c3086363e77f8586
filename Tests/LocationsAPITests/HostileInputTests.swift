import Foundation
import Gzip
import MemoryStore
import NIOCore
import NIOHTTP1
import ServiceTestSupport
import TestSupport
import Testing

/// Hostile input: injections, invalid UTF-8 and decompression bombs.
@Suite struct HostileInputTests {
  private static let sql = [
    "'; DROP TABLE points; --", "1 OR 1=1", "1); SELECT pg_sleep(10); --", "' UNION SELECT version() --", "$1", "\\'",
    "%' OR '%'='", "E'\\\\x27'", "0x31303235343830303536",
  ]

  private static func encoded(_ text: String) throws -> String {
    try #require(text.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
  }

  private static func driver() async throws -> ServiceDriver {
    try await ServiceDriver(places: [.at(1, 1, name: "one", category: "cafe"), .at(2, 2, name: "two", category: "bar")])
  }

  // MARK: SQL

  @Test(arguments: sql) func sqlInTypedParametersIsRejected(text: String) async throws {
    let driver = try await Self.driver()
    let value = try Self.encoded(text)

    for name in ["lat", "long", "radius", "limit", "bbox", "cursor", "fields", "f"] {
      let others = [("lat", "1"), ("long", "1")].filter { $0.0 != name }.map { "&\($0.0)=\($0.1)" }.joined()
      let response = try await driver.send(.GET, "/locations?\(name)=\(value)\(others)")
      #expect(response.status == 400, "\(name)")
      #expect(try response.parameters.contains(name))
    }
    for target in ["/locations/\(value)", "/locations?\(value)=1", "/locations/check?lat=\(value)&long=1"] {
      let response = try await driver.send(.GET, target)
      #expect(response.status == 400, "\(target)")
    }
  }

  @Test(arguments: sql) func sqlAsACategoryMatchesNoPlace(text: String) async throws {
    let driver = try await Self.driver()

    let response = try await driver.send(.GET, "/locations?category=\(try Self.encoded(text))")

    #expect(response.status == 200)
    #expect(try response.array.isEmpty)
  }

  @Test(arguments: sql) func sqlInAValueIsStoredUnchanged(text: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let place: [String: Any] = [
      "name": text, "lat": 1, "long": 2, "category": text, "tags": [text: text], "source": text, "sourceId": text,
    ]
    let json = String(decoding: try JSONSerialization.data(withJSONObject: place), as: UTF8.self)

    let response = try await driver.send(.POST, "/locations", json: json)

    #expect(response.status == 201)
    #expect(try response.object["name"] as? String == text)
    #expect(try response.object["tags"] as? [String: String] == [text: text])
  }

  // MARK: Headers

  @Test(arguments: ["\r\nX-Injected: 1", "\n", "\u{0}", "\u{1B}[31m", "é\u{2028}", "\"><script>"])
  func inputCannotInjectResponseHeaderFields(text: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let place: [String: Any] = ["name": "a", "lat": 1, "long": 2, "tags": ["k\(text)": "v\(text)"]]
    let json = String(decoding: try JSONSerialization.data(withJSONObject: place), as: UTF8.self)

    let created = try await driver.send(.POST, "/locations", json: json)
    let rejected = try await driver.send(
      .POST, "/locations", json: String(decoding: try JSONEncoder().encode(["name": "a\(text)b"]), as: UTF8.self))
    let listed = try await Self.driver().send(
      .GET, "/locations?limit=1&category=cafe,bar,\(try Self.encoded("x\(text)"))")
    let missing = try await driver.send(.GET, "/\(try Self.encoded(text))")

    for response in [created, rejected, listed, missing] {
      for (name, value) in response.headers {
        #expect(value.utf8.allSatisfy { (0x20..<0x7F).contains($0) }, "\(name)")
        #expect(!value.contains("Injected: 1") && !value.contains("<script"))
      }
    }
    if created.status == 201 {
      #expect(created.headers.first(name: "location")?.wholeMatch(of: /locations\/[0-9a-f-]{36}/) != nil)
    }
  }

  // MARK: JSON

  @Test(arguments: [
    ("deep arrays", LongText.repeated("[", count: 100_000)),
    ("deep objects", .repeated(#"{"a":"#, count: 100_000)),
    ("deep tags", #"{"name":"a","lat":1,"long":2,"tags":"# + .repeated("[", count: 10_000)),
    ("bare word", "nan"), ("half a pair of surrogates", #"{"name":"\ud800"}"#), ("nothing", ""),
    ("two values", "{}{}"), ("a mark of order", "\u{FEFF}{}"),
  ])
  func malformedJSONIsRejected(name: String, json: LongText) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    for (method, target) in [
      (HTTPMethod.POST, "/locations"), (.PUT, "/locations/0199a1b2-0000-7000-8000-000000000000"),
    ] {
      let response = try await driver.send(method, target, json: json.text)
      #expect(response.status == 400)
      #expect(try response.code == "malformed-body")
    }
  }

  @Test(arguments: [
    "1e400", "-1e400", "1" + String(repeating: "0", count: 5000), "9e99999999999999999999",
    "0." + String(repeating: "0", count: 5000) + "1e5009",
  ])
  func hugeNumbersAreOutOfRangeOrExact(number: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())

    let response = try await driver.send(.POST, "/locations", json: #"{"name":"a","long":0,"lat":\#(number)}"#)

    #expect(response.status == 422 || response.status == 400)
    #expect(response.body.count < 1000)
  }

  @Test func bytesThatAreNotUTF8AreRejectedEverywhere() async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let invalid: [[UInt8]] = [[0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82]]

    for bytes in invalid {
      for (before, after) in [
        (#"{"name":""#, #"","lat":1,"long":2}"#), (#"{"name":"a","lat":1,"long":2,"tags":{""#, #"":"v"}}"#),
      ] {
        let body = ByteBuffer(bytes: Array(before.utf8) + bytes + Array(after.utf8))
        let place = try await driver.send(
          .POST, "/locations", headers: ["content-type": "application/json"], body: body)
        let row = try await driver.send(
          .POST, "/locations/import", headers: ["content-type": "application/x-ndjson"], body: body)

        #expect([400, 422].contains(place.status))
        #expect(row.status == 200)
        #expect(try row.object["rejected"] as? Int == 1)
      }
    }
  }

  @Test(arguments: [
    "application/x-ndjson", "application/geo+json", "application/geo+json-seq", "text/csv", "application/json",
  ])
  func malformedImportIsRejectedOrItsRowsReported(type: String) async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let texts = [
      String(repeating: "[", count: 200_000), String(repeating: #"{"a":"#, count: 50_000), "\u{1E}\u{1E}\u{1E}",
      String(repeating: "\"", count: 9999), String(repeating: ",", count: 9999), "\u{0}",
      #"{"type":"FeatureCollection"}"#,
    ]

    for text in texts {
      let response = try await driver.send(.POST, "/locations/import", headers: ["content-type": type], json: text)
      #expect([200, 400].contains(response.status), "\(text.prefix(20))")
      if response.status == 200 { #expect(try response.object["created"] as? Int == 0) }
    }
  }

  // MARK: Bombs

  @Test func decompressionBombIsRejectedAndNothingImported() async throws {
    let store = MemoryStore()
    let encoder = try GzipEncoder()
    var gzip: [UInt8] = []
    let row = Array(#"{"name":"a","lat":1,"long":2,"source":"s","sourceId":"1"}"#.utf8) + [UInt8(ascii: "\n")]
    row.withUnsafeBytes { encoder.encode($0, into: &gzip) }
    let blanks = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
    for _ in 0..<25 { blanks.withUnsafeBytes { encoder.encode($0, into: &gzip) } }
    encoder.finish(into: &gzip)

    let response = try await ServiceDriver(writing: store).send(
      .POST, "/locations/import", headers: ["content-type": "application/x-ndjson", "content-encoding": "gzip"],
      body: ByteBuffer(bytes: gzip))

    #expect(gzip.count < 50_000)
    #expect(response.status == 413)
    #expect(try response.code == "body-too-large")
    #expect(store.count == 0)
  }

  @Test func doublyCompressedPlaceIsRejected() async throws {
    let response = try await ServiceDriver(writing: MemoryStore()).send(
      .POST, "/locations/import",
      headers: ["content-type": "application/x-ndjson", "content-encoding": "gzip, gzip"], body: ByteBuffer(bytes: [1]))

    #expect(response.status == 415)
  }

  // MARK: Spreadsheets

  @Test(arguments: ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "'=1", "=HYPERLINK(\"http://a\")"])
  func formulasAreExportedAsTextInCSV(text: String) async throws {
    let driver = try await ServiceDriver(places: [.at(1, 1, name: text, category: text, tags: ["k": text])])

    let csv = try await driver.send(.GET, "/locations?f=csv").text
    let list = try await driver.send(.GET, "/locations").array

    for cell in csv.split(separator: "\n").dropFirst().joined().split(separator: ",") {
      #expect(cell.drop { $0 == "\"" }.first.map { !"=+@".contains($0) } ?? true, "\(cell)")
    }
    #expect(list[0]["name"] as? String == text)
  }
}
