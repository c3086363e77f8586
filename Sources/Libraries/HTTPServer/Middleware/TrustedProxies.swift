public import NIOCore
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

  /// Returns the address of the request's client; `nil` if its socket has no IP address.
  ///
  /// Where both fields are present and disagree, one of them came from the client, and it is not known which: the proxy
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

/// A network of addresses (RFC 4632): `10.0.0.0/8`, `2001:db8::/32`, or one address.
package struct IPNetwork: Hashable, Sendable {
  private let address: IPAddress
  private let highMask: UInt64
  private let lowMask: UInt64

  /// Creates a network from an address with or without a prefix length. The bits past the prefix must be zero, so that
  /// a typing error is rejected instead of widening the network.
  package init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    guard let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
    let width = address.isV4 ? 32 : 128
    var length = width
    if parts.count == 2 {
      guard parts[1].utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }), let number = Int(parts[1]), number <= width
      else { return nil }
      length = number
    }
    // Of an address of IPv4 the 96 bits before it count too.
    let bits = 128 - width + length
    highMask = bits >= 64 ? .max : ~(.max >> UInt64(bits))
    lowMask = bits <= 64 ? 0 : bits == 128 ? .max : ~(.max >> UInt64(bits - 64))
    guard address.high & ~highMask == 0, address.low & ~lowMask == 0 else { return nil }
    self.address = address
  }

  /// Returns a Boolean value that indicates whether an address is in the network.
  package func contains(_ address: IPAddress) -> Bool {
    address.high & highMask == self.address.high && address.low & lowMask == self.address.low
  }
}

/// An IPv4 or IPv6 address as a number of 128 bits. An IPv4 address equals the IPv6 address that it is mapped to,
/// `::ffff:0:0/96` (RFC 4291, section 2.5.5.2), so that a client is the same whatever its socket's family.
public struct IPAddress: Hashable, Sendable {
  /// The first 64 bits: the network of an IPv6 address by its usual division.
  let high: UInt64
  let low: UInt64

  private static let mapped: UInt64 = 0xFFFF_0000_0000

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(v4: UInt32) {
    self.init(high: 0, low: Self.mapped | UInt64(v4))
  }

  var isV4: Bool { high == 0 && low >> 32 == Self.mapped >> 32 }

  /// A Boolean value that indicates whether this is a loopback address: 127.0.0.0/8 or ::1.
  public var isLoopback: Bool { isV4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

  /// Creates the address of a socket; `nil` for a socket without an IP address.
  public init?(_ address: SocketAddress) {
    switch address {
    case .v4(let address):
      // The offset of the address in the system's structures is the same on Linux and on Darwin.
      let number = withUnsafeBytes(of: address.address) { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }
      self.init(v4: UInt32(bigEndian: number))
    case .v6(let address):
      let (high, low) = withUnsafeBytes(of: address.address) { bytes in
        (
          bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self),
          bytes.loadUnaligned(fromByteOffset: 16, as: UInt64.self)
        )
      }
      self.init(high: UInt64(bigEndian: high), low: UInt64(bigEndian: low))
    case .unixDomainSocket: return nil
    }
  }

  /// Creates an address from text without brackets or port: `192.0.2.1`, `2001:db8::1`.
  public init?(_ text: some StringProtocol) {
    guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
    self.init(address)
  }

  /// The identity of a client without a name: its IPv4 address, or the 64-bit network of its IPv6 address, because a
  /// subscriber usually controls the whole network.
  public var clientNetwork: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }

  /// The number in base 16, a text that no other address has.
  package var digits: String { "\(String(high, radix: 16)):\(String(low, radix: 16))" }
}

/// The parser of `Forwarded` fields (RFC 7239, section 4).
enum ForwardedField {
  /// Returns the values of `for` in the order of the proxies, one for each element, without quotes; empty for an
  /// element without one, and for a malformed element.
  static func clients(_ values: [String]) -> [Substring] {
    values.flatMap { value in
      split(value[...], at: ",").map { element in
        for pair in split(element, at: ";") {
          let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
          guard parts.count == 2, parts[0].drop(while: { $0 == " " || $0 == "\t" }).lowercased() == "for" else {
            continue
          }
          return unquoted(parts[1])
        }
        return ""
      }
    }
  }

  /// Splits the text where the separator is not between quotes.
  private static func split(_ text: Substring, at separator: Character) -> [Substring] {
    var isQuoted = false
    return text.split(omittingEmptySubsequences: false) { character in
      if character == "\"" { isQuoted.toggle() }
      return character == separator && !isQuoted
    }
  }

  /// Returns the text without its quotes. An address needs no escapes between them; text with escapes is not one.
  private static func unquoted(_ text: Substring) -> Substring {
    var text = text
    while text.last == " " || text.last == "\t" { text.removeLast() }
    guard text.first == "\"", text.last == "\"", text.utf8.count >= 2 else { return text }
    return text.dropFirst().dropLast()
  }
}
