import HTTPServer
import Testing

@testable import waymark

@Suite struct ProtectionConfigurationTests {
  private func configuration(_ environment: [String: String]) throws -> ServeConfiguration {
    try ServeConfiguration(Settings(environment: environment))
  }

  @Test func withoutSettingsThereAreNeitherTokensNorALimit() throws {
    let configuration = try configuration([:])

    #expect(configuration.access.tokens == nil)
    #expect(configuration.rateLimit.limit == nil)
  }

  @Test func tokensAloneMayCloseReading() throws {
    let configuration = try configuration([
      "JWT_JWKS_FILE": "keys.json", "JWT_ISSUER": "i", "JWT_AUDIENCE": "a", "READ_REQUIRES_KEY": "1",
    ])

    #expect(configuration.access.tokens?.keySetFile == "keys.json")
    #expect(configuration.access.tokens?.issuer == "i")
    #expect(configuration.access.tokens?.audience == "a")
  }

  @Test(arguments: [
    (["JWT_JWKS_FILE": "f"], "JWT_JWKS_FILE='f': needs JWT_ISSUER and JWT_AUDIENCE"),
    (["JWT_JWKS_FILE": "f", "JWT_ISSUER": "i"], "JWT_JWKS_FILE='f': needs JWT_AUDIENCE"),
    (["JWT_AUDIENCE": "a"], "JWT_AUDIENCE='a': needs JWT_JWKS_FILE and JWT_ISSUER"),
    (
      ["RATE_LIMIT_RPS": "fast"],
      "RATE_LIMIT_RPS='fast': must be a number from 0.001 to 1000000, or 0 for no limit"
    ),
    (["RATE_LIMIT_RPS": "nan"], "RATE_LIMIT_RPS='nan': must be a number from 0.001 to 1000000, or 0 for no limit"),
    (["RATE_LIMIT_RPS": "-1"], "RATE_LIMIT_RPS='-1': must be a number from 0.001 to 1000000, or 0 for no limit"),
    (["RATE_LIMIT_BURST": "0"], "RATE_LIMIT_BURST='0': must be a whole number from 1 to 1000000"),
    (
      ["TRUSTED_PROXIES": "10.0.0.0/8,proxy"],
      "TRUSTED_PROXIES='proxy': must be addresses or networks with commas between, such as 10.0.0.0/8 or 2001:db8::/32"
    ),
  ])
  func whatCantBeUsedIsNamed(environment: [String: String], message: String) {
    let error = #expect(throws: ConfigurationError.self) { try configuration(environment) }

    #expect(error?.description == message)
  }

  @Test(arguments: [
    (["RATE_LIMIT_RPS": "0"], nil), (["RATE_LIMIT_RPS": "0.5"], RateLimit(requestsPerSecond: 0.5, burst: 10)),
    (["RATE_LIMIT_RPS": "50"], RateLimit(requestsPerSecond: 50, burst: 100)),
    (["RATE_LIMIT_RPS": "1000000"], RateLimit(requestsPerSecond: 1_000_000, burst: 1_000_000)),
    (["RATE_LIMIT_RPS": "50", "RATE_LIMIT_BURST": "1"], RateLimit(requestsPerSecond: 50, burst: 1)),
  ])
  func theBurstIsTwoSecondsWorthWhereItIsNotSet(environment: [String: String], limit: RateLimit?) throws {
    #expect(try configuration(environment).rateLimit.limit == limit)
  }
}
