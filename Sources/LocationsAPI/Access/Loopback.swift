import NIOCore

/// Addresses by which a machine reaches itself.
public enum Loopback {
  /// Whether a host is one: `localhost`, an address of 127.0.0.0/8, or `::1`, with or without brackets.
  public static func contains(host: some StringProtocol) -> Bool {
    var host = host.lowercased()
    if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
    guard host != "localhost" else { return true }
    guard let address = try? SocketAddress(ipAddress: host, port: 0) else { return false }
    switch address {
    case .v4: return host.hasPrefix("127.")
    case .v6: return address.ipAddress == "::1"
    case .unixDomainSocket: return false
    }
  }

  /// Whether an `Origin` header names such a host: `http://localhost:3000`.
  static func contains(origin: String) -> Bool {
    let parts = origin.split(separator: "://", maxSplits: 1)
    guard parts.count == 2 else { return false }
    let authority = parts[1]
    if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") { return contains(host: authority[...end]) }
    return contains(host: authority.prefix { $0 != ":" && $0 != "/" })
  }
}
