public import HTTPServer
public import NIOHTTP1

/// Holds each client to the rate limit before anything else is done for it.
///
/// A client is who it proves to be by its key or token, and else its address; whoever tries what proves nothing is
/// counted by address, so that nobody guesses faster than the limit. A token that was not seen before is not even
/// verified where its address is over the limit: verifying is what a flood of tokens would cost. Probes of
/// health and metrics are not counted, nor are CORS preflights.
public struct RateGate: RequestGate {
  private enum Client: Hashable {
    case principal(Principal)
    case address(IPAddress?)
  }

  private let limiter: RateLimiter
  private let access: AccessControl
  private let proxies: TrustedProxies

  /// Creates the gate.
  ///
  /// - Parameter proxies: who is believed when it says for whom it asks.
  public init(limiter: RateLimiter, access: AccessControl, proxies: TrustedProxies = TrustedProxies()) {
    self.limiter = limiter
    self.access = access
    self.proxies = proxies
  }

  /// Lets the request in where its client has an allowance left.
  ///
  /// - Returns: what the answer says about the limit.
  /// - Throws: `Problem` 429 `rate-limited`.
  public func admit(_ request: HTTPRequest) throws(Problem) -> HTTPHeaders {
    guard !Self.isExempt(request.path), !Self.isPreflight(request) else { return [:] }
    let verdict = limiter.admit(client(of: request))
    let fields = HTTPHeaders(limiter.fields(for: verdict))
    guard verdict.isAllowed else {
      var headers = fields
      headers.add(name: "retry-after", value: String(verdict.resetSeconds))
      throw Problem(
        .tooManyRequests, code: "rate-limited", title: "Too many requests",
        detail: "more requests came than are allowed; the next may come in \(verdict.resetSeconds) s", headers: headers)
    }
    return fields
  }

  private func client(of request: HTTPRequest) -> Client {
    let address = Client.address(proxies.client(of: request)?.clientNetwork)
    let sender = access.sender(of: request.headers) { limiter.wouldAdmit(address) }
    return sender.map(Client.principal) ?? address
  }

  /// A browser asks before a page's request, without its credentials and without the page's knowledge; refusing would
  /// fail the request that is counted by itself. The answer costs no more than a refusal.
  private static func isPreflight(_ request: HTTPRequest) -> Bool {
    request.method == .OPTIONS && request.headers.contains(name: "origin")
      && request.headers.contains(name: "access-control-request-method")
  }

  private static func isExempt(_ path: Substring) -> Bool {
    path == "/metrics" || path == "/health/live" || path == "/health/ready"
  }
}
