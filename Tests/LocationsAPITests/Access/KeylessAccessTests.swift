import HTTPServer
import MemoryStore
import NIOCore
import NIOHTTP1
import Points
import ServiceTestSupport
import TestSupport
import Testing

@testable import AccessControl
@testable import LocationsAPI

@Suite struct KeylessAccessTests {
  /// The statuses of a change, of search analytics and of a read with the same headers.
  private func statuses(
    headers: HTTPHeaders = [:], from address: String = "127.0.0.1", isLoopback: Bool = true, prefix: String = ""
  ) async throws -> [Int] {
    let driver = ServiceDriver(writing: MemoryStore(), access: AccessPolicy(keys: nil, isLoopback: isLoopback))
    var fields = headers
    fields.add(name: "content-type", value: "application/json")
    let place = ByteBuffer(string: #"{"name":"x","lat":1,"long":2}"#)
    let change = try await driver.send(.POST, prefix + "/locations", headers: fields, body: place, from: address)
    let analytics = try await driver.send(.GET, prefix + "/analytics/searches", headers: headers, from: address)
    let read = try await driver.send(.GET, prefix + "/categories", headers: headers, from: address)
    return [change, analytics, read].map(\.status)
  }

  // This server keeps no searches: a permitted request gets 404.
  private static let open = [201, 404, 200]
  private static let closed = [403, 403, 200]

  @Test(arguments: [
    "http://localhost:3000", "http://localhost:0003000", "http://127.0.0.1", "http://[::1]:80", "https://localhost",
    "http://127.8.9.10:65535",
  ])
  func pageFromALoopbackOriginMayWrite(origin: String) async throws {
    #expect(try await statuses(headers: ["origin": origin]) == Self.open)
  }

  @Test(arguments: [
    "https://evil.example", "null", "", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
    "http://127.0.0.1:80@evil.example", "http://localhost@evil.example", "http://[::1]evil.example",
    "http://[::1].evil.example", "http://[::1]:80@evil.example", "http://localhost/", "http://localhost:",
    "http://localhost:80:80", "http://localhost:x", "http://localhost:65536", "http://localhost:+80",
    "http://::1", "http://[127.0.0.1]", "http://[localhost]", "http://localhost http://localhost",
    "http://localhost,http://localhost", "evil.example://localhost", "localhost", "//localhost",
    "http://evil.example#http://localhost", "http://evil.example:80:@localhost", " http://localhost",
    "http://localhost\u{301}", "http://127.0.0.1:80\u{661}",
  ])
  func pageFromAnotherOriginMayNotWrite(origin: String) async throws {
    #expect(try await statuses(headers: ["origin": origin]) == Self.closed)
  }

  @Test func secondOriginFieldIsRejected() async throws {
    let headers: HTTPHeaders = ["origin": "http://localhost", "Origin": "http://localhost"]

    #expect(try await statuses(headers: headers) == Self.closed)
  }

  @Test(arguments: ["localhost", "LOCALHOST:80", "127.0.0.1:8080", "127.0.0.5", "[::1]", "[::1]:8080"])
  func loopbackHostIsAccepted(host: String) async throws {
    #expect(try await statuses(headers: ["host": host]) == Self.open)
  }

  @Test(arguments: [
    "evil.example", "evil.example:8080", "", "localhost.evil.example", "127.0.0.1@evil.example", "[::1]evil.example",
    "[::1]:80:80", "::1", "127.0.0.1:80@evil.example", "10.0.0.1", "0.0.0.0", "[::]", "[::1", "localhost:",
    "2130706433",
    "localhost\u{301}",
  ])
  func requestWithARebindingHostNameIsRejected(host: String) async throws {
    #expect(try await statuses(headers: ["host": host]) == Self.closed)
  }

  @Test func requestWithoutHostOrWithTwoIsRejected() async throws {
    let driver = ServiceDriver(writing: MemoryStore())
    let access = AccessControl(AccessPolicy(keys: nil, isLoopback: true))
    let bare = HTTPRequest(target: "/", remoteAddress: try SocketAddress(ipAddress: "127.0.0.1", port: 1))

    await #expect(throws: Problem.self) { try await access.principal(of: bare, for: .write) }
    let twice = try await driver.send(
      .GET, "/analytics/searches", headers: ["host": "localhost", "Host": "evil.example"])
    #expect(twice.status == 403)
  }

  @Test func authorityOfAnAbsoluteTargetReplacesHost() async throws {
    #expect(try await statuses(headers: ["host": "evil.example"], prefix: "http://localhost:80") == Self.open)
    #expect(try await statuses(headers: ["host": "localhost"], prefix: "http://evil.example") == Self.closed)
    #expect(try await statuses(headers: ["host": "localhost"], prefix: "http://localhost@evil.example") == Self.closed)
  }

  @Test(arguments: [
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "x-forwarded-port",
    "X-Forwarded", "X-Real-IP", "Via", "VIA",
  ])
  func forwardedRequestIsRejectedWhateverTheFieldValue(field: String) async throws {
    #expect(try await statuses(headers: [field: "127.0.0.1"]) == Self.closed)
    #expect(try await statuses(headers: [field: ""]) == Self.closed)
  }

  @Test(arguments: [("127.0.0.1", true), ("127.1.2.3", true), ("::1", true), ("::ffff:127.0.0.1", true)])
  func loopbackPeerIsAccepted(address: String, isAccepted: Bool) async throws {
    #expect(try await statuses(from: address) == Self.open)
  }

  @Test(arguments: ["10.0.0.1", "192.0.2.1", "::2", "2001:db8::1", "::ffff:10.0.0.1", "not an address"])
  func remotePeerIsRejected(address: String) async throws {
    #expect(try await statuses(from: address) == Self.closed)
  }

  @Test func serverOnANonLoopbackAddressRejectsWritesWithoutKeys() async throws {
    #expect(try await statuses(isLoopback: false) == Self.closed)
  }

  @Test func keylessNoticeExplainsAccessAndHowToRestrictIt() {
    let near = AccessControl(AccessPolicy(keys: nil, isLoopback: true)).keylessNotice
    let far = AccessControl(AccessPolicy(keys: nil, isLoopback: false)).keylessNotice
    let closed = AccessControl(AccessPolicy(keys: [], isLoopback: true)).keylessNotice

    #expect(near?.contains("may change places") == true && near?.contains("API_KEYS_FILE") == true)
    #expect(far?.contains("nobody may change them") == true && far?.contains("API_KEYS_FILE") == true)
    #expect(closed == nil)
  }
}
