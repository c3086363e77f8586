/// A network of addresses (RFC 4632): `10.0.0.0/8`, `2001:db8::/32`, or one address.
package struct IPNetwork: Hashable, Sendable {
  private let address: IPAddress
  private let highMask: UInt64
  private let lowMask: UInt64

  /// Creates a network from an address with or without a prefix length. The bits past the prefix must be zero, so that
  /// a slip is found and not widened.
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
