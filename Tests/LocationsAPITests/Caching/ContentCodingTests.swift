import Foundation
import Gzip
import HTTPServer
import MemoryStore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import LocationsAPI

@Suite struct ContentCodingTests {
  private func driver(places: Int) async throws -> ServiceDriver {
    try await ServiceDriver(places: (0..<places).map { try .at(0, Double($0) / 100, name: "place number \($0)") })
  }

  private func unpacked(_ data: Data) throws -> Data {
    let decoder = try GzipDecoder()
    let (taken, bytes) = try data.withUnsafeBytes { try decoder.decode($0, atMost: 1 << 20) }
    #expect(taken == data.count)
    return Data(bytes)
  }

  @Test(arguments: [20, 1000], ["/locations?limit=1000", "/locations?limit=1000&f=csv"])
  func gzippedBodyDecodesToTheUncompressedBody(places: Int, target: String) async throws {
    let driver = try await driver(places: places)

    let plain = try await driver.send(.GET, target)
    let packed = try await driver.send(.GET, target, headers: ["accept-encoding": "gzip, deflate, br"])

    #expect(plain.headers["content-encoding"].isEmpty)
    #expect(packed.headers["content-encoding"] == ["gzip"])
    #expect(packed.body.count < plain.body.count)
    #expect(try unpacked(packed.body) == plain.body)
    // Weak: one tag for both.
    #expect(packed.headers["etag"] == plain.headers["etag"])
    #expect(packed.headers[canonicalForm: "vary"].contains("accept-encoding"))
    #expect(plain.headers[canonicalForm: "vary"].contains("accept-encoding"))
  }

  private func longPlace() async throws -> (driver: ServiceDriver, target: String) {
    let driver = ServiceDriver(writing: MemoryStore())
    let text = String(repeating: "opening hours ", count: 100)
    let created = try await driver.send(
      .POST, "/locations", json: #"{"name":"x","lat":1,"long":2,"tags":{"note":"\#(text)"}}"#)
    return (driver, "/locations/" + (try #require(created.object["id"] as? String)))
  }

  @Test(arguments: ["", "?f=geojson", "?f=csv", "?f=geojsonseq"])
  func gzippedPlaceHasItsOwnEntityTag(query: String) async throws {
    let (driver, target) = try await longPlace()

    let plain = try await driver.send(.GET, target + query)
    let packed = try await driver.send(.GET, target + query, headers: ["accept-encoding": "gzip"])

    #expect(packed.headers["content-encoding"] == ["gzip"])
    #expect(packed.body.count < plain.body.count)
    #expect(try unpacked(packed.body) == plain.body)
    #expect(plain.headers.first(name: "etag") != packed.headers.first(name: "etag"))
    for response in [plain, packed] {
      #expect(response.headers[canonicalForm: "vary"].contains("accept-encoding"))
      let tag = try #require(response.headers.first(name: "etag"))
      #expect(!tag.hasPrefix("W/"))
      for coding in ["gzip", "identity"] {
        let again = try await driver.send(
          .GET, target + query, headers: ["accept-encoding": coding, "if-none-match": tag])
        #expect(again.status == 304)
        #expect(again.headers["etag"] == [tag])
      }
    }
  }

  @Test func entityTagOfAGzippedPlaceIsAcceptedByIfMatch() async throws {
    let (driver, target) = try await longPlace()
    let body = #"{"name":"y","lat":1,"long":2}"#
    for query in ["", "?f=geojson"] {
      let packed = try await driver.send(.GET, target + query, headers: ["accept-encoding": "gzip"])
      let tag = try #require(packed.headers.first(name: "etag"))

      let first = try await driver.send(
        .PATCH, target, headers: ["if-match": tag, "content-type": "application/merge-patch+json"],
        json: #"{"name":"\#(query)changed"}"#)
      let second = try await driver.send(.PUT, target, headers: ["if-match": tag], json: body)

      #expect(first.status == 200)
      #expect(second.status == 412)
    }
  }

  @Test(arguments: ["/locations/check?lat=1&long=2", "/locations/featured"])
  func checkAndFeaturedPlaceAreCompressed(target: String) async throws {
    let (driver, _) = try await longPlace()

    let plain = try await driver.send(.GET, target)
    let packed = try await driver.send(.GET, target, headers: ["accept-encoding": "gzip"])

    #expect(packed.headers["content-encoding"] == ["gzip"])
    #expect(try unpacked(packed.body) == plain.body)
    #expect(plain.headers[canonicalForm: "vary"].contains("accept-encoding"))
  }

  @Test func shortResponseIsUncompressedUnlessIdentityIsExcluded() async throws {
    let driver = try await driver(places: 1)

    let short = try await driver.send(.GET, "/locations", headers: ["accept-encoding": "gzip"])
    let required = try await driver.send(.GET, "/locations", headers: ["accept-encoding": "gzip, identity;q=0"])

    #expect(short.headers["content-encoding"].isEmpty)
    #expect(required.headers["content-encoding"] == ["gzip"])
  }

  @Test func requestThatExcludesEveryCodingGets406() async throws {
    let response = try await driver(places: 1).send(
      .GET, "/locations", headers: ["accept-encoding": "br, identity;q=0"])

    #expect(response.status == 406)
    #expect(try response.code == "not-acceptable")
    #expect(response.headers["vary"] == ["accept, accept-encoding"])
  }

  @Test(arguments: [
    ("gzip", true), ("x-gzip", true), ("GZIP;Q=0.5", true), ("br;q=1, gzip;q=0.1", true), ("*", true),
    ("gzip;q=0", false), ("gzip;q=0, *", false), ("identity", false), ("", false), ("deflate", false),
    ("gzip;q=0.5, identity;q=0.9", false), ("gzip;q=nonsense", true),
    ("gzip;q=2", true), ("identity;q=nonsense", false),
  ])
  func codingIsChosenByWeights(header: String, isGzip: Bool) throws {
    let (coding, isRequired) = try #require(ContentCoding.chosen(by: ["accept-encoding": header]))

    #expect((coding == .gzip) == isGzip)
    #expect(!isRequired)
  }
}
