import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// The origin of a URL: scheme, host and port (RFC 6454, section 4).
struct Origin: Hashable, Sendable {
  private let scheme: String
  private let host: String
  private let port: Int?

  /// Creates the origin of a URL; `nil` for a URL without scheme or host.
  init?(_ url: URL?) {
    guard let url, let scheme = url.scheme?.lowercased(), let host = url.host()?.lowercased(), !host.isEmpty else {
      return nil
    }
    self.scheme = scheme
    self.host = host
    port = url.port ?? ["http": 80, "https": 443][scheme]
  }

  /// A Boolean value that indicates whether the scheme is `https`.
  var isSecure: Bool { scheme == "https" }

  /// A Boolean value that indicates whether the scheme is `http` or `https`.
  var isWeb: Bool { scheme == "http" || isSecure }
}

/// The redirects of the service (RFC 9110, section 15.4), which are followed here and not by `URLSession`, because that
/// one would send the credential and all other header fields to any server.
enum Redirect {
  /// The maximum number of redirects of one request.
  static let maximumCount = 5

  /// Returns the request for the target of a redirect; `nil` where the response is none.
  ///
  /// - Throws: ``WaymarkError/untrustedRedirect(_:requestID:)``.
  static func request(after response: HTTPResponse, to request: URLRequest) throws(WaymarkError) -> URLRequest? {
    guard [301, 302, 303, 307, 308].contains(response.status), let location = response["location"],
      let current = request.url
    else { return nil }
    let untrusted = WaymarkError.untrustedRedirect(location, requestID: response.requestID)
    guard let url = URL(string: location, relativeTo: current)?.absoluteURL, let target = Origin(url),
      let origin = Origin(current), target.isWeb, target.isSecure || !origin.isSecure
    else { throw untrusted }
    let isRead = ["GET", "HEAD"].contains(request.httpMethod ?? "GET")
    guard target == origin else {
      guard isRead else { throw untrusted }
      var next = URLRequest(url: url, cachePolicy: request.cachePolicy, timeoutInterval: request.timeoutInterval)
      next.httpMethod = request.httpMethod
      next.setValue(request.value(forHTTPHeaderField: "Accept"), forHTTPHeaderField: "Accept")
      return next
    }
    // The statuses 301 and 302 leave open whether a write is repeated or read, so that it is not followed.
    guard isRead || response.status > 302 else { return nil }
    var next = request
    next.url = url
    if !isRead, response.status == 303 {
      next.httpMethod = "GET"
      next.httpBody = nil
      for name in ["Content-Type", "If-Match", "If-None-Match", "Idempotency-Key"] {
        next.setValue(nil, forHTTPHeaderField: name)
      }
    }
    return next
  }
}
