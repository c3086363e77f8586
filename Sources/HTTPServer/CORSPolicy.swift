public import JSONText
import NIOHTTP1

/// Which pages of other origins may read the answers (the CORS protocol of the Fetch standard), without credentials.
public struct CORSPolicy: Sendable {
  /// Whose pages may.
  public enum Origins: Sendable {
    /// Everyone's.
    case any
    /// Those of these origins, such as `https://example.com`.
    case list(Set<ExactText>)
  }

  private let origins: Origins
  /// What answers to anyone get; made once, and added as a whole.
  private let headersForAny: HTTPHeaders
  private let exposedHeaders: String
  private let allowedHeaders: String
  private let maximumAge: String

  /// Creates a policy.
  ///
  /// - Parameters:
  ///   - origins: whose pages may read answers.
  ///   - exposedHeaders: the header fields of an answer that a page may read beside the safelisted ones.
  ///   - allowedHeaders: the header fields that a page may send beside the safelisted ones.
  ///   - maximumAgeSeconds: how long a browser may keep the answer to a preflight.
  public init(
    origins: Origins = .any,
    exposedHeaders: [String] = [
      "Accept-Patch", "Accept-Post", "Age", "Allow", "Content-Disposition", "Content-Encoding", "Date", "ETag", "Link",
      "Location", "RateLimit", "RateLimit-Policy", "Retry-After", "Server-Timing", "Vary", "WWW-Authenticate",
      "X-Request-Id",
    ],
    allowedHeaders: [String] = [
      "Authorization", "Content-Encoding", "Content-Type", "Idempotency-Key", "If-Match", "If-Modified-Since",
      "If-None-Match", "Traceparent", "Tracestate", "X-Request-Id",
    ],
    maximumAgeSeconds: Int = 86_400
  ) {
    self.origins = origins
    self.exposedHeaders = exposedHeaders.joined(separator: ", ")
    self.headersForAny = [
      "access-control-allow-origin": "*", "access-control-expose-headers": self.exposedHeaders,
    ]
    self.allowedHeaders = allowedHeaders.joined(separator: ", ")
    self.maximumAge = String(maximumAgeSeconds)
  }

  /// Adds to an answer what lets a page of the request's origin read it.
  func apply(to headers: inout HTTPHeaders, request: HTTPRequest) {
    switch origins {
    case .any:
      headers.add(contentsOf: headersForAny)
    case .list(let allowed):
      headers.add(name: "vary", value: "origin")
      guard let origin = request.headers.first(name: "origin"), allowed.contains(ExactText(origin)) else { return }
      headers.add(name: "access-control-allow-origin", value: origin)
      headers.add(name: "access-control-expose-headers", value: exposedHeaders)
    }
  }

  /// Adds to the answer to a preflight what the page may send.
  func applyPreflight(to headers: inout HTTPHeaders, methods: String) {
    headers.add(name: "access-control-allow-methods", value: methods)
    headers.add(name: "access-control-allow-headers", value: allowedHeaders)
    headers.add(name: "access-control-max-age", value: maximumAge)
  }
}
