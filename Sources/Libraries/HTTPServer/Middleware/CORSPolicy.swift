package import Basics
import NIOHTTP1

/// The pages of other origins that may read responses, without credentials: the CORS protocol of the Fetch standard.
///
/// As a middleware it adds the protocol's fields to every response, and completes the responses to preflight requests.
package struct CORSPolicy: Sendable {
  /// The allowed origins.
  package enum Origins: Sendable {
    /// Every origin.
    case any
    /// These origins, such as `https://example.com`.
    case list(Set<ExactText>)
  }

  private let origins: Origins
  /// The fields of a response where every origin is allowed; added as a whole.
  private static let headersForAny: HTTPHeaders = [
    "access-control-allow-origin": "*", "access-control-expose-headers": exposedHeaders,
  ]

  /// The value that lets a page read all fields of a response to a request without credentials, as all requests are
  /// under this policy (Fetch standard, "CORS protocol and credentials").
  private static let exposedHeaders = "*"

  /// The header fields that need no permission (Fetch standard, "CORS-safelisted request-header").
  private static let safelistedHeaders: Set = ["Accept", "Accept-Language", "Content-Language"]

  private var allowedHeaders: [String]
  private let maximumAge: String

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - origins: the allowed origins.
  ///   - allowedHeaders: the header fields that a page may send beside the safelisted ones, in order.
  ///   - maximumAgeSeconds: the time for which a browser may keep the response to a preflight request.
  package init(
    origins: Origins = .any,
    allowedHeaders: [String] = [
      "Authorization", "Content-Encoding", "Content-Type",
      // The times are ignored; a page may send them all the same.
      "If-Modified-Since", "If-Unmodified-Since",
      "Traceparent", "Tracestate", "X-Request-Id",
    ],
    maximumAgeSeconds: Int = 86_400
  ) {
    self.origins = origins
    self.allowedHeaders = allowedHeaders
    self.maximumAge = String(maximumAgeSeconds)
  }

  /// Returns the policy that allows header fields of requests beside those that are allowed.
  package func allowing(_ headers: [String]) -> CORSPolicy {
    var policy = self
    policy.allowedHeaders = Set(allowedHeaders + headers).subtracting(Self.safelistedHeaders).sorted()
    return policy
  }

  /// Returns a Boolean value that indicates whether the policy names an origin, instead of allowing all.
  package func names(_ origin: String) -> Bool {
    if case .list(let allowed) = origins { allowed.contains(ExactText(origin)) } else { false }
  }
}

extension CORSPolicy: SynchronousMiddleware {
  /// Adds the fields that let a page of the request's origin read the response.
  package func change(_ response: inout HTTPResponse, to request: HTTPRequest) {
    if request.method == .OPTIONS, response.status == .noContent,
      request.headers.contains(name: "access-control-request-method"),
      let methods = response.headers.first(name: "allow")
    {
      response.headers.add(name: "access-control-allow-methods", value: methods)
      response.headers.add(name: "access-control-allow-headers", value: allowedHeaders.joined(separator: ", "))
      response.headers.add(name: "access-control-max-age", value: maximumAge)
    }
    switch origins {
    case .any:
      response.headers.add(contentsOf: Self.headersForAny)
    case .list(let allowed):
      response.headers.add(name: "vary", value: "origin")
      guard let origin = request.headers.first(name: "origin"), allowed.contains(ExactText(origin)) else { return }
      response.headers.add(name: "access-control-allow-origin", value: origin)
      response.headers.add(name: "access-control-expose-headers", value: Self.exposedHeaders)
    }
  }
}
