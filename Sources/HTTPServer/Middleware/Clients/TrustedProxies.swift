import NIOCore
import NIOHTTP1

/// The proxies whose statements about the client's address are trusted.
///
/// Anyone can send `X-Forwarded-For` and `Forwarded` (RFC 7239), so they are trusted from these networks only, and read
/// from the right: each proxy appends the address of its peer, and the first that is not a trusted proxy is the client.
public struct TrustedProxies: Sendable {
  static let maximumHops = 32

  private let networks: [IPNetwork]

  /// Creates the proxies in these networks.
  package init(_ networks: [IPNetwork] = []) {
    self.networks = networks
  }

  /// Returns the address of the request's client; `nil` where its socket has no IP address.
  ///
  /// Where both fields are present and disagree, one of them came from the client, and nothing tells which: the proxy
  /// counts as the client.
  public func client(of request: HTTPRequest) -> IPAddress? {
    guard let peer = request.remoteAddress.flatMap({ IPAddress($0) }) else { return nil }
    guard !networks.isEmpty, contains(peer) else { return peer }
    let viaList = request.headers["x-forwarded-for"]
    let viaPairs = request.headers["forwarded"]
    switch (viaList.isEmpty, viaPairs.isEmpty) {
    case (true, true): return peer
    case (false, true): return walk(Self.list(viaList), from: peer)
    case (true, false): return walk(ForwardedField.clients(viaPairs), from: peer)
    case (false, false):
      let client = walk(Self.list(viaList), from: peer)
      return client == walk(ForwardedField.clients(viaPairs), from: peer) ? client : peer
    }
  }

  /// Returns a Boolean value that indicates whether the request came from one of the proxies.
  public func trustsPeer(of request: HTTPRequest) -> Bool {
    guard !networks.isEmpty, let peer = request.remoteAddress.flatMap({ IPAddress($0) }) else { return false }
    return contains(peer)
  }

  private func contains(_ address: IPAddress) -> Bool { networks.contains { $0.contains(address) } }

  /// Follows the hops from the peer as long as they are trusted proxies. A malformed hop ends the walk: the hops beyond
  /// it can't be trusted.
  private func walk(_ hops: [Substring], from peer: IPAddress) -> IPAddress {
    var client = peer
    for hop in hops.reversed().prefix(Self.maximumHops) {
      guard let address = Self.address(hop) else { break }
      client = address
      guard contains(address) else { break }
    }
    return client
  }

  private static func list(_ values: [String]) -> [Substring] {
    values.flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
  }

  /// Returns an address as proxies write it: bare, with a port, or in brackets where it is an IPv6 address.
  private static func address(_ hop: Substring) -> IPAddress? {
    var hop = hop.drop { $0 == " " || $0 == "\t" }
    while hop.last == " " || hop.last == "\t" { hop.removeLast() }
    if hop.first == "[" { return IPAddress(hop.dropFirst().prefix { $0 != "]" }) }
    if hop.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 { hop = hop.prefix { $0 != ":" } }
    return IPAddress(hop)
  }
}
