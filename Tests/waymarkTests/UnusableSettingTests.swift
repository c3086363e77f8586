import AccessControl
import HTTPServer
import ServerFeatures
import Testing
import Tokens

@testable import Hosting
@testable import waymark

/// Settings that would be ignored, or that nothing could ever match.
@Suite struct UnusableSettingTests {
  private static let database = "postgresql://user:secret@db/places"
  private static let origins =
    "must be * or origins separated by commas: a scheme and a host, and a port where it is not the scheme's, without a "
    + "path, such as https://example.com or http://localhost:3000"
  private static let directives =
    "must be directives such as no-cache or max-age=5, separated by commas; times are whole seconds"

  @Test(arguments: [
    (
      ["CORS_ALLOWED_ORIGINS": "https://a.org,https://b.org/app"],
      "CORS_ALLOWED_ORIGINS \(origins), got 'https://b.org/app'"
    ),
    (["CORS_ALLOWED_ORIGINS": "https://a.org/"], "CORS_ALLOWED_ORIGINS \(origins), got 'https://a.org/'"),
    (["CORS_ALLOWED_ORIGINS": "a.org"], "CORS_ALLOWED_ORIGINS \(origins), got 'a.org'"),
    (["CORS_ALLOWED_ORIGINS": "https://*.a.org"], "CORS_ALLOWED_ORIGINS \(origins), got 'https://*.a.org'"),
    (["CORS_ALLOWED_ORIGINS": "http://a.org:70000"], "CORS_ALLOWED_ORIGINS \(origins), got 'http://a.org:70000'"),
    (
      ["CORS_ALLOWED_ORIGINS": "https://a.org,*"],
      "CORS_ALLOWED_ORIGINS must be * alone or a list without it, got 'https://a.org,*'"
    ),
    (["CORS_ALLOWED_ORIGINS": ","], "CORS_ALLOWED_ORIGINS must be a list separated by commas, got ','"),
    (["CORS_ALLOWED_ORIGINS": " "], "CORS_ALLOWED_ORIGINS must be a list separated by commas, got ' '"),
    (["DATA_FILE": ", ,"], "DATA_FILE must be a list separated by commas, got ', ,'"),
    (["TRUSTED_PROXIES": ","], "TRUSTED_PROXIES must be a list separated by commas, got ','"),
    (["CACHE_CONTROL": "max-age=abc"], "CACHE_CONTROL \(directives), got 'max-age=abc'"),
    (["CACHE_CONTROL": "public, max-age"], "CACHE_CONTROL \(directives), got 'public, max-age'"),
    (["CACHE_CONTROL": "s-maxage=-1"], "CACHE_CONTROL \(directives), got 's-maxage=-1'"),
    (["CACHE_CONTROL": "stale-if-error=1.5"], "CACHE_CONTROL \(directives), got 'stale-if-error=1.5'"),
    (["CACHE_CONTROL": "no-store=1"], "CACHE_CONTROL \(directives), got 'no-store=1'"),
    (["INDEX_PATH": "/i"], "INDEX_PATH needs DATABASE_URL or MEMORY_STORE_PATH"),
    (["CHANGES_RETENTION_DAYS": "30"], "CHANGES_RETENTION_DAYS needs DATABASE_URL or MEMORY_STORE_PATH"),
    (["MIGRATIONS_PATH": "/m"], "MIGRATIONS_PATH is for POINT_STORE=postgres, which needs DATABASE_URL"),
    (
      ["MEMORY_STORE_PATH": "/a.db", "MIGRATIONS_PATH": "/m"],
      "MIGRATIONS_PATH is for POINT_STORE=postgres, which needs DATABASE_URL"
    ),
    (["DATABASE_POOL_SIZE": "4"], "DATABASE_POOL_SIZE is for POINT_STORE=postgres, which needs DATABASE_URL"),
    (
      ["DATABASE_STATEMENT_TIMEOUT_MS": "4"],
      "DATABASE_STATEMENT_TIMEOUT_MS is for POINT_STORE=postgres, which needs DATABASE_URL"
    ),
    (
      ["DATABASE_PREPARED_STATEMENTS": "off"],
      "DATABASE_PREPARED_STATEMENTS is for POINT_STORE=postgres, which needs DATABASE_URL"
    ),
    (["REQUEST_DEADLINE_MS": "4"], "REQUEST_DEADLINE_MS is for POINT_STORE=postgres, which needs DATABASE_URL"),
    (
      ["POINT_STORE": "memory", "DATABASE_URL": database],
      "DATABASE_URL is for POINT_STORE=postgres, but it is memory"
    ),
    (
      ["DATABASE_URL": database, "DATA_FILE": "a.csv"],
      "DATA_FILE is for the memory store; 'waymark import' puts files into the database"
    ),
    (
      ["DATABASE_URL": database, "MEMORY_STORE_PATH": "/a.db"],
      "MEMORY_STORE_PATH is for the memory store, but POINT_STORE is postgres"
    ),
    (["ANALYTICS_RETENTION_DAYS": "7"], "ANALYTICS_RETENTION_DAYS needs ANALYTICS=postgres"),
  ])
  func settingWithoutEffectStopsTheStart(environment: [String: String], message: String) {
    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: environment), features: Features.all)
    }

    #expect(error?.description == message)
  }

  @Test(arguments: [
    ["CORS_ALLOWED_ORIGINS": "*"],
    ["CORS_ALLOWED_ORIGINS": "https://a.org, http://localhost:3000,capacitor://localhost"],
    ["CORS_ALLOWED_ORIGINS": "http://[::1]:8080"], ["CACHE_CONTROL": "public, max-age=5, stale-if-error=60, immutable"],
    ["CACHE_CONTROL": #"private="x, y", extension=1"#], ["RATE_LIMIT_RPS": "5"],
    ["DATABASE_URL": database, "REQUEST_DEADLINE_MS": "5", "MIGRATIONS_PATH": "/m"],
    ["DATABASE_URL": database, "CHANGES_RETENTION_DAYS": "5"],
    ["DATA_FILE": "a.csv", "MEMORY_STORE_PATH": "/a.db", "CHANGES_RETENTION_DAYS": "5"],
  ])
  func compatibleSettingsAreAccepted(environment: [String: String]) throws {
    _ = try ServeConfiguration(Settings(environment: environment), features: Features.all)
  }

  private static let key = "-----BEGIN PRIVATE KEY-----\nhunter2"
  /// The key in Base64.
  private static let encodedKey = "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCmh1bnRlcjI="

  @Test(arguments: [
    ["JWT_JWKS": "https://user:hunter2@issuer.example/jwks.json"], ["JWT_JWKS": "ftp://hunter2@issuer.example/jwks"],
    ["JWT_JWKS": "https://user:1/hunter2?b@issuer.example/jwks.json"],
    ["JWT_JWKS": "http://issuer.example/jwks.json?token=hunter2"],
    ["PUBLIC_URL": "https://user:hunter2@example.com/poi"], ["PUBLIC_URL": "https:/user:hunter2@example.com"],
    ["PUBLIC_URL": "https://example.com/poi?key=hunter2"],
    ["MAP_TILES_URL": "https://tile.example/{z}.png?key=hunter2", "MAP_TILES_ATTRIBUTION": "A"],
    ["CORS_ALLOWED_ORIGINS": "https://user:hunter2@example.com"],
    ["MEMORY_STORE_PATH": "postgresql://user:hunter2@db/places"], ["DATA_FILE": "https://user:hunter2@host/a.csv"],
  ])
  func secretInAnInvalidValueIsNotShown(environment: [String: String]) {
    let all = environment.merging(["JWT_ISSUER": "i", "JWT_AUDIENCE": "a"]) { value, _ in value }
    let tokens = environment["JWT_JWKS"] == nil ? environment : all

    let error = #expect(throws: ConfigurationError.self) {
      try ServeConfiguration(Settings(environment: tokens), features: Features.all)
    }

    #expect(error.map { environment.keys.contains($0.variable) } == true)
    #expect(error?.description.contains("hunter2") == false, "\(error?.description ?? "")")
    #expect(error?.description.contains("…") == true)
  }

  @Test func keyInPlaceOfTheNameOfItsFileIsNotShown() async {
    let keySet = #"{"keys":[{"kty":"oct","k":"hunter2"}]}"#
    let tokens = await #expect(throws: ConfigurationError.self) { try await TokenKeySet(path: keySet) }
    let keys = #expect(throws: ConfigurationError.self) { try KeyFile(path: "wm_hunter2") }
    let target = #expect(throws: ConfigurationError.self) {
      try ServerTarget(url: "https://user:1/hunter2@places.example.org", apiKey: nil)
    }

    let encoded = ConfigurationError(TLSIdentityError.privateKeyUnusable(file: Self.encodedKey))

    #expect(encoded.value == "…")
    let errors = [tokens, keys, target, ConfigurationError(TLSIdentityError.privateKeyUnusable(file: Self.key))]
    for error in errors { #expect(error?.description.contains("hunter2") == false, "\(error?.description ?? "")") }
    #expect(target?.description.hasSuffix("got 'https://…@places.example.org'") == true)
  }

  @Test func originsAreNormalizedAsBrowsersSendThem() throws {
    let configuration = try ServeConfiguration(
      Settings(environment: ["CORS_ALLOWED_ORIGINS": "HTTPS://Example.org:443"]), features: Features.all)

    #expect("\(configuration.cors)".contains("[https://example.org]"))
  }
}
