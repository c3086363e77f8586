public import NIOCore

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

  /// The identity of a client without a name: its IPv4 address, or the 64-bit network of its IPv6 address, because who
  /// has one of those addresses usually has them all.
  public var clientNetwork: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }
}
