import Basics
import HTTPServer
import NIOHTTP1

/// The rule for changes, and for what else takes a key, on a server that has no keys: they are open to programs on its
/// own machine and to nobody else.
///
/// A browser and a reverse proxy on that machine connect from a loopback address too, on behalf of others. Each leaves
/// a trace: a page of another site its `Origin`, a page whose host name was rebound to a loopback address that name in
/// `Host`, and a proxy a field of its own or its public name.
enum KeylessAccess {
  /// Checks that the request comes from a program on the server's own machine, on its own behalf.
  ///
  /// - Throws: `Problem` 403 `forbidden` with the reason.
  static func check(_ request: HTTPRequest) throws(Problem) {
    guard let peer = request.remoteAddress.flatMap({ IPAddress($0) }), peer.isLoopback else {
      throw .keyless("no such requests from other machines")
    }
    if let name = request.headers.firstName(where: isForwarding) {
      throw .keyless("no such requests that were forwarded by a proxy (this one has the field '\(name)')")
    }
    guard let authority = request.authority, Loopback.contains(authority: authority) else {
      throw .keyless("no such requests under another host name than that of a loopback address, such as localhost")
    }
    let origins = request.headers["origin"]
    guard origins.isEmpty || (origins.count == 1 && Loopback.contains(origin: origins[0])) else {
      throw .keyless("no such requests from pages of other machines")
    }
  }

  /// Returns a Boolean value that indicates whether a proxy names its client in the fields of a name.
  private static func isForwarding(_ name: UnsafeBufferPointer<UInt8>) -> Bool {
    UnsafeBufferPointer(rebasing: name.prefix(11)).isEqual(toLowercase: "x-forwarded")
      || name.isEqual(toLowercase: "forwarded") || name.isEqual(toLowercase: "via")
      || name.isEqual(toLowercase: "x-real-ip")
  }
}

extension Problem {
  /// 403 `forbidden`, with the requests that are accepted without keys.
  static func keyless(_ accepted: String) -> Problem {
    .forbidden(
      "this server has neither API keys (API_KEYS_FILE) nor token keys (JWT_JWKS);"
        + " without them it accepts \(accepted)")
  }
}

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
  package static func contains(origin: String) -> Bool {
    for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
      return contains(authority: origin.dropFirst(scheme.count))
    }
    return false
  }

  /// Returns a Boolean value that indicates whether the text is empty, or a colon and the digits of a port.
  private static func isPort(_ text: Substring) -> Bool {
    guard let colon = text.utf8.first else { return true }
    let digits = text.utf8.dropFirst()
    return colon == UInt8(ascii: ":") && digits.allSatisfy { $0 &- UInt8(ascii: "0") < 10 }
      && UInt16(Substring(digits)) != nil
  }
}
