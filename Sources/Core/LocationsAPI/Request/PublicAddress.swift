import Basics
package import HTTPServer
import NIOHTTP1

/// The address under which clients see the service, for the targets that responses name: `Link`, `Location` and the
/// links in bodies.
///
/// It is the configured one, or else the path prefix that a trusted proxy removed. Without either, targets are
/// relative references, which lead to the right place under any prefix (RFC 3986, section 5).
package struct PublicAddress: Sendable {
  /// The maximum length of a prefix that is accepted, in bytes.
  private static let maximumPrefixLength = 256

  private let url: String?
  package let proxies: TrustedProxies

  /// Creates an address.
  ///
  /// - Parameters:
  ///   - url: the address itself, which ``isAcceptable(url:)`` takes; `nil` if none is configured.
  ///   - proxies: the proxies whose `X-Forwarded-Prefix` is trusted.
  package init(url: String? = nil, proxies: TrustedProxies = TrustedProxies()) {
    self.url = url.map { String(Self.withoutTrailingSlashes($0[...])) }
    self.proxies = proxies
  }

  /// Returns a Boolean value that indicates whether a text is an address of HTTP without user, query and fragment.
  package static func isAcceptable(url: String) -> Bool {
    guard url.utf8.allSatisfy({ (0x21..<0x7F).contains($0) }) else { return false }
    let address = #/https?:\/\/([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(\/[^?#@\\<>"{}|^`]*)?/#
    return url.wholeMatch(of: address) != nil
  }

  /// Returns a Boolean value that indicates whether an `Origin` field (RFC 6454, section 6.2) is that of the configured
  /// address.
  package func hasOrigin(_ origin: String) -> Bool {
    url.map { "\($0)/".utf8.starts(with: "\(origin)/".utf8) } ?? false
  }

  /// Returns the target of a resource in the response to a request.
  ///
  /// - Parameters:
  ///   - path: the path of the resource in the service, with or without a query.
  ///   - relative: a reference from the request's own path to the same resource.
  package func target(path: @autoclosure () -> String, relative: String, for request: HTTPRequest) -> String {
    if let url { return url + path() }
    return prefix(of: request).map { $0 + path() } ?? relative
  }

  /// Returns the target of a path in the service for messages that are not responses; the path if no address is
  /// configured.
  package func target(path: String) -> String { (url ?? "") + path }

  /// Returns the absolute target of a path in the service; the path where neither an address is configured nor the
  /// client named a plain host.
  package func absoluteTarget(path: String, for request: HTTPRequest) -> String {
    let target = target(path: path, relative: path, for: request)
    guard target.utf8.first == UInt8(ascii: "/"), let authority = request.authority,
      !authority.isEmpty, authority.utf8.allSatisfy(Self.isOfAuthority)
    else { return target }
    let isSecure = request.isEncrypted || isForwardedOverTLS(request)
    return "\(isSecure ? "https" : "http")://\(authority)\(target)"
  }

  /// Returns a Boolean value that indicates whether a trusted proxy says that the client used TLS.
  private func isForwardedOverTLS(_ request: HTTPRequest) -> Bool {
    proxies.trustsPeer(of: request) && request.headers["x-forwarded-proto"].elementsEqual(["https"])
  }

  /// Returns the prefix that a trusted proxy names; `nil` if none does, or it is no path.
  private func prefix(of request: HTTPRequest) -> Substring? {
    guard proxies.trustsPeer(of: request) else { return nil }
    let values = request.headers["x-forwarded-prefix"]
    guard values.count == 1,
      (1...Self.maximumPrefixLength).contains(values[0].utf8.count)
    else { return nil }
    // With two slashes it would name another server, and with dots another path.
    let segments = values[0].split(separator: "/", omittingEmptySubsequences: false)
    guard segments.first?.isEmpty == true, !segments.dropFirst().dropLast().contains(""),
      !segments.contains("."), !segments.contains(".."), values[0].utf8.allSatisfy(Self.isOfPath)
    else { return nil }
    return Self.withoutTrailingSlashes(values[0][...])
  }

  /// Returns a Boolean value that indicates whether a plain host and port may have the byte.
  private static func isOfAuthority(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || ".-_:[]".utf8.contains(byte)
  }

  /// Returns a Boolean value that indicates whether a path may have the byte (RFC 3986, section 3.3), a percent sign
  /// included.
  private static func isOfPath(_ byte: UInt8) -> Bool {
    byte.isASCIIAlphanumeric || "-._~%!$&'()*+=:@/".utf8.contains(byte)
  }

  private static func withoutTrailingSlashes(_ text: Substring) -> Substring {
    var text = text
    while text.utf8.last == UInt8(ascii: "/") { text.removeLast() }
    return text
  }
}
