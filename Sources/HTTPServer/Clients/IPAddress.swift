public import NIOCore

/// An address of IPv4 or IPv6 as a number of 128 bits. One of IPv4 is the same as the address of IPv6 that it is mapped
/// to, `::ffff:0:0/96` (RFC 4291, section 2.5.5.2), so that a client is the same however its socket calls it.
public struct IPAddress: Hashable, Sendable {
  /// The first 64 bits: of an address of IPv6, its network where networks are cut as they are meant to be.
  let high: UInt64
  /// The other 64 bits.
  let low: UInt64

  private static let mapped: UInt64 = 0xFFFF_0000_0000

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(v4: UInt32) {
    self.init(high: 0, low: Self.mapped | UInt64(v4))
  }

  /// Whether it is an address of IPv4.
  var isV4: Bool { high == 0 && low >> 32 == Self.mapped >> 32 }

  /// A Boolean value that indicates whether a machine reaches only itself by it: 127.0.0.0/8 and ::1.
  public var isLoopback: Bool { isV4 ? low >> 24 & 0xFF == 127 : high == 0 && low == 1 }

  /// The address of a socket; `nil` for one of no network.
  public init?(_ address: SocketAddress) {
    switch address {
    case .v4(let address):
      // Where the address stands in the system's structures is the same on Linux and on Darwin.
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

  /// Reads an address, without brackets or port: `192.0.2.1`, `2001:db8::1`.
  public init?(_ text: some StringProtocol) {
    guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
    self.init(address)
  }

  /// What a client is known by where it has no name: its address of IPv4, or the network of 64 bits that its address of
  /// IPv6 is in, since whoever has one of those addresses has them all.
  public var clientNetwork: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }
}
