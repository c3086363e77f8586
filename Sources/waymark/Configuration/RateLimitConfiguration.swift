import HTTPServer

/// How often a client may ask, and who says for whom it asks.
struct RateLimitConfiguration {
  /// The limit; `nil` where there is none.
  let limit: RateLimit?

  /// The proxies that are believed.
  let proxies: TrustedProxies

  /// Reads the settings.
  ///
  /// - Throws: ``ConfigurationError``.
  init(_ settings: Settings) throws(ConfigurationError) {
    let perSecond = try Self.requestsPerSecond(settings)
    // Two seconds' worth lets a page load what it needs at once.
    let burst = try settings.integer(
      "RATE_LIMIT_BURST", in: 1...1_000_000, default: min(1_000_000, max(10, Int((2 * (perSecond ?? 0)).rounded(.up)))))
    if perSecond == nil, let text = settings["RATE_LIMIT_BURST"] {
      throw .init(variable: "RATE_LIMIT_BURST", value: text, expectation: "needs a RATE_LIMIT_RPS greater than 0")
    }
    limit = perSecond.map { RateLimit(requestsPerSecond: $0, burst: burst) }
    var networks: [IPNetwork] = []
    for text in settings.list("TRUSTED_PROXIES") {
      guard let network = IPNetwork(text) else {
        throw .init(
          variable: "TRUSTED_PROXIES", value: text,
          expectation: "must be addresses or networks with commas between, such as 10.0.0.0/8 or 2001:db8::/32")
      }
      networks.append(network)
    }
    proxies = TrustedProxies(networks)
  }

  private static func requestsPerSecond(_ settings: Settings) throws(ConfigurationError) -> Double? {
    guard let text = settings["RATE_LIMIT_RPS"] else { return nil }
    guard let number = Double(text), number == 0 || (0.001...1_000_000).contains(number) else {
      throw .init(
        variable: "RATE_LIMIT_RPS", value: text,
        expectation: "must be a number from 0.001 to 1000000, or 0 for no limit")
    }
    return number == 0 ? nil : number
  }
}
