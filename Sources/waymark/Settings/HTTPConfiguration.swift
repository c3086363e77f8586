import HTTPServer
import Basics
import LocationsAPI

extension HTTPServerConfiguration {
  /// Creates the configuration of the listening address and of the limits of clients.
  init(_ settings: Settings) throws(ConfigurationError) {
    self.init()
    host = settings.text("HTTP_HOST")
    port = try settings.integer("HTTP_PORT")
    threads = try settings.integer("HTTP_THREADS")
    if threads == 0 { threads = nil }
    problemTypePrefix = LocationsAPI.problemTypePrefix
    limits.uriBytes = try settings.integer("HTTP_MAX_URI_BYTES")
    limits.headerBytes = try settings.integer("HTTP_MAX_HEADER_BYTES")
    limits.bodyBytes = try settings.integer("HTTP_MAX_BODY_BYTES")
    limits.connections = try settings.integer("HTTP_MAX_CONNECTIONS")
    limits.requestsInFlight = try settings.integer("HTTP_MAX_REQUESTS_IN_FLIGHT")
    limits.bufferedBytes = try settings.integer(
      "HTTP_MAX_BUFFERED_BYTES", default: AvailableMemory.ofProcess.defaultBufferedBytes)
    timeouts.header = try settings.milliseconds("HTTP_HEADER_TIMEOUT_MS")
    timeouts.body = try settings.milliseconds("HTTP_BODY_TIMEOUT_MS")
    timeouts.idle = try settings.milliseconds("HTTP_IDLE_TIMEOUT_MS")
    timeouts.write = try settings.milliseconds("HTTP_WRITE_TIMEOUT_MS")
  }
}

extension CORSPolicy {
  /// Creates the policy of the origins that browsers may call from.
  ///
  /// - Throws: ``ConfigurationError`` for a text that no browser sends as an origin, so that it would never match.
  init(_ settings: Settings) throws(ConfigurationError) {
    let name = "CORS_ALLOWED_ORIGINS"
    let texts = settings.list(name)
    if texts.contains("*"), texts.count > 1 { throw settings.error(name, "must be * alone or a list without it") }
    var origins: Set<ExactText> = []
    for text in texts where text != "*" {
      guard let origin = Self.origin(text) else {
        throw ConfigurationError(
          variable: name, value: text,
          expectation: "must be * or origins with commas between: a scheme and a host, and a port where it is not the "
            + "scheme's, without a path, such as https://example.com or http://localhost:3000")
      }
      origins.insert(ExactText(origin))
    }
    self.init(origins: origins.isEmpty ? .any : .list(origins))
  }

  /// Returns the origin as browsers serialise it (RFC 6454, section 6.2): in lower case, without the scheme's own port;
  /// `nil` where the text is no origin.
  private static func origin(_ text: String) -> String? {
    let text = text.lowercased()
    let pattern = /([a-z][a-z0-9+.\-]*):\/\/([a-z0-9_.\-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?/
    guard let match = text.wholeMatch(of: pattern) else { return nil }
    guard let digits = match.3 else { return text }
    guard let port = Int(digits), 1...65_535 ~= port else { return nil }
    let isSchemesOwn = (match.1 == "http" && port == 80) || (match.1 == "https" && port == 443)
    return "\(match.1)://\(match.2)\(isSchemesOwn ? "" : ":\(port)")"
  }
}

/// The rate limit of each client, and the trusted proxies, whose header fields identify the client.
struct RateLimitConfiguration {
  /// The limit; `nil` where there is none.
  let limit: RateLimit?

  let proxies: TrustedProxies

  init(_ settings: Settings) throws(ConfigurationError) {
    let perSecond = try settings.number("RATE_LIMIT_RPS")
    // Two seconds' worth let a page load what it needs at once.
    let burst = try settings.integer(
      "RATE_LIMIT_BURST", default: min(1_000_000, max(10, Int((2 * perSecond).rounded(.up)))))
    if perSecond == 0, settings["RATE_LIMIT_BURST"] != nil {
      throw .conflict("RATE_LIMIT_BURST", "needs a RATE_LIMIT_RPS greater than 0")
    }
    limit = perSecond == 0 ? nil : RateLimit(requestsPerSecond: perSecond, burst: burst)
    var networks: [IPNetwork] = []
    for text in settings.list("TRUSTED_PROXIES") {
      guard let network = IPNetwork(text) else {
        throw ConfigurationError(
          variable: "TRUSTED_PROXIES", value: text,
          expectation: "must be addresses or networks with commas between, such as 10.0.0.0/8 or 2001:db8::/32")
      }
      networks.append(network)
    }
    proxies = TrustedProxies(networks)
  }
}
