import NIOCore
import NIOHTTP1
import Testing

@testable import HTTPServer

@Suite struct TrustedProxiesTests {
  private func client(
    _ headers: HTTPHeaders, from peer: String = "10.0.0.1", trusting networks: [String] = ["10.0.0.0/8", "fd00::/8"]
  ) throws -> IPAddress? {
    let request = HTTPRequest(
      target: "/", headers: headers, remoteAddress: try SocketAddress(ipAddress: peer, port: 1))
    return TrustedProxies(try networks.map { try #require(IPNetwork($0)) }).client(of: request)
  }

  @Test(arguments: [
    ("203.0.113.9", "203.0.113.9"),
    // What the client put there itself stands on the left.
    ("198.51.100.1, 203.0.113.9", "203.0.113.9"),
    ("198.51.100.1, 203.0.113.9, 10.1.1.1", "203.0.113.9"),
    ("203.0.113.9:4711", "203.0.113.9"),
    ("[2001:db8::9]:4711", "2001:db8::9"),
    ("2001:db8::9,fd00::1", "2001:db8::9"),
    // Beyond an unparsable element no address is trusted.
    ("203.0.113.9, nonsense, 10.1.1.1", "10.1.1.1"),
    ("", "10.0.0.1"),
    ("10.1.1.1", "10.1.1.1"),
  ])
  func rightmostUntrustedAddressIsTheClient(field: String, expected: String) throws {
    #expect(try client(["x-forwarded-for": field]) == IPAddress(expected))
  }

  @Test func repeatedForwardingFieldsAreOneList() throws {
    let headers = HTTPHeaders([("x-forwarded-for", "198.51.100.1"), ("X-Forwarded-For", "203.0.113.9")])

    #expect(try client(headers) == IPAddress("203.0.113.9"))
  }

  @Test(arguments: [
    ("for=203.0.113.9", "203.0.113.9"), ("For=\"[2001:db8::9]:4711\";proto=https", "2001:db8::9"),
    ("by=10.0.0.1; for=203.0.113.9 ;host=h", "203.0.113.9"),
    ("for=198.51.100.1, for=203.0.113.9, for=10.2.2.2", "203.0.113.9"),
    ("for=198.51.100.1, for=unknown", "10.0.0.1"), ("for=_hidden", "10.0.0.1"), ("proto=http", "10.0.0.1"),
    ("for=\"203.0.113.9", "10.0.0.1"), ("for=\"a,for=203.0.113.9", "10.0.0.1"),
  ])
  func forwardedFieldIsReadToo(field: String, expected: String) throws {
    #expect(try client(["forwarded": field]) == IPAddress(expected))
  }

  @Test func contradictoryForwardingFieldsAreIgnored() throws {
    let same = try client(["x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9"])
    let other = try client(["x-forwarded-for": "203.0.113.9", "forwarded": "for=198.51.100.1"])

    #expect(same == IPAddress("203.0.113.9"))
    #expect(other == IPAddress("10.0.0.1"))
  }

  @Test func forwardingFieldsOfUntrustedPeersAreIgnored() throws {
    let headers: HTTPHeaders = ["x-forwarded-for": "203.0.113.9", "forwarded": "for=203.0.113.9"]

    #expect(try client(headers, from: "192.0.2.1") == IPAddress("192.0.2.1"))
    #expect(try client(headers, trusting: []) == IPAddress("10.0.0.1"))
  }

  @Test func forwardedHopsAreFollowedUpToTheMaximum() throws {
    let hops = ["203.0.113.9"] + Array(repeating: "10.1.1.1", count: 1000)

    #expect(try client(["x-forwarded-for": hops.joined(separator: ",")]) == IPAddress("10.1.1.1"))
  }

  @Test func clientIsIdentifiedByIPv4AddressOrIPv6Network() throws {
    #expect(IPAddress("2001:db8::1")?.clientNetwork == IPAddress("2001:db8::ffff:2")?.clientNetwork)
    #expect(IPAddress("2001:db8::1")?.clientNetwork != IPAddress("2001:db8:0:1::1")?.clientNetwork)
    #expect(IPAddress("192.0.2.1")?.clientNetwork != IPAddress("192.0.2.2")?.clientNetwork)
    #expect(IPAddress("::ffff:192.0.2.1") == IPAddress("192.0.2.1"))
  }
}

@Suite struct IPNetworkTests {
  @Test(arguments: [
    ("10.0.0.0/8", "10.255.0.1", true), ("10.0.0.0/8", "11.0.0.1", false), ("192.0.2.7", "192.0.2.7", true),
    ("192.0.2.7", "192.0.2.8", false), ("0.0.0.0/0", "192.0.2.7", true), ("0.0.0.0/0", "2001:db8::1", false),
    ("2001:db8::/32", "2001:db8:ffff::1", true), ("2001:db8::/32", "2001:db9::1", false), ("::/0", "::1", true),
    ("2001:db8::/65", "2001:db8::7fff:0:0:1", true), ("2001:db8::/65", "2001:db8::8000:0:0:1", false),
    ("::1/128", "::1", true), ("10.0.0.0/8", "::ffff:10.0.0.1", true),
  ])
  func networkContainsItsAddressesOnly(network: String, address: String, isInside: Bool) throws {
    #expect(try #require(IPNetwork(network)).contains(try #require(IPAddress(address))) == isInside)
  }

  @Test(arguments: [
    "", "10.0.0.0/33", "10.0.0.1/8", "10.0.0.0/", "10.0.0.0/-1", "10.0.0.0/+8", "10.0.0/8", "::/129", "host",
    "10.0.0.0/8/8",
  ])
  func invalidNetworksAreRejected(text: String) {
    #expect(IPNetwork(text) == nil)
  }
}
