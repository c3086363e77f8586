import Foundation
import AccessControl
import HTTPServer
import NIOHTTP1
import ServerFeatures
import Testing

@testable import Hosting
@testable import Tokens
@testable import waymark

@Suite struct ProtectionConfigurationTests {
  private func configuration(_ environment: [String: String]) throws -> ServeConfiguration {
    try ServeConfiguration(Settings(environment: environment), features: Features.all)
  }

  private func tokens(_ configuration: ServeConfiguration) -> TokensFeature.Configuration? {
    configuration.features.lazy.compactMap { ($0 as? TokensFeature)?.configuration }.first
  }

  @Test func withoutSettingsTokensAndRateLimitAreOff() throws {
    let configuration = try configuration([:])

    #expect(!configuration.access.acceptsTokens)
    #expect(tokens(configuration) == nil)
    #expect(configuration.rateLimit.limit == nil)
  }

  @Test func readingMayRequireTokensWithoutAPIKeys() throws {
    let configuration = try configuration([
      "JWT_JWKS": "keys.json", "JWT_ISSUER": "i", "JWT_AUDIENCE": "a", "READ_REQUIRES_KEY": "1",
    ])

    #expect(configuration.access.acceptsTokens)
    #expect(tokens(configuration) == .init(keySet: .file("keys.json"), issuer: "i", audience: "a"))
  }

  @Test func readingNeedsAKindOfCredentialThatAFeatureHas() throws {
    let settings = Settings(environment: ["READ_REQUIRES_KEY": "1"])
    let full = #expect(throws: ConfigurationError.self) { try ServeConfiguration(settings, features: Features.all) }
    let core = #expect(throws: ConfigurationError.self) { try ServeConfiguration(settings, features: []) }

    #expect(
      full?.description == "READ_REQUIRES_KEY needs API_KEYS_FILE or JWT_JWKS, without which nobody could read")
    #expect(core?.description == "READ_REQUIRES_KEY needs API_KEYS_FILE, without which nobody could read")
  }

  @Test(arguments: [
    (["JWT_JWKS": "f"], "JWT_JWKS needs JWT_ISSUER and JWT_AUDIENCE"),
    (["JWT_JWKS": "f", "JWT_ISSUER": "i"], "JWT_JWKS needs JWT_AUDIENCE"),
    (["JWT_AUDIENCE": "a"], "JWT_AUDIENCE needs JWT_JWKS and JWT_ISSUER"),
    (["JWT_JWKS": "https://i"], "JWT_JWKS needs JWT_ISSUER and JWT_AUDIENCE"),
    (
      ["RATE_LIMIT_RPS": "fast"],
      "RATE_LIMIT_RPS must be a number from 0.001 to 1000000, or 0 for no limit, got 'fast'"
    ),
    (["RATE_LIMIT_RPS": "nan"], "RATE_LIMIT_RPS must be a number from 0.001 to 1000000, or 0 for no limit, got 'nan'"),
    (["RATE_LIMIT_RPS": "-1"], "RATE_LIMIT_RPS must be a number from 0.001 to 1000000, or 0 for no limit, got '-1'"),
    (
      ["TRUSTED_PROXIES": "10.0.0.0/8,proxy"],
      "TRUSTED_PROXIES must be addresses or networks separated by commas, such as 10.0.0.0/8 or 2001:db8::/32, got 'proxy'"
    ),
  ])
  func invalidSettingIsNamed(environment: [String: String], message: String) {
    let error = #expect(throws: ConfigurationError.self) { try configuration(environment) }

    #expect(error?.description == message)
  }

  @Test(arguments: [
    (["RATE_LIMIT_RPS": "0"], nil), (["RATE_LIMIT_RPS": "0.5"], RateLimit(requestsPerSecond: 0.5, burst: 10)),
    (["RATE_LIMIT_RPS": "50"], RateLimit(requestsPerSecond: 50, burst: 100)),
    (["RATE_LIMIT_RPS": "1000000"], RateLimit(requestsPerSecond: 1_000_000, burst: 1_000_000)),
    (["RATE_LIMIT_RPS": "5.3"], RateLimit(requestsPerSecond: 5.3, burst: 11)),
  ])
  func burstIsTwoSecondsOfRequests(environment: [String: String], limit: RateLimit?) throws {
    #expect(try configuration(environment).rateLimit.limit == limit)
  }

  // MARK: Keys of an address

  private let issuer = ["JWT_ISSUER": "i", "JWT_AUDIENCE": "a"]

  @Test(
    arguments: [
      (["JWT_JWKS": "https://i.example/jwks?p=1"], nil),
      (["JWT_JWKS": "http://127.0.0.1:9000/jwks"], nil),
      (["JWT_JWKS": "http://[::1]/jwks", "SSL_CERT_FILE": "s.pem"], nil),
      (["JWT_JWKS": "https://i.example/jwks", "SSL_CERT_FILE": "s.pem"], ("SSL_CERT_FILE", "s.pem")),
    ] as [([String: String], (String, String)?)])
  func tokenKeysMayBeFetchedFromAnAddress(environment: [String: String], authorities: (String, String)?) throws {
    let keySet = tokens(try configuration(environment.merging(issuer) { $1 }))?.keySet

    let url = try #require(URL(string: environment["JWT_JWKS"] ?? ""))
    #expect(keySet == .address(url, authorities: authorities.map { .init(variable: $0.0, path: $0.1) }))
  }

  @Test(arguments: [
    "http://i.example/jwks", "http://127.0.0.1.example/jwks", "ftp://i.example/jwks", "https:///jwks",
    "https://user:secret@i.example/jwks", "https://i.example/jwks#keys", "http://localhost@i.example/",
  ])
  func plainHTTPAddressOfTokenKeysIsRejected(address: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try configuration(issuer.merging(["JWT_JWKS": address]) { $1 })
    }

    #expect(error?.variable == "JWT_JWKS")
    #expect(error?.expectation.contains("http is for loopback addresses alone") == true)
  }

  @Test(
    arguments: [
      (["Cache-Control": "public, max-age=3600"], Duration.seconds(3600)),
      (["cache-control": "MAX-AGE=\"60\""], .seconds(60)),
      (["Cache-Control": "max-age=3600", "Age": "600"], .seconds(3000)),
      (["Cache-Control": "max-age=10", "Age": "600"], .zero),
      (["Cache-Control": "max-age=10", "Age": "-5"], .seconds(10)),
      (["Cache-Control": "max-age=99999999999999999999"], .seconds(1 << 31)),
      (["Cache-Control": "max-age=3600, no-cache"], .zero), (["Cache-Control": "no-store"], .zero),
      (["Cache-Control": "max-age=soon"], nil), (["Cache-Control": "max-age=-1"], nil), ([:], nil),
    ] as [([String: String], Duration?)])
  func lifetimeOfTokenKeysIsParsedFromTheResponse(fields: [String: String], expected: Duration?) {
    #expect(HTTPHeaders(fields.map { ($0.key, $0.value) }).maximumAge == expected)
  }
}
