package import HTTPServer
import NIOHTTP1

/// A middleware that limits the rate of each client's requests.
///
/// A client is the sender that its key or token proves, or else its address. Requests with invalid credentials are
/// counted by address, so that keys can't be guessed faster than the limit. A token that was not seen before is not
/// even verified where its address exceeds the limit, because verification is what a flood of tokens would cost. Probes
/// of health and metrics are not counted, nor are CORS preflight requests.
package struct RateLimitMiddleware: Middleware {
  private let limiter: RateLimiter
  private let access: AccessControl
  private let proxies: TrustedProxies

  /// Creates a middleware.
  ///
  /// - Parameter proxies: the trusted proxies, whose header fields determine the client's address.
  package init(limiter: RateLimiter, access: AccessControl, proxies: TrustedProxies = TrustedProxies()) {
    self.limiter = limiter
    self.access = access
    self.proxies = proxies
  }

  /// Returns a Boolean value that indicates whether the request is counted.
  package func intercepts(_ request: HTTPRequest) -> Bool {
    !Self.isExempt(request.path) && !Self.isPreflight(request)
  }

  /// Returns the response of the next middleware with the limit's fields, or 429 `rate-limited`.
  nonisolated(nonsending) package func respond(to request: HTTPRequest, next: MiddlewareChain) async -> HTTPResponse {
    let sender = access.sender(of: request, proxies: proxies) { limiter.wouldAdmit($0) }
    let verdict = limiter.admit(sender)
    let fields = HTTPHeaders(limiter.fields(for: verdict))
    guard verdict.isAllowed else {
      let problem = Problem.rateLimited(fields, retryAfterSeconds: verdict.resetSeconds)
      return HTTPResponse(problem, typePrefix: Problem.serviceTypePrefix)
    }
    var response = await next.respond(to: request)
    response.headers.add(contentsOf: fields)
    return response
  }

  /// Returns a Boolean value that indicates whether a browser sent the request by itself before a page's request,
  /// without its credentials. Rejecting it would fail the request that is counted by itself, and responding costs no
  /// more.
  private static func isPreflight(_ request: HTTPRequest) -> Bool {
    request.method == .OPTIONS && request.headers.contains(name: "origin")
      && request.headers.contains(name: "access-control-request-method")
  }

  private static func isExempt(_ path: Substring) -> Bool {
    path == "/metrics" || path == "/health/live" || path == "/health/ready"
  }
}

extension Problem {
  fileprivate static func rateLimited(_ fields: HTTPHeaders, retryAfterSeconds seconds: Int) -> Problem {
    var headers = fields
    headers.add(name: "retry-after", value: String(seconds))
    return Problem(
      .tooManyRequests, code: "rate-limited", title: "Too many requests",
      detail: "the rate limit was exceeded; retry in \(seconds) s", headers: headers)
  }
}
