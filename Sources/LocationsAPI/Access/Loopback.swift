import HTTPServer

/// The addresses by which a machine reaches itself.
package enum Loopback {
  /// Returns a Boolean value that indicates whether a host is a loopback host: `localhost`, an address of 127.0.0.0/8,
  /// or `::1`, with or without brackets.
  package static func contains(host: some StringProtocol) -> Bool {
    let host = host.lowercased()
    if host.utf8.elementsEqual("localhost".utf8) { return true }
    let isBracketed = host.hasPrefix("[") && host.hasSuffix("]")
    return IPAddress(isBracketed ? String(host.dropFirst().dropLast()) : host)?.isLoopback == true
  }

  /// Returns a Boolean value that indicates whether an authority without user information names such a host:
  /// `localhost:8080`, `[::1]`.
  ///
  /// An address of IPv6 stands in brackets here (RFC 3986, section 3.2.2), and nothing but a port follows the host.
  static func contains(authority: some StringProtocol) -> Bool {
    let host: Substring
    let rest: Substring
    let authority = String(authority)
    if authority.utf8.first == UInt8(ascii: "[") {
      guard let end = authority.utf8.firstIndex(of: UInt8(ascii: "]")) else { return false }
      (host, rest) = (authority[...end], authority[authority.utf8.index(after: end)...])
      guard host.utf8.contains(UInt8(ascii: ":")) else { return false }
    } else {
      let end = authority.utf8.firstIndex(of: UInt8(ascii: ":")) ?? authority.endIndex
      (host, rest) = (authority[..<end], authority[end...])
    }
    return isPort(rest) && contains(host: host)
  }

  /// Returns a Boolean value that indicates whether an `Origin` field is the serialized origin of a page on such a host
  /// (RFC 6454, section 6.2): `http://localhost:3000`.
  static func contains(origin: String) -> Bool {
    for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
      return contains(authority: origin.dropFirst(scheme.count))
    }
    return false
  }

  /// Returns a Boolean value that indicates whether the text is empty, or a colon and the digits of a port.
  private static func isPort(_ text: Substring) -> Bool {
    guard let colon = text.utf8.first else { return true }
    let digits = text.utf8.dropFirst()
    return colon == UInt8(ascii: ":") && (1...5).contains(digits.count)
      && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } && UInt16(Substring(digits)) != nil
  }
}
